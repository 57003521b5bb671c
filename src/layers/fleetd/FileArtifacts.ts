// Artifacts as private files under the root: `artifacts/<agent ID>/<delivery ID>/<name>`. A file's row stands before the
// file does and goes after it, so that a crash leaves nothing that is in no row, but for temporary names.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import { basename, dirname, join } from "node:path"
import { AgentId, DeliveryId } from "../../domain/Ids.ts"
import { type Artifact, ArtifactFailed, Artifacts } from "../../services/Artifacts.ts"
import { FleetDb, type StoreFailed } from "../../services/Database.ts"
import type { FileFailed } from "../files/FileCall.ts"
import * as ArtifactDisk from "./ArtifactDisk.ts"

/** Names come from this program, never from a message. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u

const failed = ({ path, reason }: FileFailed) => new ArtifactFailed({ path, reason })

const PathRow = Schema.Struct({ path: Schema.String })
const DeliveryRow = Schema.Struct({ deliveryId: DeliveryId })

export const make = (
  root: string,
  disk: ArtifactDisk.ArtifactDisk
): Effect.Effect<typeof Artifacts.Service, ArtifactFailed | StoreFailed, FleetDb> =>
  Effect.gen(function*() {
    const { sql, read, transaction } = yield* FleetDb
    const folder = join(root, "artifacts")

    const findPaths = SqlSchema.findAll({
      Request: DeliveryId,
      Result: PathRow,
      execute: (deliveryId) => sql`SELECT path FROM artifact WHERE delivery_id = ${deliveryId}`
    })
    const findOrphans = SqlSchema.findAll({
      Request: Schema.Void,
      Result: DeliveryRow,
      execute: () =>
        sql`SELECT DISTINCT delivery_id AS deliveryId FROM artifact
            WHERE delivery_id NOT IN (SELECT delivery_id FROM publication)`
    })
    // Only what is settled has a time of that. An unknown one has it when its notice was confirmed, whoever inherits it.
    const findExpired = SqlSchema.findAll({
      Request: Schema.Struct({ agentId: AgentId, before: Schema.Number, limit: Schema.Int }),
      Result: DeliveryRow,
      execute: ({ agentId, before, limit }) =>
        sql`SELECT DISTINCT artifact.delivery_id AS deliveryId FROM artifact
            LEFT JOIN publication USING (delivery_id)
            WHERE artifact.agent_id = ${agentId} AND ${before} >
              CASE WHEN publication.delivery_id IS NULL THEN artifact.created_at ELSE publication.settled_at END
            LIMIT ${limit}`
    })

    /** Files first, then their folder, then the rows: whatever is left when it breaks off is found again. */
    const remove = (deliveryId: DeliveryId) =>
      Effect.gen(function*() {
        const paths = (yield* read(findPaths(deliveryId))).map(({ path }) => path)
        for (const path of paths) yield* Effect.mapError(disk.remove(path), failed)
        for (const own of new Set(paths.map(dirname))) {
          // Files of earlier versions stand in the agent's folder itself.
          if (basename(own) === deliveryId) yield* Effect.mapError(disk.removeFolder(own), failed)
        }
        yield* transaction(Effect.asVoid(sql`DELETE FROM artifact WHERE delivery_id = ${deliveryId}`))
      })

    // Nothing is written yet: half files, and files of inputs that were never prepared, are nobody's.
    yield* Effect.mapError(disk.begin(folder), failed)
    for (const { deliveryId } of yield* read(findOrphans())) yield* remove(deliveryId)

    const described = (path: string, bytes: Uint8Array): Artifact => ({
      path,
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex")
    })

    const write: typeof Artifacts.Service.write = ({ agentId, deliveryId, name, text }) =>
      Effect.gen(function*() {
        if (!plainName.test(name)) return yield* Effect.dieMessage("an artifact's name is a plain file name")
        const path = join(folder, agentId, deliveryId, name)
        const bytes = Buffer.from(text, "utf8")
        const artifact = described(path, bytes)
        const now = yield* Clock.currentTimeMillis
        yield* transaction(
          sql`INSERT INTO artifact (path, agent_id, delivery_id, bytes, sha256, created_at)
              VALUES (${path}, ${agentId}, ${deliveryId}, ${artifact.bytes}, ${artifact.sha256}, ${now})
              ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes, sha256 = excluded.sha256`
        )
        // Named as what was to be written, whichever folder stood in the way.
        yield* Effect.mapError(disk.write(path, bytes), ({ reason }) => new ArtifactFailed({ path, reason }))
        return artifact
      })

    const contents: typeof Artifacts.Service.contents = (deliveryId) =>
      Effect.gen(function*() {
        const there: Array<{ readonly path: string; readonly content: string }> = []
        for (const { path } of yield* read(findPaths(deliveryId))) {
          const content = yield* Effect.mapError(disk.read(path), failed)
          if (Option.isSome(content)) there.push({ path, content: content.value })
        }
        return there
      })

    const rewrite: typeof Artifacts.Service.rewrite = (path, content) =>
      Effect.gen(function*() {
        const bytes = Buffer.from(content, "utf8")
        const artifact = described(path, bytes)
        const present = yield* Effect.mapError(disk.read(path), failed)
        if (Option.contains(present, content)) return artifact
        yield* Effect.mapError(disk.write(path, bytes), failed)
        yield* transaction(Effect.asVoid(
          sql`UPDATE artifact SET bytes = ${artifact.bytes}, sha256 = ${artifact.sha256} WHERE path = ${path}`
        ))
        return artifact
      })

    const expire: typeof Artifacts.Service.expire = (agentId, beforeMillis, limit) =>
      Effect.gen(function*() {
        const found = yield* read(findExpired({ agentId, before: beforeMillis, limit }))
        for (const { deliveryId } of found) yield* remove(deliveryId)
        return found.length
      })

    return Artifacts.of({ write, contents, rewrite, expire })
  })

export const layer = (root: string): Layer.Layer<Artifacts, ArtifactFailed | StoreFailed, FleetDb> =>
  Layer.effect(Artifacts, make(root, ArtifactDisk.real))

/** The twin: `files` is what stands on the simulated disk, by path; its rows are real ones. */
export const layerMemory = (
  root: string,
  files: Map<string, string>
): Layer.Layer<Artifacts, ArtifactFailed | StoreFailed, FleetDb> =>
  Layer.effect(Artifacts, make(root, ArtifactDisk.memory(files)))
