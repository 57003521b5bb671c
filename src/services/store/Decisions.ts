// Every decided event, one row an agent: the first outcome stands. Wakes are open until something closes them.
import { Context, type Effect } from "effect"
import type { DecisionKind } from "../../domain/Decision.ts"
import type { AgentId, EventId, RoomId, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"

export interface NewDecision {
  readonly agentId: AgentId
  readonly roomId: RoomId
  readonly eventId: EventId
  readonly sender: UserId
  readonly kind: DecisionKind
  readonly policyRevision: number
}

export interface StoredDecision {
  readonly eventId: EventId
  readonly kind: DecisionKind
  readonly open: boolean
}

export interface OpenDecision {
  readonly eventId: EventId
  readonly roomId: RoomId
  readonly sender: UserId
  readonly kind: "wake" | "mention"
}

export type Closing = "delivered" | "read" | "skipped" | "redacted" | "withdrawn" | "absent"

export interface Redaction {
  readonly number: number
  readonly roomId: RoomId
  readonly eventId: EventId
}

export class Decisions extends Context.Tag("crossfire/services/store/Decisions")<
  Decisions,
  {
    /** Stores those that have no row yet, in this order; answers them with their sequence numbers. */
    readonly record: (
      decisions: ReadonlyArray<NewDecision>
    ) => Effect.Effect<
      ReadonlyArray<{ readonly sequence: number; readonly agentId: AgentId; readonly kind: DecisionKind }>,
      StoreFailed
    >
    readonly among: (
      agentId: AgentId,
      events: ReadonlyArray<EventId>
    ) => Effect.Effect<ReadonlyMap<EventId, StoredDecision>, StoreFailed>
    /** Open wakes where the agent takes part, mentions first, then the oldest; at most `limit`. */
    readonly open: (agentId: AgentId, limit: number) => Effect.Effect<ReadonlyArray<OpenDecision>, StoreFailed>
    /** Closes those that are open; answers how many. */
    readonly close: (
      agentId: AgentId,
      events: ReadonlyArray<EventId>,
      as: Closing
    ) => Effect.Effect<number, StoreFailed>
    readonly closeRoom: (agentId: AgentId, roomId: RoomId, as: Closing) => Effect.Effect<number, StoreFailed>
    readonly closeAll: (agentId: AgentId, as: Closing) => Effect.Effect<number, StoreFailed>
    /** Notes the redaction for every agent that has a decision on the event, and closes what is open; answers them. */
    readonly redact: (roomId: RoomId, eventId: EventId) => Effect.Effect<ReadonlyArray<AgentId>, StoreFailed>
    /** The oldest above this number: what is taken of them makes room for the rest. */
    readonly redactions: (
      agentId: AgentId,
      above: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Redaction>, StoreFailed>
    /** Removes rows that are not open and older than this. Answers how many; at most `limit`. */
    readonly expire: (beforeMillis: number, limit: number) => Effect.Effect<number, StoreFailed>
  }
>() {}
