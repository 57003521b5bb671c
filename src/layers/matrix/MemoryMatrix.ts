// The homeserver's port in memory, for tests and the simulation: it passes the same contract suite as the real one. Beside
// the port it gives what people do, the pushes, and hooks to fail any operation before or after it took effect.
import { type Context, Effect, Layer } from "effect"
import { EventId, RoomId, StreamToken, type UserId } from "../../domain/Ids.ts"
import { controlKey } from "../../domain/MatrixEvent.ts"
import { controlUser } from "../../domain/SystemUsers.ts"
import { Matrix, type MatrixError, PageFailed, type PageRequest } from "../../services/Matrix.ts"
import type { PushedEvent } from "./ApplicationServicePush.ts"
import { heartbeatType } from "./ControlRoom.ts"
import * as MemoryHomeserver from "./MemoryHomeserver.ts"
import * as MemoryPeople from "./MemoryPeople.ts"
import * as MemoryRoom from "./MemoryRoom.ts"
import { wellFormedContent } from "./WellFormed.ts"

/** The port's operation, by its name. */
export type Operation = Exclude<keyof Context.Tag.Service<typeof Matrix>, "serverName">

export interface MemoryMatrixConfig {
  readonly serverName: string
  /** Runs before an operation takes effect: its failure is the operation's. */
  readonly before?: (operation: Operation) => Effect.Effect<void, MatrixError>
  /** Runs after an operation took effect: its failure is an answer that got lost. */
  readonly after?: (operation: Operation) => Effect.Effect<void, MatrixError>
  /** Runs before a page is read, after `before`. */
  readonly beforePage?: (request: PageRequest) => Effect.Effect<void, MatrixError | PageFailed>
}

export interface MemoryMatrix {
  readonly matrix: Context.Tag.Service<typeof Matrix>
  readonly human: MemoryPeople.People
  /** Called with each event that the homeserver would push, inside the operation that stored it, in that order. */
  readonly onPush: (callback: (event: PushedEvent) => Effect.Effect<void>) => Effect.Effect<void>
  /** Who is shown as typing, as `room user`. */
  readonly typing: Effect.Effect<ReadonlySet<string>>
  readonly uploaded: (address: string) => Effect.Effect<Uint8Array | null>
  /** Everything that stands in a room, as the homeserver stored it; empty where there is no such room. */
  readonly timeline: (roomId: RoomId) => Effect.Effect<ReadonlyArray<MemoryRoom.StoredEvent>>
  /** Remembers everything stored. Running what it gives brings that back, as a homeserver restored from a backup. */
  readonly checkpoint: Effect.Effect<Effect.Effect<void>>
}

