// `MembershipNews` as a queue that drops what it cannot hold.
import { Effect, Layer, Queue } from "effect"
import type { UserId } from "../../domain/Ids.ts"
import { MembershipNews } from "../../services/MembershipNews.ts"

const maxUsersWaiting = 1_000

export const make = Effect.map(Queue.dropping<UserId>(maxUsersWaiting), (users) =>
  MembershipNews.of({
    tell: (some) => Effect.asVoid(Queue.offerAll(users, some)),
    next: Queue.take(users)
  }))

export const layer: Layer.Layer<MembershipNews> = Layer.effect(MembershipNews, make)
