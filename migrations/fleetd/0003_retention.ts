// What retention is measured by: when a message was answered, and when an event was given. Times are milliseconds since 1970.
import type { Knex } from "knex"

export const name = "0003_retention"

const statements = [
  // Null for those that were answered before this column was there: of these the time of storing counts.
  `ALTER TABLE outgoing ADD COLUMN answered_at INTEGER`,

  // An event that was given before this column was there counts as given by the time of this migration.
  `ALTER TABLE delivered ADD COLUMN delivered_at INTEGER NOT NULL DEFAULT 0`,
  `UPDATE delivered SET delivered_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  `CREATE INDEX delivered_room ON delivered (agent_id, room_id, sequence)`,

  `CREATE INDEX publication_settled ON publication (settled_at) WHERE settled_at IS NOT NULL`,
  `CREATE INDEX artifact_delivery ON artifact (delivery_id)`
]

export const up = async (knex: Knex): Promise<void> => {
  for (const statement of statements) await knex.raw(statement)
}
