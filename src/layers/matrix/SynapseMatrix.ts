// The port to the homeserver over a real one: each operation as one or a few requests of a namespaced user. Reads go over
// the bounded exchange, writes through the Matrix SDK. It stores nothing and retries nothing.
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { Preset } from "matrix-js-sdk/lib/@types/partials.js"
import { Method } from "matrix-js-sdk/lib/http-api/method.js"
import { EventId, RoomId, type StreamToken, UserId } from "../../domain/Ids.ts"
import { MatrixEvent } from "../../domain/MatrixEvent.ts"
import { controlUser } from "../../domain/SystemUsers.ts"
import { HomeserverUnavailable, Matrix, type MatrixError, MatrixRefused } from "../../services/Matrix.ts"
import * as AccountStatus from "./AccountStatus.ts"
import * as AccountSync from "./AccountSync.ts"
import { coalesced } from "./Boundary.ts"
import * as ControlRoom from "./ControlRoom.ts"
import * as HomeserverHttp from "./HomeserverHttp.ts"
import { type HomeserverAccess, make as makeMasquerade, pathOf } from "./Masquerade.ts"
import * as NamespacedUser from "./NamespacedUser.ts"
import * as TimelinePage from "./TimelinePage.ts"
import { wellFormedContent } from "./WellFormed.ts"

const client = ["_matrix", "client", "v3"]

const Joined = Schema.Struct({ joined_rooms: Schema.Array(RoomId) })
const StateContent = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const MemberEvents = Schema.Struct({
  chunk: Schema.Array(Schema.Struct({
    state_key: Schema.String,
    content: Schema.Struct({ membership: Schema.Unknown, displayname: Schema.optional(Schema.Unknown) })
  }))
})
/** A member whose ID is not of our shape (a bridge's, an old server's) is nobody that anything is decided about. */
const isUserId = Schema.is(UserId)

const Sent = Schema.Struct({ event_id: EventId })
const Created = Schema.Struct({ room_id: RoomId })
const Uploaded = Schema.Struct({ content_uri: Schema.String.pipe(Schema.startsWith("mxc://")) })

/** What the SDK hands back is as the homeserver sent it. */
const checked = <A, I>(operation: string, schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(schema)
  return (answer: unknown) =>
    Effect.mapError(decode(answer), () => new HomeserverUnavailable({ operation, status: 200 }))
}

