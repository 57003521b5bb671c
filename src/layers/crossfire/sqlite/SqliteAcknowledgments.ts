// `Acknowledgments` over crossfire's database: one transaction, fenced by the generation.
import { Clock, Effect, Layer, Schema } from "effect"
import { Cursor } from "../../../domain/Cursor.ts"
import { Acknowledgments } from "../../../services/Acknowledgments.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { FleetLeases } from "../../../services/FleetLeases.ts"
import { LevelChanges } from "../../../services/LevelChanges.ts"
import { Decisions } from "../../../services/store/Decisions.ts"

const encodeCursor = Schema.encode(Schema.parseJson(Cursor))

export const make = Effect.gen(function*() {
  const { sql, transaction } = yield* CrossfireDb
  const decisions = yield* Decisions
  const leases = yield* FleetLeases
  const changes = yield* LevelChanges

  return Acknowledgments.of({
    accept: ({ agentId, fleetId, stamp }, acknowledgment) =>
      transaction(Effect.gen(function*() {
        yield* leases.require(fleetId, stamp)
        const { deliveryId } = acknowledgment
        const now = yield* Clock.currentTimeMillis
        const added = yield* sql`INSERT INTO acknowledgment ${
          sql.insert({ delivery_id: deliveryId, agent_id: agentId, generation: stamp.generation, accepted_at: now })
        } ON CONFLICT DO NOTHING RETURNING delivery_id`
        if (added.length === 0) return yield* changes.numberOf(agentId)

        yield* decisions.close(agentId, acknowledgment.delivered.map((event) => event.eventId), "delivered")
        // Acknowledgments come in the order of their deliveries and each once, so the mirror only goes forward.
        for (const { cursor, roomId } of acknowledgment.cursors) {
          yield* sql`INSERT INTO cursor_mirror ${
            sql.insert({
              agent_id: agentId,
              room_id: roomId,
              cursor: yield* encodeCursor(cursor),
              delivery_id: deliveryId,
              updated_at: now
            })
          } ON CONFLICT (agent_id, room_id) DO UPDATE SET cursor = excluded.cursor, delivery_id = excluded.delivery_id,
            updated_at = excluded.updated_at`
        }
        yield* changes.raise([agentId])
        yield* sql`UPDATE level SET redaction_number = MAX(redaction_number, ${acknowledgment.redactionNumber})
          WHERE agent_id = ${agentId}`
        yield* sql`DELETE FROM redaction WHERE agent_id = ${agentId} AND number <= ${acknowledgment.redactionNumber}`
        return yield* changes.numberOf(agentId)
      }))
  })
})

export const layer = Layer.effect(Acknowledgments, make)
