// How far each room was read and decided, per reader.
import { Context, type Effect } from "effect"
import type { EventId, RoomId, StreamToken, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"

/** `""` reads for every joined agent that has no reader of its own. */
export type ReaderName = UserId | ""

export interface SweepReader {
  readonly reader: ReaderName
  readonly position: StreamToken
  /** The end of the window that is partly read; null between windows. */
  readonly windowTo: StreamToken | null
}

export class SweepPositions extends Context.Tag("crossfire/services/store/SweepPositions")<
  SweepPositions,
  {
    readonly of: (roomId: RoomId) => Effect.Effect<ReadonlyArray<SweepReader>, StoreFailed>
    /** Adds a reader or moves it. `last` is the newest event read, where the move read one. */
    readonly put: (roomId: RoomId, reader: SweepReader, last: EventId | null) => Effect.Effect<void, StoreFailed>
    /** A reader of its own for this user where it has none: at the shared reader's place, or else at `fallback`. */
    readonly split: (
      roomId: RoomId,
      user: UserId,
      fallback: StreamToken | null
    ) => Effect.Effect<void, StoreFailed>
    readonly remove: (roomId: RoomId, reader: ReaderName) => Effect.Effect<void, StoreFailed>
  }
>() {}
