// `SweepPositions` over crossfire's database.
import { Clock, Effect, Layer, Schema } from "effect"
import { RoomId, StreamToken, UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { SweepPositions, type SweepReader } from "../../../services/store/SweepPositions.ts"

const Reader = Schema.Union(Schema.Literal(""), UserId)
const Reason = Schema.Literal("too-large", "malformed", "not-advancing")

const decodeFailures = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  room_id: RoomId,
  reader: Reader,
  failure: Reason,
  failed_event: Schema.NullOr(Schema.String)
})))
const decodeFailure = Schema.decodeUnknown(Schema.Array(Schema.Struct({ failure: Schema.NullOr(Reason) })))
const decodeRows = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  reader: Reader,
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
        last_event = COALESCE(excluded.last_event, last_event), failure = NULL, failed_event = NULL,
        updated_at = excluded.updated_at`
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
    fail: (roomId, { position, reader }, { eventId, reason }) =>
      transaction(Effect.gen(function*() {
        const [before] = yield* Effect.flatMap(
          sql`SELECT failure FROM sweep_position
            WHERE room_id = ${roomId} AND reader = ${reader} AND position = ${position}`,
          decodeFailure
        )
        yield* sql`UPDATE sweep_position SET failure = ${reason}, failed_event = COALESCE(${eventId}, failed_event)
          WHERE room_id = ${roomId} AND reader = ${reader} AND position = ${position}`
        return { again: before?.failure === reason }
      })),
    failures: read(
      Effect.flatMap(
        sql`SELECT room_id, reader, failure, failed_event FROM sweep_position WHERE failure IS NOT NULL`,
        decodeFailures
      ).pipe(
        Effect.map((rows) =>
          rows.map((row) => ({
            roomId: row.room_id,
            reader: row.reader,
            reason: row.failure,
            eventId: row.failed_event
          }))
        )
      )
    ),
    remove: (roomId, reader) =>
      transaction(
        Effect.asVoid(sql`DELETE FROM sweep_position WHERE room_id = ${roomId} AND reader = ${reader}`)
      )
  })
})

export const layer = Layer.effect(SweepPositions, make)
