// Makes one token serve callers that ask at the same time: whoever comes while a request is under way waits for the next
// one, so that nobody gets a token taken before their call. It knows nothing of Matrix.
import { Deferred, Effect, FiberId, type Scope } from "effect"

/** At most one `take` runs and at most one waits, whatever the number of callers; an interrupted caller stops neither. */
export const coalesced = <A, E>(take: Effect.Effect<A, E>): Effect.Effect<Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.map(Effect.all([Effect.scope, Effect.makeSemaphore(1)]), ([scope, turn]) => {
    /** The request that is asked for and not begun. */
    let next: Deferred.Deferred<A, E> | null = null

    const begun = Effect.suspend(() => {
      next = null
      return take
    })
    /** Looked up or made in one step; what is made is always brought to an end, by the scope's end at the latest. */
    const joined = Effect.suspend(() => {
      if (next !== null) return Effect.succeed(next)
      const result = Deferred.unsafeMake<A, E>(FiberId.none)
      next = result
      return turn.withPermits(1)(begun).pipe(
        Effect.interruptible,
        Effect.intoDeferred(result),
        Effect.forkIn(scope),
        Effect.as(result)
      )
    })
    return Effect.flatMap(Effect.uninterruptible(joined), Deferred.await)
  })
