// Each agent's standing in each room: permission and membership apart, and the boundary where its reading starts. Changes
// of standing raise the agent's authority revision in the same transaction.
import { Context, type Effect, type Option } from "effect"
import type { AgentId, RoomId, StreamToken, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"
import type { Agent } from "./Agents.ts"

export type Membership = "none" | "invited" | "joining" | "joined" | "left" | "banned"

/** Why an invitation led to nothing, where it did. */
export type ParticipationProblem = "inviter-not-allowed" | "encrypted" | "join-refused"

export interface Standing {
  readonly agentId: AgentId
  readonly roomId: RoomId
  readonly permitted: boolean
  readonly membership: Membership
  /** Taken before joining; becomes the boundary when permission and membership first both hold. */
  readonly wantedBoundary: StreamToken | null
  readonly boundary: StreamToken | null
  readonly problem: ParticipationProblem | null
  /** Sequence of the newest decision whose event may be given. */
  readonly latest: number
}

export interface RoomMember {
  readonly agent: Agent
  readonly standing: Standing
}

/** Permitted and joined: what delivery, reading and sending need. */
export const takesPart = (standing: Standing): boolean =>
  standing.permitted && standing.membership === "joined" && standing.boundary !== null

export class Participations extends Context.Tag("crossfire/services/store/Participations")<
  Participations,
  {
    readonly get: (agentId: AgentId, roomId: RoomId) => Effect.Effect<Option.Option<Standing>, StoreFailed>
    readonly ofAgent: (agentId: AgentId) => Effect.Effect<ReadonlyArray<Standing>, StoreFailed>
    /** Every agent with a standing in the room, in the order of their IDs. */
    readonly inRoom: (roomId: RoomId) => Effect.Effect<ReadonlyArray<RoomMember>, StoreFailed>
    /** An invitation that leads to no join as it stands. */
    readonly held: (
      agentId: AgentId,
      roomId: RoomId,
      inviter: UserId,
      problem: ParticipationProblem
    ) => Effect.Effect<void, StoreFailed>
    /** Permission, and a join about to begin. The boundary wanted is kept only where there is none yet. */
    readonly joining: (
      agentId: AgentId,
      roomId: RoomId,
      by: UserId,
      wantedBoundary: StreamToken
    ) => Effect.Effect<void, StoreFailed>
    readonly joined: (agentId: AgentId, roomId: RoomId) => Effect.Effect<void, StoreFailed>
    readonly ended: (
      agentId: AgentId,
      roomId: RoomId,
      membership: "none" | "left" | "banned",
      problem: ParticipationProblem | null
    ) => Effect.Effect<void, StoreFailed>
    readonly withdrawn: (agentId: AgentId, roomId: RoomId) => Effect.Effect<void, StoreFailed>
    /** Never goes back. */
    readonly raise: (agentId: AgentId, roomId: RoomId, latest: number) => Effect.Effect<void, StoreFailed>
  }
>() {}
