// Wake-ups inside the daemon: "look again", never what changed. Many signals before a look are one; none is ever lost.
import { Context, type Duration, type Effect } from "effect"
import type { AgentId } from "../domain/Ids.ts"

export class Signals extends Context.Tag("crossfire/services/Signals")<
  Signals,
  {
    readonly agent: (agentId: AgentId) => Effect.Effect<void>
    readonly everyAgent: Effect.Effect<void>
    /** Returns at the next signal for this agent, or after `atMost`. A signal given since the last return counts. */
    readonly awaitAgent: (agentId: AgentId, atMost: Duration.DurationInput) => Effect.Effect<void>
    readonly outbox: Effect.Effect<void>
    readonly awaitOutbox: (atMost: Duration.DurationInput) => Effect.Effect<void>
  }
>() {}
