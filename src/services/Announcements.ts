// Where the homeserver's pushes arrive. A push decides nothing: it says durably which rooms and users to look at, and the
// room's own timeline says the rest.
import { Context, type Effect } from "effect"
import type { RoomId, UserId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

/** What of a pushed event is looked at. `member` only of a membership event: the user whom it is about. */
export interface Announcement {
  readonly roomId: RoomId
  readonly member: UserId | null
}

export class Announcements extends Context.Tag("crossfire/services/Announcements")<
  Announcements,
  {
    /**
     * One transaction; afterwards the homeserver may be answered 200. Repeated, late and reordered announcements change
     * nothing. Fails only when nothing was stored (full disk): the homeserver then sends the transaction again.
     */
    readonly accept: (announcements: ReadonlyArray<Announcement>) => Effect.Effect<void, StoreFailed>
  }
>() {}
