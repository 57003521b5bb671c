// `DirectInputs` over the registry. That one was delivered is written by the confirming transaction.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { AgentId, DeliveryId, OperationId } from "../../../domain/Ids.ts"
import { FleetDb } from "../../../services/Database.ts"
import { DirectInputs, type DirectInputState } from "../../../services/DirectInputs.ts"

const decodeItems = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  operation_id: OperationId,
  kind: Schema.Literal("direct", "schedule"),
  text: Schema.String,
  stored_at: Schema.Int
})))

const decodeState = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  agent_id: AgentId,
  delivery_id: Schema.NullOr(DeliveryId),
  state: Schema.NullOr(Schema.Literal("prepared", "submitted", "unknown", "confirmed", "discarded")),
  entry: Schema.NullOr(Schema.String)
})))

const decodeLast = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  delivery_id: DeliveryId,
  entry: Schema.String,
  settled_at: Schema.Int
})))

const stateOf = (row: Effect.Effect.Success<ReturnType<typeof decodeState>>[number]): DirectInputState => {
  const { agent_id: agentId, delivery_id: deliveryId, entry, state } = row
  if (deliveryId === null || state === null || state === "discarded") return { _tag: "Waiting" }
  return state === "confirmed"
    ? { _tag: "Delivered", agentId, deliveryId, entry: entry ?? "" }
    : { _tag: "Open", deliveryId, state }
}

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* FleetDb
  return DirectInputs.of({
    store: (input) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO item ${
          sql.insert({
            operation_id: input.operationId,
            agent_id: input.agentId,
            context: input.context,
            kind: input.kind,
            text: input.text,
            stored_at: now
          })
        } ON CONFLICT (operation_id) DO NOTHING`
      })),
    waiting: (agentId, context, limit) =>
      read(Effect.gen(function*() {
        const rows = yield* decodeItems(
          yield* sql`SELECT operation_id, kind, text, stored_at FROM item
            WHERE agent_id = ${agentId} AND context = ${context} AND delivered_by IS NULL ORDER BY sequence LIMIT ${limit}`
        )
        return rows.map((row) => ({
          operationId: row.operation_id,
          kind: row.kind,
          text: row.text,
          storedAtMillis: row.stored_at
        }))
      })),
    waitingCount: (agentId, context) =>
      read(Effect.map(
        sql<{ readonly total: number }>`SELECT COUNT(*) AS total FROM item
          WHERE agent_id = ${agentId} AND context = ${context} AND delivered_by IS NULL`,
        (rows) => rows[0]?.total ?? 0
      )),
    state: (operationId) =>
      read(Effect.gen(function*() {
        // The newest publication that holds it: earlier ones were discarded, or are told by it.
        const rows = yield* decodeState(
          yield* sql`SELECT item.agent_id, publication.delivery_id, publication.state, publication.entry FROM item
            LEFT JOIN publication_item ON publication_item.operation_id = item.operation_id
            LEFT JOIN publication ON publication.delivery_id = COALESCE(item.delivered_by, publication_item.delivery_id)
            WHERE item.operation_id = ${operationId} ORDER BY publication.sequence DESC LIMIT 1`
        )
        return Option.map(Option.fromNullable(rows[0]), stateOf)
      })),
    lastDelivery: (agentId, context) =>
      read(Effect.gen(function*() {
        const rows = yield* decodeLast(
          yield* sql`SELECT delivery_id, entry, settled_at FROM publication
            WHERE agent_id = ${agentId} AND context = ${context} AND state = 'confirmed' AND entry IS NOT NULL
            ORDER BY settled_at DESC, sequence DESC LIMIT 1`
        )
        return Option.map(Option.fromNullable(rows[0]), (row) => ({
          deliveryId: row.delivery_id,
          entry: row.entry,
          confirmedAtMillis: row.settled_at
        }))
      }))
  })
})

export const layer = Layer.effect(DirectInputs, make)
