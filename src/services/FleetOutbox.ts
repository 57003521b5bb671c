// What fleetd owes to crossfire: acknowledgments, messages of its agents, notices to the owner. Stored before anything is
// answered, sent in order, kept until accepted.
import { Context, type Effect, Schema } from "effect"
import type { Acknowledgment, SendAnswer } from "../domain/api/Crossfire.ts"
import type { AgentId, EventId, Incarnation, OperationId, RoomId, UserId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

/** A message as an agent asked for it. The destination is always named. */
export interface OutgoingMessage {
  readonly operationId: OperationId
  readonly roomId: RoomId
  readonly text: string
  readonly replyTo: EventId | null
  readonly mentions: ReadonlyArray<UserId>
}

/** crossfire will not send this message; another try would be refused again. */
export class SendRefused extends Schema.TaggedError<SendRefused>()("SendRefused", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

export class FleetOutbox extends Context.Tag("crossfire/services/FleetOutbox")<
  FleetOutbox,
  {
    /**
     * The first one of each agent, then the second ones, and so on; as with messages, none of an agent that is retired or
     * whose credential is refused. Each carries the redaction number that is taken by now, where crossfire's present
     * incarnation counted it.
     */
    readonly waitingAcknowledgments: (limit: number, incarnation: Incarnation) => Effect.Effect<
      ReadonlyArray<{ readonly agentId: AgentId; readonly acknowledgment: Acknowledgment }>,
      StoreFailed
    >
    readonly acknowledged: (acknowledgment: Acknowledgment) => Effect.Effect<void, StoreFailed>
    /** The same operation again changes nothing. */
    readonly storeMessage: (agentId: AgentId, message: OutgoingMessage) => Effect.Effect<void, StoreFailed>
    /** The first message of each agent to each room, then the second ones, and so on. */
    readonly waitingMessages: (limit: number) => Effect.Effect<
      ReadonlyArray<{ readonly agentId: AgentId; readonly message: OutgoingMessage }>,
      StoreFailed
    >
    /** How many of the agent's messages wait ahead of this one; all of them while it is not stored. */
    readonly messagesAhead: (agentId: AgentId, operationId: OperationId) => Effect.Effect<number, StoreFailed>
    readonly messageAnswered: (
      operationId: OperationId,
      answer: SendAnswer | SendRefused
    ) => Effect.Effect<void, StoreFailed>
    readonly messageState: (operationId: OperationId) => Effect.Effect<
      {
        readonly state: "waiting" | "accepted" | "refused"
        readonly eventId: EventId | null
        readonly refusal: string | null
      },
      StoreFailed
    >
    /** Tells the owner once per topic, until the topic is closed. */
    readonly notice: (topic: string, text: string) => Effect.Effect<void, StoreFailed>
    readonly closeTopic: (topic: string) => Effect.Effect<void, StoreFailed>
    readonly waitingNotices: (limit: number) => Effect.Effect<
      ReadonlyArray<{ readonly operationId: OperationId; readonly text: string }>,
      StoreFailed
    >
    readonly noticeAccepted: (operationId: OperationId) => Effect.Effect<void, StoreFailed>
    /** How much of each waits. */
    readonly depth: Effect.Effect<
      { readonly acknowledgments: number; readonly messages: number; readonly notices: number },
      StoreFailed
    >
  }
>() {}
