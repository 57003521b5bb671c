// Keeps the level stream open while the lease is held, and hands every level on; what it says of the agent itself goes into
// the registry. Nobody calls it: a scoped feature.
import { Effect, Layer, Schedule, Stream } from "effect"
import { StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import type { Level } from "../../domain/Level.ts"
import { AgentLevels } from "../../services/AgentLevels.ts"
import { CrossfireClient } from "../../services/CrossfireClient.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { Lease } from "../../services/Lease.ts"
import { Redactions } from "../../services/Redactions.ts"
import { Signals } from "../../services/Signals.ts"
import * as AgentIncidents from "./AgentIncidents.ts"

const reconnectFrom = "200 millis"
const reconnectAtMost = "10 seconds"
/** A connection that lasted so long was a good one: the next one is tried at once again. */
const lastedLong = "30 seconds"

export const make = Effect.gen(function*() {
  const client = yield* CrossfireClient
  const lease = yield* Lease
  const levels = yield* AgentLevels
  const incidents = yield* AgentIncidents.make
  const registry = yield* FleetRegistry
  const redactions = yield* Redactions
  const signals = yield* Signals

  const take = (level: Level) =>
    Effect.gen(function*() {
      // Before anybody acts on the level: what it says was removed is given to nobody any more.
      const removed = yield* redactions.take(level).pipe(
        // It stays above the number that is taken, and comes with every later level until it is done.
        Effect.catchTag("ArtifactFailed", (failed) => Effect.as(Effect.logError(failed.message), false))
      )
      if (removed) yield* Effect.zipRight(signals.agent(level.agentId), signals.outbox)
      if (!(yield* levels.put(level))) return
      if (!(yield* registry.setStanding(level.agentId, level))) return
      yield* Effect.logInfo("agent changed").pipe(
        Effect.annotateLogs({ agent: level.name, standing: level.standing })
      )
      if (level.standing === "retired") yield* incidents.ofRetired(level.agentId)
      yield* signals.agent(level.agentId)
    })

  const follow = Effect.gen(function*() {
    const state = yield* lease.state
    // Over by the clock (the machine slept, say) and perhaps renewed in a moment, which is no change of the lease: it is
    // looked at again until the lease says that it changed.
    if (state._tag === "NotHeld") return yield* Effect.fail("not held" as const)
    yield* levels.connected
    yield* client.levels(state.stamp).pipe(
      // What could not be stored comes again with the next connection.
      Stream.runForEach(take),
      Effect.tapError((error) =>
        error instanceof StaleGeneration ? lease.lost(state.stamp, error.message) : Effect.logInfo(error.message)
      )
    )
    // The stream ended by itself: the other side closed it, for a restart say.
    return yield* Effect.fail("ended" as const)
  }).pipe(
    Effect.retry(
      Schedule.exponential(reconnectFrom).pipe(
        Schedule.union(Schedule.spaced(reconnectAtMost)),
        Schedule.resetAfter(lastedLong)
      )
    )
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
