// What the bot does about a message that a person wrote to it. It reads no rooms and sends nothing by itself: answers go
// through `Outbound`.
import { Context, type Effect } from "effect"
import type { EventId, RoomId, UserId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export interface BotMessage {
  readonly eventId: EventId
  readonly roomId: RoomId
  /** Verified by the homeserver; always a person, never a user of crossfire's own. */
  readonly sender: UserId
  readonly text: string
}

export class BotConversation extends Context.Tag("crossfire/services/BotConversation")<
  BotConversation,
  {
    /**
     * Runs inside the transaction that records the message as handled, so each message has its effects exactly once. It
     * must not wait for a network; what needs one is stored and done afterwards. On `StoreFailed` the message comes again.
     */
    readonly handle: (message: BotMessage) => Effect.Effect<void, StoreFailed>
  }
>() {}
