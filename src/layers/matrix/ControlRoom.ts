// The control user's private room: one state event there wakes the homeserver's sender, and its counter tells when the
// homeserver went back in time. No person and no agent is ever in that room.
import { Effect, Option, Schema } from "effect"
import { Preset } from "matrix-js-sdk/lib/@types/partials.js"
import { Method } from "matrix-js-sdk/lib/http-api/method.js"
import { RoomId, type UserId } from "../../domain/Ids.ts"
import { controlKey } from "../../domain/MatrixEvent.ts"
import { controlUser } from "../../domain/SystemUsers.ts"
import { type Heartbeat, HomeserverUnavailable, type MatrixError } from "../../services/Matrix.ts"
import { type Masquerade, pathOf } from "./Masquerade.ts"

export const heartbeatType = "org.crossfire.heartbeat"

/** The display name of the control user. */
export const controlName = "crossfire control"

const readCounter = Schema.decodeUnknownOption(Schema.Struct({ count: Schema.NonNegativeInt }))
const Created = Schema.Struct({ room_id: RoomId })
const readCreated = Schema.decodeUnknown(Created)

const heartbeat = (count: number) => ({ count, [controlKey]: "heartbeat" })

/** What the control room needs of the port; the user is there already. */
export interface ControlRoomReads {
  readonly joinedRooms: (as: UserId) => Effect.Effect<ReadonlyArray<RoomId>, MatrixError>
  readonly state: (
    as: UserId,
    roomId: RoomId,
    type: string,
    stateKey: string
  ) => Effect.Effect<Readonly<Record<string, unknown>> | null, MatrixError>
}

/** The nudge: one at a time, so that no two write the same count. */
export const make = (masquerade: Masquerade, reads: ControlRoomReads) =>
  Effect.map(Effect.makeSemaphore(1), (turn): Effect.Effect<Heartbeat, MatrixError> => {
    const user = controlUser(masquerade.access.serverName)
    let known: RoomId | null = null

    const counterIn = (roomId: RoomId) =>
      Effect.map(
        reads.state(user, roomId, heartbeatType, ""),
        (content) => content === null ? null : Option.getOrElse(readCounter(content), () => ({ count: 0 })).count
      )

    /** The room stands in no store of ours: it is the joined one that holds a heartbeat. Of several, always the same. */
    const find = Effect.gen(function*() {
      const rooms = yield* reads.joinedRooms(user)
      for (const roomId of rooms.toSorted()) {
        if ((yield* counterIn(roomId)) !== null) return roomId
      }
      return null
    })

    const create = masquerade.withClient("create the control room", user, (client) =>
      client.createRoom({
        name: "crossfire control",
        preset: Preset.PrivateChat,
        initial_state: [{ type: heartbeatType, state_key: "", content: heartbeat(0) }]
      })).pipe(
        Effect.flatMap((answer) =>
          Effect.mapError(
            readCreated(answer),
            () => new HomeserverUnavailable({ operation: "create the control room", status: 200 })
          )
        ),
        Effect.map(({ room_id }) => room_id)
      )

    const beat = Effect.gen(function*() {
      const roomId = known ?? (yield* find) ?? (yield* create)
      const found = (yield* counterIn(roomId)) ?? 0
      const written = found + 1
      yield* masquerade.withClient("write the heartbeat", user, (client) =>
        client.http.authedRequest(
          Method.Put,
          pathOf(["rooms", roomId, "state", heartbeatType, ""]) ?? "",
          undefined,
          heartbeat(written)
        ))
      known = roomId
      return { found, written }
    })

    const ping = masquerade.withClient("ping", null, (client) =>
      client.http.authedRequest(
        Method.Post,
        pathOf(["appservice", masquerade.access.serviceId, "ping"]) ?? "",
        undefined,
        {},
        // The SDK borrows `priority` from a browser type that Node does not have.
        { prefix: "/_matrix/client/v1", priority: undefined }
      ))

    return beat.pipe(
      // The room that was known may be gone with a restored homeserver: it is looked for once more.
      Effect.catchTag("MatrixRefused", (refused) => {
        if (known === null) return Effect.fail(refused)
        known = null
        return beat
      }),
      Effect.zipLeft(ping),
      turn.withPermits(1)
    )
  })
