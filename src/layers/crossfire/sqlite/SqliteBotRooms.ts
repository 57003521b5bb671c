// `BotRooms` over crossfire's database.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { RoomId, StreamToken, UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { type BotRoom, BotRooms } from "../../../services/store/BotRooms.ts"

const decodeRooms = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  room_id: RoomId,
  user_id: UserId,
  state: Schema.Literal("joining", "joined"),
  boundary: StreamToken
})))
const decodeContacts = Schema.decodeUnknown(Schema.Array(Schema.Struct({ boundary: StreamToken })))

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb
  const rooms = (rows: ReadonlyArray<unknown>) =>
    Effect.map(decodeRooms(rows), (decoded) =>
      decoded.map((row): BotRoom => ({
        roomId: row.room_id,
        person: row.user_id,
        state: row.state,
        boundary: row.boundary
      })))

  return BotRooms.of({
    all: read(Effect.flatMap(sql`SELECT * FROM bot_room ORDER BY updated_at DESC, room_id`, rooms)),
    get: (roomId) =>
      read(
        Effect.flatMap(sql`SELECT * FROM bot_room WHERE room_id = ${roomId}`, rooms).pipe(
          Effect.map((found) => Option.fromNullable(found[0]))
        )
      ),
    put: (room) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO bot_room ${
          sql.insert({
            room_id: room.roomId,
            user_id: room.person,
            state: room.state,
            boundary: room.boundary,
            updated_at: now
          })
        } ON CONFLICT (room_id) DO UPDATE SET user_id = excluded.user_id, state = excluded.state,
          updated_at = excluded.updated_at`
      })),
    remove: (roomId) => transaction(Effect.asVoid(sql`DELETE FROM bot_room WHERE room_id = ${roomId}`)),
    wanted: (person) =>
      read(
        Effect.flatMap(sql`SELECT boundary FROM bot_contact WHERE user_id = ${person}`, decodeContacts).pipe(
          Effect.map((rows) => Option.map(Option.fromNullable(rows[0]), (row) => row.boundary))
        )
      ),
    want: (person, boundary) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO bot_contact ${sql.insert({ user_id: person, boundary, created_at: now })}
          ON CONFLICT (user_id) DO NOTHING`
      })),
    made: (person) => transaction(Effect.asVoid(sql`DELETE FROM bot_contact WHERE user_id = ${person}`)),
    handle: (roomId, eventId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const added = yield* sql`INSERT INTO bot_message ${
          sql.insert({ event_id: eventId, room_id: roomId, handled_at: now })
        } ON CONFLICT (event_id) DO NOTHING RETURNING event_id`
        return added.length === 1
      }))
  })
})

export const layer = Layer.effect(BotRooms, make)
