import { expect, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { DeliveryId } from "../../../src/domain/Ids.ts"
import * as FileArtifacts from "../../../src/layers/fleetd/FileArtifacts.ts"
import { Artifacts } from "../../../src/services/Artifacts.ts"
import { FleetDb } from "../../../src/services/Database.ts"
import { editor, registryIn, scratchFolder } from "../../support/FleetFile.ts"

const deliveryId = DeliveryId.make("55555555-5555-4555-8555-555555555555")
const kept = DeliveryId.make("66666666-6666-4666-8666-666666666666")
const file = { agentId: editor, deliveryId, name: "input.md", text: "Whole text, ünïcode 🚀\n" }
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

const rows = Effect.flatMap(FleetDb, ({ read, sql }) => read(sql`SELECT path, bytes, sha256 FROM artifact`))

const prepared = (id: DeliveryId) =>
  Effect.flatMap(FleetDb, ({ sql, transaction }) =>
    transaction(Effect.gen(function*() {
      yield* sql`INSERT INTO agent (agent_id, instance_key, name, user_id, token, engine, model, work_folder,
          history_mode, created_at)
        VALUES (${editor}, 'editor', 'editor', '@e:test', 't', 'pi', 'm', '/tmp', 'shared', 1) ON CONFLICT DO NOTHING`
      yield* sql`INSERT INTO publication (delivery_id, agent_id, context, kind, state, text, authority_revision,
          position, prepared_at)
        VALUES (${id}, ${editor}, 'shared', 'batch', 'prepared', 'text', 1, '{}', 1)`
    })))

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
        path: join(root, "artifacts", editor, deliveryId, "input.md"),
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
      const folders = [dirname(path), dirname(dirname(path)), join(root, "artifacts")]
      expect([path, ...folders].map(mode)).toStrictEqual(["600", "700", "700", "700"])
      expect(readdirSync(dirname(path))).toStrictEqual(["input.md"])
      expect(yield* rows).toStrictEqual([{ path, bytes, sha256 }])
      // Written again under the same name (a killed daemon's second try): the newest text, still one file and one row.
      yield* (yield* Artifacts).write({ ...file, text: "again" })
      expect(readFileSync(path, "utf8")).toBe("again")
      expect((yield* rows).length).toBe(1)
    }).pipe(Effect.provide(Layer.provideMerge(FileArtifacts.layer(root), registryIn(root))))
  }))

it.scopedLive("[F-05] the next start sweeps what a crash left: a file without an input, a row without a file, half a file", () =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    const layer = Layer.provideMerge(FileArtifacts.layer(root), registryIn(root))
    const foreign = join(root, "artifacts", editor, "file-of-a-newer-registry")
    const { orphan, pinned, lost } = yield* Effect.gen(function*() {
      const artifacts = yield* Artifacts
      const orphan = yield* artifacts.write(file)
      const pinned = yield* artifacts.write({ ...file, deliveryId: kept })
      const lost = yield* artifacts.write({ ...file, name: "lost.md" })
      yield* prepared(kept)
      return { orphan, pinned, lost }
    }).pipe(Effect.provide(layer))
    rmSync(lost.path)
    const half = join(dirname(orphan.path), ".half.md.tmp")
    writeFileSync(half, "ha")
    writeFileSync(foreign, "kept: its registry may have been restored from an older backup")

    yield* Effect.gen(function*() {
      expect((yield* rows).map(({ path }) => path)).toStrictEqual([pinned.path])
    }).pipe(Effect.provide(layer))
    expect(existsSync(dirname(orphan.path))).toBe(false)
    expect([pinned.path, foreign].map((path) => existsSync(path))).toStrictEqual([true, true])
  }))

it.scopedLive("[F-05] expired files go with their folder, those of an earlier version too; what is in no row stays", () =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    yield* Effect.gen(function*() {
      const artifacts = yield* Artifacts
      const { sql, transaction } = yield* FleetDb
      const one = yield* artifacts.write(file)
      const other = yield* artifacts.write({ ...file, name: "other.md" })
      const flat = join(root, "artifacts", editor, `${deliveryId}-earlier-input.txt`)
      writeFileSync(flat, "of an earlier version")
      yield* transaction(
        sql`INSERT INTO artifact (path, agent_id, delivery_id, bytes, sha256, created_at)
          VALUES (${flat}, ${editor}, ${deliveryId}, 1, 'x', 1)`
      )
      yield* prepared(deliveryId)
      const now = yield* Clock.currentTimeMillis
      expect(yield* artifacts.expire(editor, now + 1_000, 100)).toBe(0)
      yield* transaction(
        sql`UPDATE publication SET state = 'confirmed', settled_at = ${now} WHERE delivery_id = ${deliveryId}`
      )
      const pinned = yield* artifacts.write({ ...file, deliveryId: kept })
      yield* prepared(kept)
      expect(yield* artifacts.expire(editor, now, 100)).toBe(0)
      expect([one, other, pinned].map(({ path }) => existsSync(path))).toStrictEqual([true, true, true])
      expect(yield* artifacts.expire(editor, now + 1, 100)).toBe(1)
      expect([dirname(one.path), flat].map((path) => existsSync(path))).toStrictEqual([false, false])
      expect((yield* rows).map(({ path }) => path)).toStrictEqual([pinned.path])
    }).pipe(Effect.provide(Layer.provideMerge(FileArtifacts.layer(root), registryIn(root))))
  }))

it.scopedLive("[O-02] a file that cannot be written is a typed failure, and nothing of it stays", () =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    yield* Effect.gen(function*() {
      const artifacts = yield* Artifacts
      const folder = join(root, "artifacts", editor, deliveryId)
      mkdirSync(join(folder, "input.md"), { recursive: true })
      const error = yield* Effect.flip(artifacts.write(file))
      expect(error).toMatchObject({ _tag: "ArtifactFailed" })
      expect(error.message).not.toContain("Whole text")
      expect(readdirSync(folder)).toStrictEqual(["input.md"])
    }).pipe(Effect.provide(Layer.provideMerge(FileArtifacts.layer(root), registryIn(root))))
  }))
