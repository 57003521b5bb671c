// Everything that crossfire sends into rooms, for agents and as the bot: recorded first, then sent in order until the
// homeserver has taken or refused it.
import { Context, type Effect } from "effect"
import type { SendPayload } from "../domain/api/Crossfire.ts"
import type { MessageRefused, NotAllowed, StaleGeneration } from "../domain/api/CrossfireErrors.ts"
import type { AgentId, EventId, FleetId, RoomId, UserId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"
import type { FleetStamp } from "./FleetLeases.ts"

/** A room, or a person: then it is the bot's direct chat with that person, which is made at the first need. */
export type Destination = { readonly roomId: RoomId } | { readonly recipient: UserId }

export type OutboundState =
  | { readonly _tag: "Waiting" }
  | { readonly _tag: "Sent"; readonly eventId: EventId }
  /** `errcode` is Matrix's own. */
  | { readonly _tag: "Refused"; readonly errcode: string }

export class Outbound extends Context.Tag("crossfire/services/Outbound")<
  Outbound,
  {
    /**
     * Records one event of this sender; the same operation ID again changes nothing and tells how it went. Joins a running
     * transaction of crossfire's database. What one sender puts into one destination is sent in this order.
     */
    readonly enqueue: (message: {
      readonly sender: UserId
      readonly to: Destination
      readonly operationId: string
      readonly content: Readonly<Record<string, unknown>>
      readonly attachment?: Uint8Array | undefined
    }) => Effect.Effect<OutboundState, StoreFailed>
    /**
     * Takes a message back: its content is wiped here at once; one that was sent is redacted on the homeserver, one that
     * waits is never sent. Unknown ones are none. Joins a running transaction.
     */
    readonly retract: (sender: UserId, operationId: string) => Effect.Effect<void, StoreFailed>
    /** A control notice of the bot (`m.notice`, with the control key), written in Markdown. Otherwise like `enqueue`. */
    readonly notice: (notice: {
      readonly to: Destination
      readonly operationId: string
      readonly text: string
    }) => Effect.Effect<void, StoreFailed>
    /** Records an agent's own message after checking generation, permission and membership. Text too long becomes a file. */
    readonly say: (
      from: { readonly agentId: AgentId; readonly fleetId: FleetId; readonly stamp: FleetStamp },
      message: typeof SendPayload.Type
    ) => Effect.Effect<OutboundState, NotAllowed | MessageRefused | StaleGeneration | StoreFailed>
    /** Waits for the outcome, at most so long; then it is told as it stands. */
    readonly settled: (
      sender: UserId,
      operationId: string,
      withinMillis: number
    ) => Effect.Effect<OutboundState, StoreFailed>
  }
>() {}
