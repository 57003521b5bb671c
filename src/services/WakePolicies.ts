// Whose messages start an agent. A room's own policy stands before the agent's policy for all rooms; each change is a
// new revision and raises the agent's authority revision.
import { Context, type Effect } from "effect"
import type { WakeSelection } from "../domain/Decision.ts"
import type { AgentId, RoomId, UserId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export interface WakePolicy {
  /** 0 where none was ever set: nobody is selected. */
  readonly revision: number
  readonly selections: ReadonlyArray<WakeSelection>
}

export class WakePolicies extends Context.Tag("crossfire/services/WakePolicies")<
  WakePolicies,
  {
    /** The first policy of a new agent: its owner, in all rooms. An existing policy stays. Joins a running transaction. */
    readonly install: (agentId: AgentId, owner: UserId) => Effect.Effect<void, StoreFailed>
    /** `roomId` null: for all rooms that have none of their own. No selections: nobody. */
    readonly set: (
      agentId: AgentId,
      roomId: RoomId | null,
      selections: ReadonlyArray<WakeSelection>
    ) => Effect.Effect<void, StoreFailed>
    /** What holds in that room. */
    readonly inRoom: (agentId: AgentId, roomId: RoomId) => Effect.Effect<WakePolicy, StoreFailed>
  }
>() {}