export const make = (config: MemoryMatrixConfig): Effect.Effect<MemoryMatrix> =>
  Effect.sync(() => {
    const homeserver = MemoryHomeserver.make(config.serverName)
    const { refused } = homeserver
    const typing = new Set<string>()
    const control = controlUser(config.serverName)

    const hooked = <A, E>(operation: Operation, effect: Effect.Effect<A, E>): Effect.Effect<A, E | MatrixError> =>
      Effect.suspend(() => config.before?.(operation) ?? Effect.void).pipe(
        Effect.zipRight(effect),
        Effect.zipLeft(Effect.suspend(() => config.after?.(operation) ?? Effect.void))
      )
    /** As a user of ours that was made; the real one refuses any other, the first with the same error. */
    const acting = <A, E>(operation: Operation, as: UserId, effect: Effect.Effect<A, E>) =>
      hooked(
        operation,
        Effect.suspend((): Effect.Effect<A, E | MatrixError> =>
          homeserver.ours(as) && homeserver.stored.displayNames.has(as)
            ? effect
            : Effect.fail(refused(operation, 403, "M_FORBIDDEN"))
        )
      )

    const rename = (user: UserId, displayName: string) =>
      Effect.gen(function*() {
        if (homeserver.stored.displayNames.get(user) === displayName) return
        homeserver.stored.displayNames.set(user, displayName)
        for (const room of homeserver.stored.rooms.values()) {
          if (MemoryRoom.membershipOf(room, user) === "join") {
            yield* homeserver.setMembership(room, user, user, "join")
          }
        }
      })

    const page = (request: PageRequest) =>
      Effect.gen(function*() {
        yield* Effect.suspend(() => config.beforePage?.(request) ?? Effect.void)
        const room = yield* homeserver.room("page", request.roomId)
        if (!MemoryRoom.mayRead(room, request.as)) return yield* refused("page", 403, "M_FORBIDDEN")
        const from = MemoryRoom.readPosition(request.from)
        const to = request.to === null ? null : MemoryRoom.readPosition(request.to)
        if (from === null || (to === null && request.to !== null)) {
          return yield* refused("page", 400, "M_UNKNOWN")
        }
        const slice = MemoryRoom.slice(room, from, to, request.direction, Math.min(request.limit, 1000))
        const events = slice.events
          .filter((event) => MemoryRoom.isVisible(room, request.as, event, room.memberships.has(request.as)))
          .map((event) => MemoryRoom.shown(room, event))
        if (MemoryHomeserver.jsonBytes(events) > request.maxBytes) {
          const { limit, roomId } = request
          return yield* new PageFailed({ roomId, reason: "too-large", limit, eventId: null })
        }
        return { events, end: slice.end === null ? null : StreamToken.make(slice.end) }
      })

    const nudge = Effect.gen(function*() {
      if (!homeserver.stored.displayNames.has(control)) yield* rename(control, "crossfire control")
      const rooms = [...homeserver.stored.rooms.values()]
      const known = rooms.find((room) => MemoryRoom.stateEvent(room, heartbeatType, "")?.sender === control)?.id
      const roomId = known ?? (yield* homeserver.createRoom(control, {
        ...MemoryHomeserver.privateRoom,
        state: [[heartbeatType, { count: 0, [controlKey]: "heartbeat" }]]
      }))
      const room = yield* homeserver.room("nudge", roomId)
      const count = MemoryRoom.stateEvent(room, heartbeatType, "")?.content["count"]
      const found = typeof count === "number" ? count : 0
      const content = { count: found + 1, [controlKey]: "heartbeat" }
      yield* homeserver.send(control, roomId, { type: heartbeatType, stateKey: "", content })
      return { found, written: found + 1 }
    })

    /**
     * One event per transaction ID, by two memories (seen): of the address, whoever asks, and of the sender's device in that
     * room, whatever is asked. The first event is answered again to one who is no longer in the room, too.
     */
    const once = <E>(
      as: UserId,
      roomId: RoomId,
      address: string,
      transactionId: string,
      event: Effect.Effect<EventId, E>
    ) =>
      Effect.suspend(() => {
        const { transactions } = homeserver.stored
        const keys = [[roomId, address, transactionId], [roomId, as, transactionId]].map((key) => key.join("\0"))
        const before = keys.map((key) => transactions.get(key)).find((known) => known !== undefined)
        if (before !== undefined) return Effect.succeed(before)
        return Effect.tap(event, (made) => Effect.sync(() => keys.forEach((key) => transactions.set(key, made))))
      })

    const matrix: MemoryMatrix["matrix"] = {
      serverName: config.serverName,
      ensureUser: (user, displayName) =>
        hooked(
          "ensureUser",
          homeserver.ours(user)
            ? rename(user, displayName)
            : Effect.fail(refused("ensureUser", 403, "M_EXCLUSIVE"))
        ),
      join: (as, roomId) => acting("join", as, Effect.asVoid(homeserver.join(as, roomId))),
      leave: (as, roomId) => acting("leave", as, Effect.asVoid(homeserver.leave(as, roomId))),
      createDirectRoom: (as, invite, name) =>
        acting(
          "createDirectRoom",
          as,
          homeserver.createRoom(as, {
            ...MemoryHomeserver.privateRoom,
            name,
            invite: [invite],
            isDirect: true,
            additionalCreators: [invite]
          })
        ),
      send: ({ as, content, roomId, transactionId, type }) =>
        acting(
          "send",
          as,
          once(
            as,
            roomId,
            type,
            transactionId,
            Effect.suspend(() => homeserver.send(as, roomId, { type, content: wellFormedContent(content) }))
          )
        ),
      redact: ({ as, eventId, roomId, transactionId }) =>
        acting(
          "redact",
          as,
          once(as, roomId, `redact ${eventId}`, transactionId, homeserver.redact(as, roomId, eventId))
        ),
      accountState: (user) => hooked("accountState", Effect.sync(() => homeserver.accountState(user))),
      upload: (as, { bytes }) =>
        acting(
          "upload",
          as,
          Effect.sync(() => {
            homeserver.stored.mediaCount += 1
            const address = `mxc://${config.serverName}/media${homeserver.stored.mediaCount}`
            homeserver.stored.media.set(address, bytes.slice())
            return address
          })
        ),
      typing: (as, roomId, timeoutMillis) =>
        acting(
          "typing",
          as,
          Effect.flatMap(homeserver.member("typing", as, roomId), () =>
            Effect.sync(() => {
              if (timeoutMillis === null) typing.delete(`${roomId} ${as}`)
              else typing.add(`${roomId} ${as}`)
            }))
        ),
      boundary: hooked("boundary", Effect.sync(() => StreamToken.make(`s${homeserver.stored.stream}`))),
      page: (request) => acting("page", request.as, page(request)),
      event: (as, roomId, eventId) =>
        acting(
          "event",
          as,
          Effect.suspend(() => {
            const room = homeserver.stored.rooms.get(roomId)
            const found = room?.events.find((event) => event.eventId === eventId)
            if (room === undefined || found === undefined) return Effect.fail(refused("event", 404, "M_NOT_FOUND"))
            const present = MemoryRoom.membershipOf(room, as) === "join"
            return MemoryRoom.isVisible(room, as, found, present)
              ? Effect.succeed(MemoryRoom.shown(room, found))
              : Effect.fail(refused("event", 404, "M_NOT_FOUND"))
          })
        ),
      state: (as, roomId, type, stateKey) =>
        acting(
          "state",
          as,
          Effect.map(
            homeserver.member("state", as, roomId),
            (room) => MemoryRoom.stateEvent(room, type, stateKey)?.content ?? null
          )
        ),
      members: (as, roomId) =>
        acting(
          "members",
          as,
          Effect.map(homeserver.member("members", as, roomId), (room) =>
            (["join", "invite"] as const).flatMap((membership) =>
              MemoryRoom.withMembership(room, membership).map((userId) => {
                const name = MemoryRoom.stateEvent(room, "m.room.member", userId)?.content["displayname"]
                return { userId, membership, displayName: typeof name === "string" ? name : null }
              })
            ))
        ),
      joinedRooms: (as) =>
        acting(
          "joinedRooms",
          as,
          Effect.sync(() =>
            [...homeserver.stored.rooms.values()].filter((room) => MemoryRoom.membershipOf(room, as) === "join").map((
              { id }
            ) => id)
          )
        ),
      invitations: (as) =>
        acting(
          "invitations",
          as,
          Effect.sync(() =>
            [...homeserver.stored.rooms.values()].flatMap((room) => {
              const own = MemoryRoom.stateEvent(room, "m.room.member", as)
              if (own === null || MemoryRoom.membershipOf(room, as) !== "invite") return []
              const encrypted = MemoryRoom.stateEvent(room, "m.room.encryption", "") !== null
              return [{
                roomId: room.id,
                inviter: own.sender,
                isDirect: own.content["is_direct"] === true,
                encrypted
              }]
            })
          )
        ),
      nudge: hooked("nudge", nudge)
    }

    return {
      matrix,
      human: MemoryPeople.make(homeserver),
      onPush: (callback) => Effect.sync(() => void homeserver.listeners.push(callback)),
      typing: Effect.sync(() => new Set(typing)),
      uploaded: (address) => Effect.sync(() => homeserver.stored.media.get(address) ?? null),
      timeline: (roomId) => Effect.sync(() => homeserver.stored.rooms.get(roomId)?.events ?? []),
      checkpoint: homeserver.checkpoint
    }
  })

export const layer = (config: MemoryMatrixConfig): Layer.Layer<Matrix> =>
  Layer.effect(Matrix, Effect.map(make(config), ({ matrix }) => matrix))
