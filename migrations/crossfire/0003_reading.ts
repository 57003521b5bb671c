// Reading rooms: why a reader does not get on, and whether a room's history was always open to all its members.
import type { Knex } from "knex"

export const name = "0003_reading"

const statements = [
  // Where the page from this position cannot be taken. Moving the reader takes both away. failed_event is the event's ID,
  // where it could be read.
  `ALTER TABLE sweep_position ADD COLUMN failure TEXT
     CHECK (failure IN ('too-large', 'malformed', 'not-advancing'))`,
  `ALTER TABLE sweep_position ADD COLUMN failed_event TEXT`,

  `CREATE INDEX sweep_failure ON sweep_position (room_id) WHERE failure IS NOT NULL`,

  // 1 while the room's history was shared or world-readable ever since the room is known here. Of rooms from before this
  // column nobody knows.
  `ALTER TABLE room ADD COLUMN always_shared INTEGER NOT NULL DEFAULT 0 CHECK (always_shared IN (0, 1))`
]

export const up = async (knex: Knex): Promise<void> => {
  for (const statement of statements) await knex.raw(statement)
}
