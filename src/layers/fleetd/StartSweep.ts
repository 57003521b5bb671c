// Before anything is delivered: ends what the runs of an earlier daemon left behind. An agent whose processes cannot be
// ended stays down, and its owner is told.
import { Effect, Layer } from "effect"
import { FleetOutbox } from "../../services/FleetOutbox.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { RunSweep } from "../../services/RunSweep.ts"

export const make = Effect.gen(function*() {
  const outbox = yield* FleetOutbox
  const registry = yield* FleetRegistry
  const sweeper = yield* RunSweep
  for (const { agentId, runId } of yield* registry.openRuns) {
    const left = yield* sweeper.sweep(runId)
    if (left.length === 0) {
      yield* registry.runEnded(runId, false)
      continue
    }
    const { name } = yield* registry.agent(agentId)
    const reason = `processes of an earlier run cannot be ended: ${left.join(", ")}`
    yield* Effect.logError("agent held").pipe(Effect.annotateLogs({ agent: name, reason }))
    yield* registry.setProblem(agentId, reason)
    yield* outbox.notice(
      `held:${agentId}`,
      `The agent ${name} is held: ${reason}. Nothing was lost; when they are gone: fleet start ${name}`
    )
  }
})

export const layer = Layer.effectDiscard(make)
