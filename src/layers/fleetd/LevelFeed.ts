// Keeps the level stream open while the lease is held, and hands every level on. Nobody calls it: a scoped feature.
import { Effect, Layer, Schedule, Stream } from "effect"
import { StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import { AgentLevels } from "../../services/AgentLevels.ts"
import { CrossfireClient } from "../../services/CrossfireClient.ts"
import { Lease } from "../../services/Lease.ts"
import { Signals } from "../../services/Signals.ts"

const reconnectFrom = "200 millis"
const reconnectAtMost = "10 seconds"

export const make = Effect.gen(function*() {
  const client = yield* CrossfireClient
  const lease = yield* Lease
  const levels = yield* AgentLevels
  const signals = yield* Signals

  const follow = Effect.gen(function*() {
    const state = yield* lease.state
    // Over by the clock (the machine slept, say) and perhaps renewed in a moment, which is no change of the lease: it is
    // looked at again until the lease says that it changed.
    if (state._tag === "NotHeld") return yield* Effect.fail("not held" as const)
    yield* levels.connected
    yield* client.levels(state.stamp).pipe(
      Stream.runForEach(levels.put),
      Effect.tapError((error) =>
        error instanceof StaleGeneration ? lease.lost(state.stamp, error.message) : Effect.logInfo(error.message)
      )
    )
    // The stream ended by itself: the other side closed it, for a restart say.
    return yield* Effect.fail("ended" as const)
  }).pipe(
    Effect.retry(Schedule.exponential(reconnectFrom).pipe(Schedule.union(Schedule.spaced(reconnectAtMost))))
  )

  // Every change of the lease starts over: under a new number, or not at all. It also makes every receiver look.
  yield* lease.changes.pipe(
    Stream.changesWith((one, other) =>
      one._tag === "Held" && other._tag === "Held" && one.stamp.generation === other.stamp.generation &&
      one.stamp.incarnation === other.stamp.incarnation
    ),
    Stream.tap(() => signals.everyAgent),
    Stream.tap(() => signals.outbox),
    Stream.flatMap(() => Stream.fromEffect(follow), { switch: true }),
    Stream.runDrain,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
