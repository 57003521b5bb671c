// What crossfire keeps of a room itself: its name and visibility as last read, and whether something was announced in it.
import { Context, type Effect, type Option } from "effect"
import type { RoomId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../Database.ts"

export interface RoomInfo {
  readonly name: string | null
  /** Content of `m.room.history_visibility`; `shared` where the room has none. */
  readonly visibility: string
  readonly encrypted: boolean
  readonly isDirect: boolean
}

export interface Room extends RoomInfo {
  readonly roomId: RoomId
  /** Announcements since the last finished sweep. */
  readonly dirty: number
  /** Its history was shared or world-readable ever since it is known here. */
  readonly alwaysShared: boolean
}

/** History that every member sees whole, so that one member may read for all. */
export const isSharedVisibility = (visibility: string): boolean =>
  visibility === "shared" || visibility === "world_readable"

export const isShared = (room: RoomInfo): boolean => isSharedVisibility(room.visibility)

export class Rooms extends Context.Tag("crossfire/services/store/Rooms")<
  Rooms,
  {
    readonly get: (roomId: RoomId) => Effect.Effect<Option.Option<Room>, StoreFailed>
    /** All rooms, those with announcements first. */
    readonly all: Effect.Effect<ReadonlyArray<Room>, StoreFailed>
    /** Makes the room known, or brings what is kept of it up to date. */
    readonly learn: (roomId: RoomId, info: RoomInfo) => Effect.Effect<void, StoreFailed>
    /** Its history may have been hidden from some members at some time. */
    readonly notAlwaysShared: (roomId: RoomId) => Effect.Effect<void, StoreFailed>
    readonly amend: (roomId: RoomId, info: Partial<RoomInfo>) => Effect.Effect<void, StoreFailed>
    /** Counts one announcement in each known room of these and answers which they are. */
    readonly announced: (rooms: ReadonlyArray<RoomId>) => Effect.Effect<ReadonlyArray<RoomId>, StoreFailed>
    /** After a sweep that began at this count; later announcements keep the room dirty. */
    readonly swept: (roomId: RoomId, dirty: number) => Effect.Effect<void, StoreFailed>
  }
>() {}
