// A queue in which a key stands at most once and is worked on by at most one at a time; bounded by the number of keys.
// Two urgencies: `now` before `later`.
import { Effect } from "effect"

export type Urgency = "now" | "later"

export interface KeyedQueue<K, V> {
  /** A key that waits already keeps its place, or moves forward; the newest value stands. */
  readonly offer: (key: K, value: V, urgency: Urgency) => void
  /** Waits for a key, works on it, and gives it free again whatever the outcome. */
  readonly withNext: <A, E, R>(work: (value: V) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly idle: () => boolean
}

export const make = <K, V>(): KeyedQueue<K, V> => {
  const waiting = { now: new Map<K, V>(), later: new Map<K, V>() }
  const running = new Set<K>()
  const changed = Effect.unsafeMakeLatch(false)

  const next = (): readonly [K, V] | null => {
    for (const queue of [waiting.now, waiting.later]) {
      for (const [key, value] of queue) {
        if (running.has(key)) continue
        queue.delete(key)
        running.add(key)
        return [key, value]
      }
    }
    return null
  }

  const take: Effect.Effect<readonly [K, V]> = Effect.suspend(() => {
    const found = next()
    if (found !== null) return Effect.succeed(found)
    changed.unsafeClose()
    return Effect.zipRight(changed.await, take)
  })

  return {
    offer: (key, value, urgency) => {
      if (urgency === "now") {
        waiting.later.delete(key)
        waiting.now.set(key, value)
      } else if (!waiting.now.has(key)) {
        waiting.later.set(key, value)
      }
      changed.unsafeOpen()
    },
    withNext: (work) =>
      Effect.acquireUseRelease(
        Effect.interruptible(take),
        ([, value]) => work(value),
        ([key]) =>
          Effect.sync(() => {
            running.delete(key)
            changed.unsafeOpen()
          })
      ),
    idle: () => waiting.now.size === 0 && waiting.later.size === 0 && running.size === 0
  }
}
