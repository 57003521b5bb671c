// What a room's state says of it, read as one of its members. Whatever a person can put there may have any type.
import { Effect } from "effect"
import type { RoomId, UserId } from "../../domain/Ids.ts"
import type { MatrixEvent } from "../../domain/MatrixEvent.ts"
import { Matrix } from "../../services/Matrix.ts"
import type { RoomInfo } from "../../services/store/Rooms.ts"

const stateTypes = ["m.room.name", "m.room.history_visibility", "m.room.encryption"] as const

/** Whether the room's own state may be another one after this event. */
export const changesRoom = (event: MatrixEvent): boolean =>
  event.state_key === "" && stateTypes.some((type) => type === event.type)

/** Whoever was not there, or came later, may see another part of the history from here on. */
export const changesVisibility = (event: MatrixEvent): boolean =>
  event.state_key === "" && event.type === "m.room.history_visibility"

/** The room was upgraded: from here on people are in another one. */
export const replacesRoom = (event: MatrixEvent): boolean => event.type === "m.room.tombstone" && event.state_key === ""

/** A room's name as it is kept: its first characters. */
const maxNameLength = 200

const text = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null

export const read = (as: UserId, roomId: RoomId) =>
  Effect.gen(function*() {
    const matrix = yield* Matrix
    const [name, visibility, encryption] = yield* Effect.all(
      [
        matrix.state(as, roomId, "m.room.name", ""),
        matrix.state(as, roomId, "m.room.history_visibility", ""),
        matrix.state(as, roomId, "m.room.encryption", "")
      ]
    )
    return {
      name: text(name?.["name"])?.slice(0, maxNameLength).toWellFormed() ?? null,
      // A room without the event, or with a value that nobody knows, is shared: the specification's default.
      visibility: text(visibility?.["history_visibility"]) ?? "shared",
      encrypted: encryption !== null
    } satisfies Omit<RoomInfo, "isDirect">
  })
