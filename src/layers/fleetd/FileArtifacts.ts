// Artifacts as private files under the root: `artifacts/<agent ID>/<delivery ID>-<name>`. A file's row stands before the
// file does, so a crash leaves nothing that the sweep at the next start cannot find by a row or by a temporary name.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Clock, Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { chmod, mkdir, open, readdir, rename, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { type Artifact, ArtifactFailed, Artifacts } from "../../services/Artifacts.ts"
import { FleetDb, type StoreFailed } from "../../services/Database.ts"

/** Names come from this program, never from a message. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u
const temporarySuffix = ".tmp"

const syncFolder = async (path: string) => {
  const folder = await open(path, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** The folder and its parents below the root, private; a folder that was just made is synced into its parent. */
const makePrivateFolder = async (path: string) => {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await chmod(made, 0o700)
    await syncFolder(dirname(made))
  }
}

const writeWhole = async (path: string, bytes: Uint8Array) => {
  const folder = dirname(path)
  const temporary = join(folder, `.${basename(path)}${temporarySuffix}`)
  await makePrivateFolder(folder)
  // What a killed daemon left under this name is not whole.
  await rm(temporary, { force: true })
  try {
    const file = await open(temporary, "wx", 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    await syncFolder(folder)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw cause
  }
}

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : "?"

const told: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EACCES: "no permission",
  EROFS: "the file system is read-only",
  EIO: "the disk reported an input/output error"
}

const reasonOf = (cause: unknown): string => told[codeOf(cause)] ?? `error ${codeOf(cause)}`

const attempt = <A>(path: string, work: () => Promise<A>) =>
  Effect.uninterruptible(
    Effect.tryPromise({ try: work, catch: (cause) => new ArtifactFailed({ path, reason: reasonOf(cause) }) })
  )

/** Files of inputs that were never prepared, and files that never became whole: gone, before anything is written. */
const sweepOrphans = (folder: string) =>
  Effect.gen(function*() {
    const { sql, read, transaction } = yield* FleetDb
    const find = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Schema.Struct({ path: Schema.String }),
      execute: () =>
        sql`SELECT path FROM artifact
            WHERE delivery_id NOT IN (SELECT delivery_id FROM publication)`
    })
    for (const { path } of yield* read(find())) {
      yield* attempt(path, () => rm(path, { force: true }))
      yield* transaction(sql`DELETE FROM artifact WHERE path = ${path}`)
    }
    yield* attempt(folder, async () => {
      await makePrivateFolder(folder)
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        const isTemporary = entry.isFile() && entry.name.startsWith(".") && entry.name.endsWith(temporarySuffix)
        if (isTemporary) await rm(join(entry.parentPath, entry.name), { force: true })
      }
    })
  })

export const make = (root: string): Effect.Effect<typeof Artifacts.Service, ArtifactFailed | StoreFailed, FleetDb> =>
  Effect.gen(function*() {
    const { sql, transaction } = yield* FleetDb
    const folder = join(root, "artifacts")
    yield* sweepOrphans(folder)

    const write: typeof Artifacts.Service.write = ({ agentId, deliveryId, name, text }) =>
      Effect.gen(function*() {
        if (!plainName.test(name)) return yield* Effect.dieMessage("an artifact's name is a plain file name")
        const path = join(folder, agentId, `${deliveryId}-${name}`)
        const bytes = Buffer.from(text, "utf8")
        const artifact: Artifact = {
          path,
          bytes: bytes.length,
          sha256: createHash("sha256").update(bytes).digest("hex")
        }
        const now = yield* Clock.currentTimeMillis
        yield* transaction(
          sql`INSERT INTO artifact (path, agent_id, delivery_id, bytes, sha256, created_at)
              VALUES (${path}, ${agentId}, ${deliveryId}, ${artifact.bytes}, ${artifact.sha256}, ${now})
              ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes, sha256 = excluded.sha256`
        )
        yield* attempt(path, () => writeWhole(path, bytes))
        return artifact
      })
    return Artifacts.of({ write })
  })

export const layer = (root: string): Layer.Layer<Artifacts, ArtifactFailed | StoreFailed, FleetDb> =>
  Layer.effect(Artifacts, make(root))

/** The twin: whole or absent by nature. `files` is what stands on the simulated disk, by path. */
export const layerMemory = (root: string, files: Map<string, string>): Layer.Layer<Artifacts> =>
  Layer.succeed(
    Artifacts,
    Artifacts.of({
      write: ({ agentId, deliveryId, name, text }) =>
        Effect.sync(() => {
          const path = join(root, "artifacts", agentId, `${deliveryId}-${name}`)
          files.set(path, text)
          const bytes = Buffer.from(text, "utf8")
          return { path, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }
        })
    })
  )
