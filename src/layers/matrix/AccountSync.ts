// The two things that only a sync tells: the server-wide stream token of now, and a user's waiting invitations. Each
// request stands alone, without a position to go on from.
import { Effect, Option, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { RoomId, StreamToken, UserId } from "../../domain/Ids.ts"
import type { Invitation, MatrixError } from "../../services/Matrix.ts"
import type { Masquerade } from "./Masquerade.ts"

const Synced = Schema.Struct({ next_batch: StreamToken })

const Stripped = Schema.Struct({
  type: Schema.String,
  sender: UserId,
  state_key: Schema.String,
  content: Schema.Struct({ membership: Schema.optional(Schema.Unknown), is_direct: Schema.optional(Schema.Unknown) })
})
const Invited = Schema.Struct({
  rooms: Schema.optional(Schema.Struct({
    invite: Schema.optional(Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ invite_state: Schema.Struct({ events: Schema.Array(Schema.Unknown) }) })
    }))
  }))
})
const readStripped = Schema.decodeUnknownOption(Stripped)
const isRoomId = Schema.is(RoomId)
const writeFilter = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const nothing = { not_types: ["*"] }

/** The invitation as its stripped state tells it; null without a readable inviter (nobody's permission could be checked). */
const invitation = (as: UserId, roomId: string, events: ReadonlyArray<unknown>): Invitation | null => {
  const state = events.flatMap((event) => Option.toArray(readStripped(event)))
  const own = state.find((event) => event.type === "m.room.member" && event.state_key === as)
  if (own === undefined || own.content.membership !== "invite" || !isRoomId(roomId)) return null
  return {
    roomId,
    inviter: own.sender,
    isDirect: own.content.is_direct === true,
    encrypted: state.some((event) => event.type === "m.room.encryption")
  }
}

export const make = (masquerade: Masquerade) => {
  const mark = randomUUID()
  let asked = 0
  /**
   * A sync that is like an earlier one is answered from a cache for two minutes, so each filter names something new. The
   * usual way, going on from the last token, is not taken: a homeserver that went back in time answers a token of its
   * future with that same token, for ever.
   */
  const query = (room: Readonly<Record<string, unknown>>) => {
    asked += 1
    const filter = { room, presence: nothing, account_data: { ...nothing, types: [`${mark}.${asked}`] } }
    return { timeout: "0", set_presence: "offline", filter: writeFilter(filter) }
  }
  const path = ["_matrix", "client", "v3", "sync"]

  const token = (as: UserId): Effect.Effect<StreamToken, MatrixError> =>
    Effect.suspend(() => masquerade.getJson("take the boundary", as, path, query({ rooms: [] }), Synced)).pipe(
      Effect.map(({ next_batch }) => next_batch)
    )

  const invitations = (as: UserId): Effect.Effect<ReadonlyArray<Invitation>, MatrixError> =>
    Effect.suspend(() => {
      const room = { timeline: { limit: 1, ...nothing }, state: nothing, ephemeral: nothing, account_data: nothing }
      return masquerade.getJson("list invitations", as, path, query(room), Invited)
    }).pipe(
      Effect.map(({ rooms }) =>
        Object.entries(rooms?.invite ?? {}).flatMap(([roomId, { invite_state }]) =>
          invitation(as, roomId, invite_state.events) ?? []
        )
      )
    )

  return { token, invitations }
}
