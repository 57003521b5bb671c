// `Changes` in memory: which topics each open page has yet to hear of. A follower holds each topic once, so what it holds is
// bounded by the number of topics.
import { Effect, Layer, Stream } from "effect"
import type { ChangeTopic } from "../../../domain/api/People.ts"
import type { UserId } from "../../../domain/Ids.ts"
import { Changes } from "../../../services/Changes.ts"

interface Follower {
  readonly userId: UserId
  readonly administrator: boolean
  changed: Set<ChangeTopic>
  readonly signal: Effect.Latch
}

export const make = Effect.sync(() => {
  const followers = new Set<Follower>()

  const take = (follower: Follower) =>
    Effect.zipRight(
      follower.signal.await,
      Effect.sync((): Iterable<ChangeTopic> => {
        const taken = follower.changed
        follower.changed = new Set()
        follower.signal.unsafeClose()
        return taken
      })
    )

  return Changes.of({
    publish: (topic, about) =>
      Effect.sync(() => {
        for (const follower of followers) {
          if (about !== null && !follower.administrator && follower.userId !== about) continue
          follower.changed.add(topic)
          follower.signal.unsafeOpen()
        }
      }),
    follow: (reader) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const follower: Follower = { ...reader, changed: new Set(), signal: Effect.unsafeMakeLatch(false) }
          followers.add(follower)
          return follower
        }),
        (follower) => Effect.sync(() => followers.delete(follower))
      ).pipe(Effect.map((follower) => Stream.mapConcat(Stream.repeatEffect(take(follower)), (topics) => topics)))
  })
})

export const layer: Layer.Layer<Changes> = Layer.effect(Changes, make)
