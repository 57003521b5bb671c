import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { DeliveryId } from "../../../src/domain/Ids.ts"
import * as FileArtifacts from "../../../src/layers/fleetd/FileArtifacts.ts"
import { Artifacts } from "../../../src/services/Artifacts.ts"
import { FleetDb } from "../../../src/services/Database.ts"
import { editor, registryIn, scratchFolder } from "../../support/FleetFile.ts"

const deliveryId = DeliveryId.make("55555555-5555-4555-8555-555555555555")
const file = { agentId: editor, deliveryId, name: "input.md", text: "Whole text, ünïcode 🚀\n" }
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

const rows = Effect.flatMap(FleetDb, ({ read, sql }) => read(sql`SELECT path, bytes, sha256 FROM artifact`))

/** The twins behave alike where they can be compared. */
for (
  const [name, layerIn] of [
    ["files", (root: string) => FileArtifacts.layer(root)],
    ["memory", (root: string) => FileArtifacts.layerMemory(root, new Map())]
  ] as const
) {
  it.scopedLive(`an artifact names its place, size and hash (${name})`, () =>
    Effect.gen(function*() {
      const root = yield* scratchFolder
      const artifact = yield* Effect.flatMap(Artifacts, (artifacts) => artifacts.write(file)).pipe(
        Effect.provide(Layer.provide(layerIn(root), registryIn(root)))
      )
      expect(artifact).toStrictEqual({
        path: join(root, "artifacts", editor, `${deliveryId}-input.md`),
        bytes: Buffer.byteLength(file.text),
        sha256: createHash("sha256").update(file.text).digest("hex")
      })
    }))
}

it.scopedLive("[C-01] a file is whole and private, its folders too, and its row says what it holds", () =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    yield* Effect.gen(function*() {
      const { path, bytes, sha256 } = yield* (yield* Artifacts).write(file)
      expect(readFileSync(path, "utf8")).toBe(file.text)
      expect([mode(path), mode(dirname(path)), mode(join(root, "artifacts"))]).toStrictEqual(["600", "700", "700"])
      expect(readdirSync(dirname(path))).toStrictEqual([`${deliveryId}-input.md`])
      expect(yield* rows).toStrictEqual([{ path, bytes, sha256 }])
      // Written again under the same name (a killed daemon's second try): the newest text, still one file and one row.
      yield* (yield* Artifacts).write({ ...file, text: "again" })
      expect(readFileSync(path, "utf8")).toBe("again")
      expect((yield* rows).length).toBe(1)
    }).pipe(Effect.provide(Layer.provideMerge(FileArtifacts.layer(root), registryIn(root))))
  }))

it.scopedLive("the next start sweeps what a crash left: a file without an input, a row without a file, half a file", () =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    const layer = Layer.provideMerge(FileArtifacts.layer(root), registryIn(root))
    const kept = DeliveryId.make("66666666-6666-4666-8666-666666666666")
    const foreign = join(root, "artifacts", editor, "file-of-a-newer-registry")
    const { orphan, pinned, lost } = yield* Effect.gen(function*() {
      const artifacts = yield* Artifacts
      const orphan = yield* artifacts.write(file)
      const pinned = yield* artifacts.write({ ...file, deliveryId: kept })
      const lost = yield* artifacts.write({ ...file, name: "lost.md" })
      const { sql, transaction } = yield* FleetDb
      yield* transaction(Effect.gen(function*() {
        yield* sql`INSERT INTO agent (agent_id, instance_key, name, user_id, token, engine, model, work_folder,
            history_mode, created_at)
          VALUES (${editor}, 'editor', 'editor', '@e:test', 't', 'pi', 'm', '/tmp', 'shared', 1)`
        yield* sql`INSERT INTO publication (delivery_id, agent_id, context, kind, state, text, authority_revision,
            position, prepared_at)
          VALUES (${kept}, ${editor}, 'shared', 'batch', 'prepared', 'text', 1, '{}', 1)`
      }))
      return { orphan, pinned, lost }
    }).pipe(Effect.provide(layer))
    rmSync(lost.path)
    const half = join(dirname(orphan.path), `.${deliveryId}-half.md.tmp`)
    writeFileSync(half, "ha")
    writeFileSync(foreign, "kept: its registry may have been restored from an older backup")

    yield* Effect.gen(function*() {
      expect((yield* rows).map(({ path }) => path)).toStrictEqual([pinned.path])
    }).pipe(Effect.provide(layer))
    expect([orphan.path, half, pinned.path, foreign].map((path) => existsSync(path))).toStrictEqual([
      false,
      false,
      true,
      true
    ])
  }))

it.scopedLive("[O-02] a file that cannot be written is a typed failure, and nothing of it stays", () =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    yield* Effect.gen(function*() {
      const artifacts = yield* Artifacts
      const folder = join(root, "artifacts", editor)
      mkdirSync(join(folder, `${deliveryId}-input.md`), { recursive: true })
      const error = yield* Effect.flip(artifacts.write(file))
      expect(error).toMatchObject({ _tag: "ArtifactFailed" })
      expect(error.message).not.toContain("Whole text")
      expect(readdirSync(folder)).toStrictEqual([`${deliveryId}-input.md`])
    }).pipe(Effect.provide(Layer.provideMerge(FileArtifacts.layer(root), registryIn(root))))
  }))
