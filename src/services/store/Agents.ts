// Who the agents and administrators are, as enrollment wrote them down. Reads only.
import { Context, type Effect, type Option } from "effect"
import type { AgentId, FleetId, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"

export interface Agent {
  readonly agentId: AgentId
  readonly fleetId: FleetId
  readonly owner: UserId
  readonly name: string
  readonly userId: UserId
  /** Enabled by its owner and not retired. */
  readonly active: boolean
  /** For ever: it takes part in nothing any more. */
  readonly retired: boolean
  /** Its owner or an administrator lets it bring other agents into rooms. */
  readonly mayInviteAgents: boolean
}

export class Agents extends Context.Tag("crossfire/services/store/Agents")<
  Agents,
  {
    readonly all: Effect.Effect<ReadonlyArray<Agent>, StoreFailed>
    readonly ofFleet: (fleetId: FleetId) => Effect.Effect<ReadonlyArray<Agent>, StoreFailed>
    readonly byId: (agentId: AgentId) => Effect.Effect<Option.Option<Agent>, StoreFailed>
    readonly byUsers: (users: ReadonlyArray<UserId>) => Effect.Effect<ReadonlyMap<UserId, Agent>, StoreFailed>
    /** By the skeleton of their registered names, which is unique in the instance; retired ones included. */
    readonly byNameSkeletons: (
      skeletons: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, Agent>, StoreFailed>
    /** Which of these are administrators of the instance and may act. */
    readonly administratorsAmong: (
      users: ReadonlyArray<UserId>
    ) => Effect.Effect<ReadonlySet<UserId>, StoreFailed>
    /** Which of these were deactivated. Whoever is not known was not. */
    readonly deactivatedAmong: (
      users: ReadonlyArray<UserId>
    ) => Effect.Effect<ReadonlySet<UserId>, StoreFailed>
  }
>() {}
