// The bot's direct chats with people, and which of their messages it has dealt with.
import { Context, type Effect, type Option } from "effect"
import type { EventId, RoomId, StreamToken, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"

export interface BotRoom {
  readonly roomId: RoomId
  readonly person: UserId
  readonly state: "joining" | "joined"
  /** Taken before joining: reading starts there. */
  readonly boundary: StreamToken
}

export class BotRooms extends Context.Tag("crossfire/services/store/BotRooms")<
  BotRooms,
  {
    readonly all: Effect.Effect<ReadonlyArray<BotRoom>, StoreFailed>
    readonly get: (roomId: RoomId) => Effect.Effect<Option.Option<BotRoom>, StoreFailed>
    readonly put: (room: BotRoom) => Effect.Effect<void, StoreFailed>
    readonly remove: (roomId: RoomId) => Effect.Effect<void, StoreFailed>
    /** Where reading starts in the room that is being made for this person; kept over a crash. */
    readonly wanted: (person: UserId) => Effect.Effect<Option.Option<StreamToken>, StoreFailed>
    readonly want: (person: UserId, boundary: StreamToken) => Effect.Effect<void, StoreFailed>
    readonly made: (person: UserId) => Effect.Effect<void, StoreFailed>
    /** False when it was handled before. */
    readonly handle: (roomId: RoomId, eventId: EventId) => Effect.Effect<boolean, StoreFailed>
  }
>() {}
