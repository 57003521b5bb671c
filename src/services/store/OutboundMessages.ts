// The outbox of everything that crossfire sends. A row has its transaction ID before the first try and keeps it.
import { Context, type Effect, type Option } from "effect"
import type { EventId, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"
import type { Destination, OutboundState } from "../Outbound.ts"

/** One sender's messages to one destination: they leave in the order in which they were recorded. */
export interface Lane {
  readonly sender: UserId
  readonly to: Destination
}

export interface WaitingMessage {
  readonly sequence: number
  readonly operationId: string
  readonly transactionId: string
  readonly eventType: string
  readonly content: Readonly<Record<string, unknown>>
  readonly attachment: Uint8Array | null
}

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
    readonly first: (lane: Lane) => Effect.Effect<Option.Option<WaitingMessage>, StoreFailed>
    readonly tried: (sequence: number) => Effect.Effect<void, StoreFailed>
    /** Takes the attachment away; the text stays for as long as the row. */
    readonly sent: (sequence: number, eventId: EventId) => Effect.Effect<void, StoreFailed>
    readonly refused: (sequence: number, errcode: string) => Effect.Effect<void, StoreFailed>
    /** Removes settled rows older than this. Answers how many; at most `limit`. */
    readonly expire: (beforeMillis: number, limit: number) => Effect.Effect<number, StoreFailed>
  }
>() {}