export const make = (
  access: HomeserverAccess
): Effect.Effect<Context.Tag.Service<typeof Matrix>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const http = yield* HomeserverHttp.make
    const masquerade = makeMasquerade(http, access)
    const { getJson, withClient } = masquerade
    const sync = AccountSync.make(masquerade)

    const ensureUser = (user: UserId, displayName: string) => NamespacedUser.ensure(masquerade, user, displayName)

    /** Made at the first need of a process, and again where the homeserver no longer knows it (it was restored). */
    let controlReady = false
    const control = controlUser(access.serverName)
    const asControl = <A>(effect: Effect.Effect<A, MatrixError>): Effect.Effect<A, MatrixError> => {
      const prepared = Effect.suspend(() => controlReady ? Effect.void : ensureUser(control, ControlRoom.controlName))
        .pipe(
          Effect.tap(() => Effect.sync(() => controlReady = true)),
          Effect.zipRight(effect)
        )
      return Effect.catchTag(prepared, "MatrixRefused", (refused) => {
        if (!controlReady) return Effect.fail(refused)
        controlReady = false
        return prepared
      })
    }

    const joinedRooms = (as: UserId): Effect.Effect<ReadonlyArray<RoomId>, MatrixError> =>
      getJson("list rooms", as, [...client, "joined_rooms"], {}, Joined).pipe(
        Effect.map(({ joined_rooms }) => joined_rooms)
      )

    const state = (as: UserId, roomId: RoomId, type: string, stateKey: string) =>
      getJson("read state", as, [...client, "rooms", roomId, "state", type, stateKey], {}, StateContent).pipe(
        Effect.catchIf(
          (error) => error._tag === "MatrixRefused" && error.status === 404 && error.errcode === "M_NOT_FOUND",
          () => Effect.succeed(null)
        )
      )

    const accountState = AccountStatus.make(masquerade, control)
    const boundary = yield* coalesced<StreamToken, MatrixError>(asControl(sync.token(control)))
    const beat = yield* ControlRoom.make(masquerade, { joinedRooms, state })

    return {
      serverName: access.serverName,
      ensureUser,
      join: (as, roomId) => Effect.asVoid(withClient("join", as, (sdk) => sdk.joinRoom(roomId))),
      leave: (as, roomId) =>
        Effect.asVoid(withClient("leave", as, (sdk) => sdk.leave(roomId))).pipe(
          Effect.catchTag("MatrixRefused", (refused) =>
            // Never in that room, or it is unknown: what was asked for holds already.
            Effect.flatMap(joinedRooms(as), (rooms) => rooms.includes(roomId) ? Effect.fail(refused) : Effect.void))
        ),
      createDirectRoom: (as, invite, name) =>
        withClient("make a direct chat", as, (sdk) =>
          sdk.createRoom({
            is_direct: true,
            preset: Preset.TrustedPrivateChat,
            invite: [invite],
            name: name.toWellFormed()
          })).pipe(
            Effect.flatMap(checked("make a direct chat", Created)),
            Effect.map(({ room_id }) => room_id)
          ),
      send: ({ as, content, roomId, transactionId, type }) => {
        const operation = "send"
        const path = pathOf(["rooms", roomId, "send", type, transactionId])
        if (path === null) return Effect.fail(new MatrixRefused({ operation, status: 400, errcode: "M_INVALID_PARAM" }))
        return withClient(operation, as, (sdk) =>
          sdk.http.authedRequest(Method.Put, path, undefined, wellFormedContent(content))).pipe(
            Effect.flatMap(checked(operation, Sent)),
            Effect.map(({ event_id }) =>
              event_id
            )
          )
      },
      redact: ({ as, eventId, roomId, transactionId }) => {
        const operation = "redact"
        const path = pathOf(["rooms", roomId, "redact", eventId, transactionId])
        if (path === null) return Effect.fail(new MatrixRefused({ operation, status: 400, errcode: "M_INVALID_PARAM" }))
        return withClient(operation, as, (sdk) => sdk.http.authedRequest(Method.Put, path, undefined, {})).pipe(
          Effect.flatMap(checked(operation, Sent)),
          Effect.map(({ event_id }) => event_id)
        )
      },
      accountState: (user) => asControl(accountState(user)),
      upload: (as, { bytes, mediaType, name }) =>
        withClient("upload", as, (sdk) =>
          // Over its own memory: the SDK's types take no view of a shared one.
          sdk.uploadContent(new Uint8Array(bytes), { name: name.toWellFormed(), type: mediaType })).pipe(
            Effect.flatMap(checked("upload", Uploaded)),
            Effect.map(({ content_uri }) => content_uri)
          ),
      typing: (as, roomId, timeoutMillis) =>
        Effect.asVoid(
          withClient("typing", as, (sdk) => sdk.sendTyping(roomId, timeoutMillis !== null, timeoutMillis ?? 0))
        ),
      boundary,
      page: (request) => TimelinePage.read(http, masquerade, request),
      event: (as, roomId, eventId) =>
        getJson("read an event", as, [...client, "rooms", roomId, "event", eventId], {}, MatrixEvent),
      state,
      members: (as, roomId) =>
        getJson("list members", as, [...client, "rooms", roomId, "members"], { not_membership: "leave" }, MemberEvents)
          .pipe(Effect.map(({ chunk }) =>
            chunk.flatMap(({ content: { displayname, membership }, state_key }) =>
              isUserId(state_key) && (membership === "join" || membership === "invite")
                ? [{ userId: state_key, membership, displayName: typeof displayname === "string" ? displayname : null }]
                : []
            )
          )),
      joinedRooms,
      invitations: sync.invitations,
      nudge: asControl(beat)
    }
  })

export const layer = (access: HomeserverAccess): Layer.Layer<Matrix> => Layer.scoped(Matrix, make(access))
