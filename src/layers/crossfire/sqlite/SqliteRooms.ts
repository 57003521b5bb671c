// `Rooms` over crossfire's database.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { RoomId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { isSharedVisibility, type Room, Rooms } from "../../../services/store/Rooms.ts"
import { inBatches } from "./Batches.ts"

const decodeRows = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  room_id: RoomId,
  name: Schema.NullOr(Schema.String),
  visibility: Schema.String,
  is_direct: Schema.Int,
  encrypted: Schema.Int,
  dirty: Schema.Int,
  always_shared: Schema.Int
})))
const decodeIds = Schema.decodeUnknown(Schema.Array(Schema.Struct({ room_id: RoomId })))

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb
  const rooms = (rows: ReadonlyArray<unknown>) =>
    Effect.map(decodeRows(rows), (decoded) =>
      decoded.map((row): Room => ({
        roomId: row.room_id,
        name: row.name,
        visibility: row.visibility,
        encrypted: row.encrypted === 1,
        isDirect: row.is_direct === 1,
        dirty: row.dirty,
        alwaysShared: row.always_shared === 1
      })))
  const get = (roomId: RoomId) =>
    read(
      Effect.flatMap(sql`SELECT * FROM room WHERE room_id = ${roomId}`, rooms).pipe(
        Effect.map((found) => Option.fromNullable(found[0]))
      )
    )

  return Rooms.of({
    get,
    all: read(Effect.flatMap(sql`SELECT * FROM room ORDER BY dirty > 0 DESC, room_id`, rooms)),
    learn: (roomId, info) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO room ${
          sql.insert({
            room_id: roomId,
            name: info.name,
            visibility: info.visibility,
            is_direct: info.isDirect ? 1 : 0,
            encrypted: info.encrypted ? 1 : 0,
            dirty: 1,
            always_shared: isSharedVisibility(info.visibility) ? 1 : 0,
            updated_at: now
          })
        } ON CONFLICT (room_id) DO UPDATE SET name = excluded.name, visibility = excluded.visibility,
          is_direct = excluded.is_direct, encrypted = MAX(encrypted, excluded.encrypted), dirty = dirty + 1,
          always_shared = MIN(always_shared, excluded.always_shared), updated_at = excluded.updated_at`
      })),
    amend: (roomId, info) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const changes = {
          ...info.name === undefined ? {} : { name: info.name },
          ...info.visibility === undefined ? {} : { visibility: info.visibility },
          ...info.visibility === undefined || isSharedVisibility(info.visibility) ? {} : { always_shared: 0 },
          ...info.encrypted === undefined ? {} : { encrypted: info.encrypted ? 1 : 0 },
          ...info.isDirect === undefined ? {} : { is_direct: info.isDirect ? 1 : 0 },
          updated_at: now
        }
        yield* sql`UPDATE room SET ${sql.update(changes)} WHERE room_id = ${roomId}`
      })),
    notAlwaysShared: (roomId) =>
      transaction(Effect.asVoid(sql`UPDATE room SET always_shared = 0 WHERE room_id = ${roomId}`)),
    announced: (ids) =>
      transaction(
        inBatches(ids, (some) =>
          Effect.flatMap(
            sql`UPDATE room SET dirty = dirty + 1 WHERE ${sql.in("room_id", some)} RETURNING room_id`,
            decodeIds
          )).pipe(Effect.map((known) => known.map((row) => row.room_id)))
      ),
    swept: (roomId, dirty) =>
      transaction(Effect.asVoid(sql`UPDATE room SET dirty = 0 WHERE room_id = ${roomId} AND dirty = ${dirty}`))
  })
})

export const layer = Layer.effect(Rooms, make)
