// How far each room was read and decided, per reader.
import { Context, type Effect } from "effect"
import type { EventId, RoomId, StreamToken, UserId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"
import type { PageFailed } from "../Matrix.ts"

/** `""` reads for every joined agent that has no reader of its own. */
export type ReaderName = UserId | ""

export interface SweepReader {
  readonly reader: ReaderName
  readonly position: StreamToken
  /** The end of the window that is partly read; null between windows. */
  readonly windowTo: StreamToken | null
}

/** Why the page from a reader's position cannot be taken. */
export interface ReadingFailure {
  readonly reason: PageFailed["reason"]
  /** The event's ID, where it could be read. */
  readonly eventId: string | null
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
    /**
     * Stores that the reader does not get on from this position; moving it takes that away. Answers whether the same was
     * stored before: it is no chance then.
     */
    readonly fail: (
      roomId: RoomId,
      reader: SweepReader,
      failure: ReadingFailure
    ) => Effect.Effect<{ readonly again: boolean }, StoreFailed>
    /** Every reader that does not get on. */
    readonly failures: Effect.Effect<
      ReadonlyArray<ReadingFailure & { readonly roomId: RoomId; readonly reader: ReaderName }>,
      StoreFailed
    >
    readonly remove: (roomId: RoomId, reader: ReaderName) => Effect.Effect<void, StoreFailed>
  }
>() {}
