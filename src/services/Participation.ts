// Which agents take part in which rooms: invitations answered, joins finished, permission withdrawn. Wake policy is not here.
import { Context, type Effect } from "effect"
import type { AgentId, RoomId, UserId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"
import type { MatrixError, PageFailed } from "./Matrix.ts"

export class Participation extends Context.Tag("crossfire/services/Participation")<
  Participation,
  {
    /**
     * Asks the homeserver for this user's invitations and rooms and brings what is stored in line: allowed invitations are
     * joined, others held with a notice to the owner, unfinished joins finished, ended memberships noted. A retired agent
     * declines and leaves everything. For the bot: direct chats of this server's people are joined. Idempotent; any
     * other user is ignored.
     */
    readonly look: (user: UserId) => Effect.Effect<void, MatrixError | PageFailed | StoreFailed>
    /** Takes the permission away; open wakes there are withdrawn. The membership stays as it is. */
    readonly withdraw: (agentId: AgentId, roomId: RoomId) => Effect.Effect<void, StoreFailed>
  }
>() {}
