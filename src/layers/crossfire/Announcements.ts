// `Announcements`: marks rooms, then tells the queue. Users are not marked: at every start all are looked at.
import { Effect, Layer } from "effect"
import { Announcements } from "../../services/Announcements.ts"
import { Rooms } from "../../services/store/Rooms.ts"
import { SweepQueue } from "../../services/SweepQueue.ts"

export const make = Effect.gen(function*() {
  const rooms = yield* Rooms
  const queue = yield* SweepQueue
  return Announcements.of({
    accept: (announcements) =>
      Effect.gen(function*() {
        const known = yield* rooms.announced([...new Set(announcements.map(({ roomId }) => roomId))])
        yield* queue.rooms(known)
        yield* queue.users([
          ...new Set(announcements.flatMap(({ member }) => member === null ? [] : [member]))
        ])
      })
  })
})

export const layer = Layer.effect(Announcements, make)
