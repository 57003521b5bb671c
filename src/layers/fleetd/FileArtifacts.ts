// Artifacts as private files under the root: `artifacts/<agent ID>/<delivery ID>-<name>`. A file's row stands before the
// file does, so a crash leaves nothing that the sweep at the next start cannot find by a row or by a temporary name.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Clock, Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { readdir, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { type Artifact, ArtifactFailed, Artifacts } from "../../services/Artifacts.ts"
import { FleetDb, type StoreFailed } from "../../services/Database.ts"
import { attempt, type FileFailed } from "../files/FileCall.ts"
import * as PrivateFile from "../files/PrivateFile.ts"

/** Names come from this program, never from a message. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u

const failed = ({ path, reason }: FileFailed) => new ArtifactFailed({ path, reason })

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
      yield* Effect.mapError(attempt(path, () => rm(path, { force: true })), failed)
      yield* transaction(sql`DELETE FROM artifact WHERE path = ${path}`)
    }
    const sweepTemporary = attempt(folder, async () => {
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        const isTemporary = entry.isFile() && PrivateFile.isTemporary(entry.name)
        if (isTemporary) await rm(join(entry.parentPath, entry.name), { force: true })
      }
    })
    yield* PrivateFile.folder(folder).pipe(Effect.zipRight(sweepTemporary), Effect.mapError(failed))
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
        yield* PrivateFile.folder(dirname(path)).pipe(
          Effect.zipRight(PrivateFile.write(path, bytes)),
          // Named as what was to be written, whichever folder stood in the way.
          Effect.mapError(({ reason }) => new ArtifactFailed({ path, reason }))
        )
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
