// `SweepQueue` in memory.
import { Effect, Layer } from "effect"
import type { RoomId, UserId } from "../../domain/Ids.ts"
import { type RoomTask, SweepQueue } from "../../services/SweepQueue.ts"
import * as KeyedQueue from "./KeyedQueue.ts"

export const make = Effect.sync(() => {
  const rooms = KeyedQueue.make<RoomId, RoomTask>()
  const users = KeyedQueue.make<UserId, UserId>()
  return SweepQueue.of({
    rooms: (ids) =>
      Effect.sync(() => {
        for (const roomId of ids) rooms.offer(roomId, { roomId, boundary: null }, "now")
      }),
    rounds: (tasks) =>
      Effect.sync(() => {
        for (const task of tasks) rooms.offer(task.roomId, task, "later")
      }),
    users: (ids) =>
      Effect.sync(() => {
        for (const user of ids) users.offer(user, user, "now")
      }),
    withRoom: rooms.withNext,
    withUser: users.withNext,
    idle: Effect.sync(() => rooms.idle() && users.idle())
  })
})

export const layer = Layer.effect(SweepQueue, make)
