// The levels of agents: computed from what is stored whenever they are asked for, numbered, and announced when changed.
import { Context, type Effect, type Stream } from "effect"
import type { AgentId, FleetId } from "../domain/Ids.ts"
import type { Level } from "../domain/Level.ts"
import type { StoreFailed } from "./Database.ts"

export class Levels extends Context.Tag("crossfire/services/Levels")<
  Levels,
  {
    /** The level of now. Open wakes whose sender the policy no longer selects are withdrawn first. */
    readonly of: (agentId: AgentId) => Effect.Effect<Level, StoreFailed>
    /** The levels of all the fleet's agents, then each again after it changed. A slow reader gets the newest only. */
    readonly follow: (fleetId: FleetId) => Stream.Stream<Level, StoreFailed>
    /**
     * Raises the agents' numbers and tells the followers. Part of the transaction that made the change when called inside
     * of one: followers read after its end. New agents are announced in the same way.
     */
    readonly changed: (agents: ReadonlyArray<AgentId>) => Effect.Effect<void, StoreFailed>
  }
>() {}
