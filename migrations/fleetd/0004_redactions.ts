// What was removed from rooms and is taken note of here: until when, and which events. Times are milliseconds since 1970.
import type { Knex } from "knex"

export const name = "0004_redactions"

const statements = [
  // crossfire's number up to which everything is taken, in the incarnation that counted it.
  `ALTER TABLE agent ADD COLUMN redaction_number INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE agent ADD COLUMN redaction_incarnation TEXT`,
  // The newest row of the next table whose event was wiped from all that was on its way.
  `ALTER TABLE agent ADD COLUMN redaction_mark INTEGER NOT NULL DEFAULT 0`,

  // Its sequence is this registry's own and never goes back.
  `CREATE TABLE redaction (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    taken_at INTEGER NOT NULL,
    UNIQUE (agent_id, event_id)
  ) STRICT`,

  // The newest redaction that was known before the input was collected: its pages have that event as a removed one.
  `ALTER TABLE publication ADD COLUMN redactions_known INTEGER NOT NULL DEFAULT 0`
]

export const up = async (knex: Knex): Promise<void> => {
  for (const statement of statements) await knex.raw(statement)
}
