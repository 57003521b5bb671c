// Pages of a room as one agent may read them: bounded in bytes, every event with its decision. They move nothing.
import { Context, type Effect } from "effect"
import type { PageAnswer } from "../domain/api/Crossfire.ts"
import type { HomeserverDown, NotAllowed, PageUnusable, ServerBusy } from "../domain/api/CrossfireErrors.ts"
import type { AgentId, RoomId, StreamToken } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export class RoomPages extends Context.Tag("crossfire/services/RoomPages")<
  RoomPages,
  {
    /**
     * Reads as the agent, which must be permitted and joined. An event without a decision makes the room be swept first,
     * so the records carry what was decided; what is at or before the agent's boundary is context. A page that is too
     * large is tried again with half the limit, down to one event; the owner is told of one that cannot be taken. Few
     * pages are read at the same time, in order of arrival; the same page of a room whose history was always shared is
     * asked for once by all who ask at the same time.
     */
    readonly read: (request: {
      readonly agentId: AgentId
      readonly roomId: RoomId
      readonly from: StreamToken
      readonly to: StreamToken | null
      readonly direction: "forward" | "backward"
      readonly limit: number
    }) => Effect.Effect<PageAnswer, NotAllowed | HomeserverDown | PageUnusable | ServerBusy | StoreFailed>
  }
>() {}
