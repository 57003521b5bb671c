// `Announcements`: marks rooms, then tells the queue. Users are not marked: at every start all are looked at.
import { Effect, Layer } from "effect"
import { Announcements } from "../../services/Announcements.ts"
import { MembershipNews } from "../../services/MembershipNews.ts"
import { Rooms } from "../../services/store/Rooms.ts"
import { SweepQueue } from "../../services/SweepQueue.ts"

export const make = Effect.gen(function*() {
  const rooms = yield* Rooms
  const queue = yield* SweepQueue
  const news = yield* MembershipNews
  return Announcements.of({
    accept: (announcements) =>
      Effect.gen(function*() {
        const known = yield* rooms.announced([...new Set(announcements.map(({ roomId }) => roomId))])
        yield* queue.rooms(known)
        const members = [...new Set(announcements.flatMap(({ member }) => member === null ? [] : [member]))]
        yield* queue.users(members)
        yield* news.tell(members)
      })
  })
})

export const layer = Layer.effect(Announcements, make)
