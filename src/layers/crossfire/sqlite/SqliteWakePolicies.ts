// `WakePolicies` over crossfire's database.
import { Clock, Effect, Layer, Schema } from "effect"
import { WakeSelection } from "../../../domain/Decision.ts"
import type { AgentId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { LevelChanges } from "../../../services/LevelChanges.ts"
import { WakePolicies, type WakePolicy } from "../../../services/WakePolicies.ts"

const decodePolicies = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  room_id: Schema.String,
  revision: Schema.Int
})))
const decodeSelections = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  kind: Schema.Literal("person", "person-and-agents", "agent"),
  subject: Schema.String
})))
const decodeSelection = Schema.decodeUnknown(WakeSelection)

const subjectOf = (selection: WakeSelection): string =>
  selection.kind === "agent" ? selection.agentId : selection.userId

/** The policy for all rooms stands under the room ID that no room has. */
const allRooms = ""

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb
  const changes = yield* LevelChanges

  const write = (agentId: AgentId, room: string, selections: ReadonlyArray<WakeSelection>) =>
    Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      yield* sql`INSERT INTO wake_policy ${
        sql.insert({ agent_id: agentId, room_id: room, revision: 1, updated_at: now })
      } ON CONFLICT (agent_id, room_id) DO UPDATE SET revision = revision + 1, updated_at = excluded.updated_at`
      yield* sql`DELETE FROM wake_selection WHERE agent_id = ${agentId} AND room_id = ${room}`
      for (const selection of selections) {
        yield* sql`INSERT INTO wake_selection ${
          sql.insert({ agent_id: agentId, room_id: room, kind: selection.kind, subject: subjectOf(selection) })
        } ON CONFLICT DO NOTHING`
      }
    })

  return WakePolicies.of({
    install: (agentId, owner) =>
      transaction(Effect.gen(function*() {
        const known = yield* sql`SELECT 1 FROM wake_policy WHERE agent_id = ${agentId} AND room_id = ${allRooms}`
        if (known.length === 0) yield* write(agentId, allRooms, [{ kind: "person", userId: owner }])
      })),
    set: (agentId, roomId, selections) =>
      transaction(Effect.gen(function*() {
        yield* write(agentId, roomId ?? allRooms, selections)
        yield* sql`UPDATE agent SET authority_revision = authority_revision + 1 WHERE agent_id = ${agentId}`
        yield* changes.raise([agentId])
      })),
    inRoom: (agentId, roomId) =>
      read(Effect.gen(function*() {
        const policies = yield* decodePolicies(
          yield* sql`SELECT room_id, revision FROM wake_policy
            WHERE agent_id = ${agentId} AND room_id IN (${roomId}, ${allRooms}) ORDER BY room_id DESC`
        )
        const policy = policies[0]
        if (policy === undefined) return { revision: 0, selections: [] } satisfies WakePolicy
        const rows = yield* decodeSelections(
          yield* sql`SELECT kind, subject FROM wake_selection
            WHERE agent_id = ${agentId} AND room_id = ${policy.room_id} ORDER BY kind, subject`
        )
        const selections = yield* Effect.forEach(rows, ({ kind, subject }) =>
          decodeSelection(kind === "agent" ? { kind, agentId: subject } : { kind, userId: subject }))
        return { revision: policy.revision, selections }
      }))
  })
})

export const layer = Layer.effect(WakePolicies, make)
