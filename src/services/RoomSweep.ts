// Reading rooms on from their own positions and deciding what is found: the only place where decisions are made.
import { Context, type Effect } from "effect"
import type { RoomId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"
import type { MatrixError, PageFailed } from "./Matrix.ts"

export class RoomSweep extends Context.Tag("crossfire/services/RoomSweep")<
  RoomSweep,
  {
    /**
     * Reads the room up to a boundary of now and answers when everything up to it is decided and stored. One sweep of a
     * room at a time; a room that nobody of ours reads is left alone.
     */
    readonly room: (roomId: RoomId) => Effect.Effect<void, MatrixError | PageFailed | StoreFailed>
  }
>() {}
