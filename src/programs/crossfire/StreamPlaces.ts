// How many streams may be open for one key: over it the newest takes the place of the oldest. For readers of which there is
// one, whose former connections may linger.
import { Effect } from "effect"

export const make = <Key>(maxOpen: number) => {
  const taken = new Map<Key, Set<Effect.Latch>>()

  const take = (key: Key) =>
    Effect.sync(() => {
      const over = Effect.unsafeMakeLatch(false)
      const places = taken.get(key) ?? new Set()
      taken.set(key, places.add(over))
      const [oldest] = places
      if (places.size > maxOpen && oldest !== undefined) {
        places.delete(oldest)
        oldest.unsafeOpen()
      }
      return over
    })

  const leave = (key: Key, over: Effect.Latch) =>
    Effect.sync(() => {
      const places = taken.get(key)
      places?.delete(over)
      if (places?.size === 0) taken.delete(key)
    })

  return {
    /** A place until the scope closes; the effect it gives waits until it is taken away. */
    place: (key: Key) => Effect.map(Effect.acquireRelease(take(key), (over) => leave(key, over)), (over) => over.await)
  }
}
