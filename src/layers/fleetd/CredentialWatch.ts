// What to make of a refused credential: the fleet's own shuts delivery, one agent's holds that agent alone. It decides after
// asking crossfire under the fleet's own; what the holding means is the receiver's and the outbox's.
import { Effect } from "effect"
import type { AgentId } from "../../domain/Ids.ts"
import { CrossfireClient, type LeaseStamp } from "../../services/CrossfireClient.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { Lease } from "../../services/Lease.ts"
import { Signals } from "../../services/Signals.ts"
import * as AgentIncidents from "./AgentIncidents.ts"

/** An agent that is being retired loses its credential a moment before its level says why. */
const levelWithin = "3 seconds"

export const make = Effect.gen(function*() {
  const client = yield* CrossfireClient
  const incidents = yield* AgentIncidents.make
  const lease = yield* Lease
  const registry = yield* FleetRegistry
  const signals = yield* Signals
  const scope = yield* Effect.scope
  const looking = new Set<AgentId>()

  const look = (stamp: LeaseStamp, agentId: AgentId) =>
    Effect.gen(function*() {
      const before = yield* registry.agent(agentId)
      if (before.credentialRefused) return
      const refused = yield* registry.agentToken(agentId)
      yield* Effect.sleep(levelWithin)
      yield* client.renewLease(stamp)
      const agent = yield* registry.agent(agentId)
      if (agent.retired || agent.credentialRefused) return
      // Replaced meanwhile: what was refused says nothing about the one that stands now.
      if (!(yield* registry.setCredentialRefused(agentId, refused))) return
      yield* incidents.credentialRefused(agent)
      yield* signals.agent(agentId)
    }).pipe(
      Effect.catchTags({
        CredentialRefused: (refused) => lease.lost(stamp, refused.message),
        StaleGeneration: (stale) => lease.lost(stamp, stale.message),
        // It is asked again whenever the agent is refused again.
        CrossfireUnavailable: () => Effect.void,
        StoreFailed: (failed) => Effect.logError(failed.message)
      })
    )

  return {
    /** Answers at once; what is found out comes by the registry and a signal. */
    refused: (stamp: LeaseStamp, agentId: AgentId) =>
      Effect.suspend(() => {
        if (looking.has(agentId)) return Effect.void
        looking.add(agentId)
        const looked = Effect.ensuring(look(stamp, agentId), Effect.sync(() => looking.delete(agentId)))
        return Effect.asVoid(Effect.forkIn(Effect.interruptible(looked), scope))
      })
  }
})

export type CredentialWatch = Effect.Effect.Success<typeof make>
