// The outbox of everything that crossfire sends. A row has its transaction ID before the first try and keeps it.
import { Context, type Effect, type Option } from "effect"
import type { EventId, RoomId, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"
import type { Destination, OutboundState } from "../Outbound.ts"

/** One sender's messages to one destination: they leave in the order in which they were recorded. */
export interface Lane {
  readonly sender: UserId
  readonly to: Destination
}

export interface WaitingEvent {
  readonly _tag: "Event"
  readonly transactionId: string
  readonly eventType: string
  readonly content: Readonly<Record<string, unknown>>
  readonly attachment: Uint8Array | null
}

/** Takes back an event that the homeserver took; `event` is null where it refused it. */
export interface WaitingRedaction {
  readonly _tag: "Redaction"
  readonly transactionId: string
  readonly event: { readonly roomId: RoomId; readonly eventId: EventId } | null
}

export type WaitingMessage = WaitingEvent | WaitingRedaction

export class OutboundMessages extends Context.Tag("crossfire/services/store/OutboundMessages")<
  OutboundMessages,
  {
    /** The same sender and operation again changes nothing. */
    readonly add: (
      message: Lane & {
        readonly operationId: string
        readonly transactionId: string
        readonly eventType: string
        readonly content: Readonly<Record<string, unknown>>
        readonly attachment: Uint8Array | null
      }
    ) => Effect.Effect<OutboundState, StoreFailed>
    readonly state: (
      sender: UserId,
      operationId: string
    ) => Effect.Effect<Option.Option<OutboundState>, StoreFailed>
    readonly lanes: Effect.Effect<ReadonlyArray<Lane>, StoreFailed>
    /** The sequence of the lane's first message that waits. */
    readonly first: (lane: Lane) => Effect.Effect<Option.Option<number>, StoreFailed>
    /** Notes a try before it is made, and gives the message as it stands now. None: it waits no longer. */
    readonly begin: (sequence: number) => Effect.Effect<Option.Option<WaitingMessage>, StoreFailed>
    /** Takes the attachment away; the text stays for as long as the row. */
    readonly sent: (sequence: number, roomId: RoomId, eventId: EventId) => Effect.Effect<void, StoreFailed>
    readonly refused: (sequence: number, errcode: string) => Effect.Effect<void, StoreFailed>
    /**
     * Wipes a message's content. One that was never tried waits no longer; one that may be on the homeserver goes on with
     * nothing in it, and its redaction stands behind it. A redaction is a message that waits, under `transactionId`.
     */
    readonly retract: (sender: UserId, operationId: string, transactionId: string) => Effect.Effect<void, StoreFailed>
    /** Removes settled rows older than this. Answers how many; at most `limit`. */
    readonly expire: (beforeMillis: number, limit: number) => Effect.Effect<number, StoreFailed>
  }
>() {}
