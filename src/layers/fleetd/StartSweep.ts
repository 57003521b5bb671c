// Before anything is delivered: ends what the runs of an earlier daemon left behind. An agent whose processes cannot be
// ended stays down, and its owner is told.
import { Effect, Layer } from "effect"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { RunSweep } from "../../services/RunSweep.ts"
import * as AgentIncidents from "./AgentIncidents.ts"

export const make = Effect.gen(function*() {
  const incidents = yield* AgentIncidents.make
  const registry = yield* FleetRegistry
  const sweeper = yield* RunSweep
  for (const { agentId, runId } of yield* registry.openRuns) {
    const left = yield* sweeper.sweep(runId)
    if (left.length === 0) {
      yield* registry.runEnded(runId, false)
      continue
    }
    const reason = `processes of an earlier run cannot be ended: ${left.join(", ")}`
    yield* registry.setProblem(agentId, reason)
    yield* incidents.held(yield* registry.agent(agentId), reason)
  }
})

export const layer = Layer.effectDiscard(make)
