// `Checkpoints` over the registry. The row itself is written by the confirming transaction.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Checkpoint } from "../../../domain/Checkpoint.ts"
import { Checkpoints } from "../../../services/Checkpoints.ts"
import { FleetDb } from "../../../services/Database.ts"

const decode = Schema.decodeUnknown(Schema.Struct({
  native_id: Schema.String,
  delivery_id: Checkpoint.fields.deliveryId,
  run_id: Checkpoint.fields.runId,
  turn_id: Checkpoint.fields.turnId,
  turn_end: Checkpoint.fields.turnEnd,
  continues: Schema.Int
}))

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* FleetDb
  return Checkpoints.of({
    get: (agentId, context) =>
      read(Effect.gen(function*() {
        const [row] = yield* sql`SELECT * FROM checkpoint WHERE agent_id = ${agentId} AND context = ${context}`
        if (row === undefined) return Option.none()
        const known = yield* decode(row)
        return Option.some(
          new Checkpoint({
            agentId,
            context,
            nativeId: known.native_id,
            deliveryId: known.delivery_id,
            runId: known.run_id,
            turnId: known.turn_id,
            turnEnd: known.turn_end,
            continues: known.continues
          })
        )
      })),
    turnEnded: (agentId, context, turnId, end) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE checkpoint SET turn_end = ${end}, updated_at = ${now}
          WHERE agent_id = ${agentId} AND context = ${context} AND turn_id = ${turnId}`
      })),
    settleEnd: (checkpoint) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE checkpoint SET turn_end = 'completed', updated_at = ${now}
          WHERE agent_id = ${checkpoint.agentId} AND context = ${checkpoint.context}
          AND delivery_id = ${checkpoint.deliveryId} AND turn_end IS NULL`
      }))
  })
})

export const layer = Layer.effect(Checkpoints, make)
