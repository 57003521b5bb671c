// `ReadState` over the registry. The rows are written by the confirming transaction.
import { Effect, Layer, Schema } from "effect"
import { Cursor } from "../../../domain/Cursor.ts"
import { EventId, RoomId } from "../../../domain/Ids.ts"
import { FleetDb } from "../../../services/Database.ts"
import { ReadState } from "../../../services/ReadState.ts"

const decodeCursors = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  room_id: RoomId,
  cursor: Schema.parseJson(Cursor),
  seen_latest: Schema.Int
})))

/** SQLite's bound on the parameters of one statement is far above this. */
const idsPerQuery = 500

export const make = Effect.gen(function*() {
  const { read, sql } = yield* FleetDb
  return ReadState.of({
    cursors: (agentId) =>
      read(Effect.gen(function*() {
        const rows = yield* decodeCursors(
          yield* sql`SELECT room_id, cursor, seen_latest FROM cursor WHERE agent_id = ${agentId}`
        )
        return rows.map((row) => ({ roomId: row.room_id, cursor: row.cursor, seenLatest: row.seen_latest }))
      })),
    deliveredAmong: (agentId, events) =>
      read(Effect.gen(function*() {
        const known = new Set<EventId>()
        for (let at = 0; at < events.length; at += idsPerQuery) {
          const rows = yield* sql<{ readonly event_id: string }>`SELECT event_id FROM delivered
            WHERE agent_id = ${agentId} AND ${sql.in("event_id", events.slice(at, at + idsPerQuery))}`
          for (const row of rows) known.add(EventId.make(row.event_id))
        }
        return known
      }))
  })
})

export const layer = Layer.effect(ReadState, make)
