// A queue in which a key stands at most once and is worked on by at most one at a time; bounded by the number of keys.
// Two urgencies: `now` before `later`.
import { Effect } from "effect"

export type Urgency = "now" | "later"

export interface KeyedQueue<K> {
  /** A key that waits already keeps its place, or moves forward. */
  readonly offer: (key: K, urgency: Urgency) => void
  /** Waits for a key, works on it, and gives it free again whatever the outcome. */
  readonly withNext: <A, E, R>(work: (key: K) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly idle: () => boolean
}

export const make = <K>(): KeyedQueue<K> => {
  const waiting = { now: new Set<K>(), later: new Set<K>() }
  const running = new Set<K>()
  const changed = Effect.unsafeMakeLatch(false)

  const next = (): { readonly key: K } | null => {
    for (const queue of [waiting.now, waiting.later]) {
      for (const key of queue) {
        if (running.has(key)) continue
        queue.delete(key)
        running.add(key)
        return { key }
      }
    }
    return null
  }

  const take: Effect.Effect<{ readonly key: K }> = Effect.suspend(() => {
    const found = next()
    if (found !== null) return Effect.succeed(found)
    changed.unsafeClose()
    return Effect.zipRight(changed.await, take)
  })

  return {
    offer: (key, urgency) => {
      if (urgency === "now") {
        waiting.later.delete(key)
        waiting.now.add(key)
      } else if (!waiting.now.has(key)) {
        waiting.later.add(key)
      }
      changed.unsafeOpen()
    },
    withNext: (work) =>
      Effect.acquireUseRelease(
        Effect.interruptible(take),
        ({ key }) => work(key),
        ({ key }) =>
          Effect.sync(() => {
            running.delete(key)
            changed.unsafeOpen()
          })
      ),
    idle: () => waiting.now.size === 0 && waiting.later.size === 0 && running.size === 0
  }
}
