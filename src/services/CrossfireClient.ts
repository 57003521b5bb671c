// fleetd's way to crossfire: the lease, the level stream, pages, acknowledgments, messages, notices. It keeps nothing.
import { Context, type Effect, type Redacted, Schema, type Stream } from "effect"
import type { Acknowledgment, LeaseGrant, PageAnswer, SecretHash, SendAnswer } from "../domain/api/Crossfire.ts"
import type { LeaseHeld, StaleGeneration } from "../domain/api/CrossfireErrors.ts"
import type { AgentId, Generation, Incarnation, OperationId, RoomId, StreamToken } from "../domain/Ids.ts"
import type { Level } from "../domain/Level.ts"
import type { OutgoingMessage, SendRefused } from "./FleetOutbox.ts"

/** No usable answer (network, deadline, 5xx, homeserver down): the same request can be made again. */
export class CrossfireUnavailable extends Schema.TaggedError<CrossfireUnavailable>()("CrossfireUnavailable", {
  operation: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `crossfire gave no usable answer to "${this.operation}": ${this.reason}`
  }
}

/** The credential was not accepted: rotated, revoked, or another crossfire. */
export class CredentialRefused extends Schema.TaggedError<CredentialRefused>()("CredentialRefused", {
  operation: Schema.String
}) {
  override get message(): string {
    return `crossfire did not accept the credential for "${this.operation}"`
  }
}

/** The agent may not read there any more. */
export class ReadRefused extends Schema.TaggedError<ReadRefused>()("ReadRefused", { reason: Schema.String }) {}

/** This room's page cannot be taken; nothing of it is acknowledged. Other rooms go on. */
export class RoomPageFailed extends Schema.TaggedError<RoomPageFailed>()("RoomPageFailed", { reason: Schema.String }) {}

/** crossfire does not take this acknowledgment as it is: the same one would be refused again. Nothing was closed by it. */
export class AcknowledgmentRefused extends Schema.TaggedError<AcknowledgmentRefused>()("AcknowledgmentRefused", {
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}

/** crossfire takes these new credentials for none: nothing was changed. */
export class RotationRefused extends Schema.TaggedError<RotationRefused>()("RotationRefused", {
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}

export type CallFailed = CrossfireUnavailable | CredentialRefused

/** The number under which a write is made. */
export interface LeaseStamp {
  readonly generation: Generation
  readonly incarnation: Incarnation
}

export class CrossfireClient extends Context.Tag("crossfire/services/CrossfireClient")<
  CrossfireClient,
  {
    readonly acquireLease: (request: {
      readonly root: string
      readonly holder: string
      readonly takeOver: boolean
    }) => Effect.Effect<LeaseGrant, CallFailed | LeaseHeld>
    readonly renewLease: (stamp: LeaseStamp) => Effect.Effect<LeaseGrant, CallFailed | StaleGeneration>
    readonly releaseLease: (stamp: LeaseStamp) => Effect.Effect<void, CallFailed>
    /** Every agent's level, then each that changed. Fails when the connection ends; the caller connects again. */
    readonly levels: (stamp: LeaseStamp) => Stream.Stream<Level, CallFailed | StaleGeneration>
    readonly boundary: (stamp: LeaseStamp) => Effect.Effect<StreamToken, CallFailed | StaleGeneration>
    readonly page: (stamp: LeaseStamp, agentId: AgentId, request: {
      readonly roomId: RoomId
      readonly from: StreamToken
      readonly to: StreamToken | null
      readonly direction: "forward" | "backward"
      readonly limit: number
    }) => Effect.Effect<PageAnswer, CallFailed | StaleGeneration | ReadRefused | RoomPageFailed>
    /** Answers the level number that covers it: lower levels are older than this acknowledgment. */
    readonly acknowledge: (
      stamp: LeaseStamp,
      agentId: AgentId,
      acknowledgment: Acknowledgment
    ) => Effect.Effect<number, CallFailed | StaleGeneration | AcknowledgmentRefused>
    readonly send: (
      stamp: LeaseStamp,
      agentId: AgentId,
      message: OutgoingMessage
    ) => Effect.Effect<SendAnswer, CallFailed | StaleGeneration | SendRefused>
    /**
     * Replaces the fleet's credential and those of the agents named. Goes out under the one that the registry holds now,
     * or under the new one where `under` says so: that tells whether an earlier try was taken. Answers how many.
     */
    readonly rotateCredentials: (
      stamp: LeaseStamp,
      under: Redacted.Redacted | null,
      tokens: { readonly fleetToken: SecretHash; readonly agentTokens: ReadonlyMap<AgentId, SecretHash> }
    ) => Effect.Effect<number, CallFailed | StaleGeneration | RotationRefused>
    readonly notice: (
      stamp: LeaseStamp,
      operationId: OperationId,
      text: string
    ) => Effect.Effect<void, CallFailed | StaleGeneration>
  }
>() {}
