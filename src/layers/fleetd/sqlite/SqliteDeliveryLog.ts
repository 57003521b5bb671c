// `DeliveryLog` over the registry: one row per publication, with the events and direct inputs that it carried.
import { Effect, Layer, Schema } from "effect"
import { DeliveryEntry } from "../../../domain/api/FleetSocket.ts"
import { FleetDb } from "../../../services/Database.ts"
import { DeliveryLog } from "../../../services/DeliveryLog.ts"

const decodeRows = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  ...DeliveryEntry.fields,
  events: Schema.parseJson(DeliveryEntry.fields.events),
  operations: Schema.parseJson(DeliveryEntry.fields.operations)
})))

export const make = Effect.gen(function*() {
  const { read, sql } = yield* FleetDb
  return DeliveryLog.of({
    recent: (limit) =>
      read(Effect.flatMap(
        sql`SELECT delivery_id AS deliveryId, agent.name AS agent, context, kind, state, entry,
            prepared_at AS preparedAtMillis, submitted_at AS submittedAtMillis,
            CASE WHEN state = 'confirmed' THEN settled_at END AS confirmedAtMillis,
            (SELECT path FROM binding WHERE binding.agent_id = publication.agent_id
              AND binding.context = publication.context AND archived_at IS NULL) AS history,
            (SELECT json_group_array(event_id) FROM (SELECT event_id FROM publication_event
              WHERE publication_event.delivery_id = publication.delivery_id ORDER BY place)) AS events,
            (SELECT json_group_array(operation_id) FROM publication_item
              WHERE publication_item.delivery_id = publication.delivery_id) AS operations
          FROM publication JOIN agent USING (agent_id) ORDER BY sequence DESC LIMIT ${limit}`,
        decodeRows
      ))
  })
})

export const layer = Layer.effect(DeliveryLog, make)
