// `SweepQueue` in memory.
import { Effect, Layer } from "effect"
import type { RoomId, UserId } from "../../domain/Ids.ts"
import { SweepQueue } from "../../services/SweepQueue.ts"
import * as KeyedQueue from "./KeyedQueue.ts"

export const make = Effect.sync(() => {
  const rooms = KeyedQueue.make<RoomId>()
  const users = KeyedQueue.make<UserId>()
  return SweepQueue.of({
    rooms: (ids) =>
      Effect.sync(() => {
        for (const roomId of ids) rooms.offer(roomId, "now")
      }),
    rounds: (ids) =>
      Effect.sync(() => {
        for (const roomId of ids) rooms.offer(roomId, "later")
      }),
    users: (ids) =>
      Effect.sync(() => {
        for (const user of ids) users.offer(user, "now")
      }),
    withRoom: rooms.withNext,
    withUser: users.withNext,
    idle: Effect.sync(() => rooms.idle() && users.idle())
  })
})

export const layer = Layer.effect(SweepQueue, make)
