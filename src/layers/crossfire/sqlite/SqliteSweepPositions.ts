// `SweepPositions` over crossfire's database.
import { Clock, Effect, Layer, Schema } from "effect"
import { type RoomId, StreamToken, UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { SweepPositions, type SweepReader } from "../../../services/store/SweepPositions.ts"

const decodeRows = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  reader: Schema.Union(Schema.Literal(""), UserId),
  position: StreamToken,
  window_to: Schema.NullOr(StreamToken)
})))

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb
  const select = (roomId: RoomId) =>
    Effect.flatMap(
      sql`SELECT reader, position, window_to FROM sweep_position WHERE room_id = ${roomId} ORDER BY reader`,
      decodeRows
    ).pipe(
      Effect.map((rows) =>
        rows.map((row): SweepReader => ({ reader: row.reader, position: row.position, windowTo: row.window_to }))
      )
    )

  const put: SweepPositions["Type"]["put"] = (roomId, reader, last) =>
    transaction(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      yield* sql`INSERT INTO sweep_position ${
        sql.insert({
          room_id: roomId,
          reader: reader.reader,
          position: reader.position,
          window_to: reader.windowTo,
          last_event: last,
          updated_at: now
        })
      } ON CONFLICT (room_id, reader) DO UPDATE SET position = excluded.position, window_to = excluded.window_to,
        last_event = COALESCE(excluded.last_event, last_event), updated_at = excluded.updated_at`
    }))

  return SweepPositions.of({
    of: (roomId) => read(select(roomId)),
    put,
    split: (roomId, user, fallback) =>
      transaction(Effect.gen(function*() {
        const readers = yield* select(roomId)
        if (readers.some((reader) => reader.reader === user)) return
        const shared = readers.find((reader) => reader.reader === "")
        if (shared !== undefined) return yield* put(roomId, { ...shared, reader: user }, null)
        if (fallback !== null) yield* put(roomId, { reader: user, position: fallback, windowTo: null }, null)
      })),
    remove: (roomId, reader) =>
      transaction(
        Effect.asVoid(sql`DELETE FROM sweep_position WHERE room_id = ${roomId} AND reader = ${reader}`)
      )
  })
})

export const layer = Layer.effect(SweepPositions, make)
