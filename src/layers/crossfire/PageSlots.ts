// So many at the same time, strictly in the order of arrival: a slot that gets free is handed to whoever waits longest.
import { Deferred, Effect } from "effect"

export interface PageSlots {
  readonly within: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const make = (slots: number): PageSlots => {
  const waiting = new Set<Deferred.Deferred<void>>()
  let free = slots

  const leave = Effect.sync(() => {
    const [next] = waiting
    if (next === undefined) {
      free += 1
      return
    }
    waiting.delete(next)
    Deferred.unsafeDone(next, Effect.void)
  })

  const enter = Effect.flatMap(Deferred.make<void>(), (turn) =>
    Effect.suspend(() => {
      if (free > 0) {
        free -= 1
        return Effect.void
      }
      waiting.add(turn)
      // Given up at the moment when the slot was handed over: it goes on to the next.
      return Effect.onInterrupt(Deferred.await(turn), () =>
        Effect.suspend(() => waiting.delete(turn) ? Effect.void : leave))
    }))

  return { within: (work) => Effect.acquireUseRelease(Effect.interruptible(enter), () => work, () => leave) }
}
