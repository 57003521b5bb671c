// What each agent has read: one cursor per room, and the event IDs that were given. Written with receipts alone.
import { Context, type Effect } from "effect"
import type { Cursor } from "../domain/Cursor.ts"
import type { AgentId, EventId, RoomId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export interface RoomCursor {
  readonly roomId: RoomId
  readonly cursor: Cursor
  /** crossfire's count of the room up to which everything was read. */
  readonly seenLatest: number
}

export class ReadState extends Context.Tag("crossfire/services/ReadState")<
  ReadState,
  {
    readonly cursors: (agentId: AgentId) => Effect.Effect<ReadonlyArray<RoomCursor>, StoreFailed>
    /** Which of these were given to the agent already. */
    readonly deliveredAmong: (
      agentId: AgentId,
      events: ReadonlyArray<EventId>
    ) => Effect.Effect<ReadonlySet<EventId>, StoreFailed>
  }
>() {}
