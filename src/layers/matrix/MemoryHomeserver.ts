// A homeserver in memory: users, rooms, one server-wide stream, transaction IDs, media, pushes. It has no clock and no
// chance in it. It throws nothing: a refusal is a value.
import { Effect, Schema } from "effect"
import { EventId, RoomId, type UserId } from "../../domain/Ids.ts"
import { type AccountState, MatrixRefused, namespacePrefix } from "../../services/Matrix.ts"
import { isPushed, type PushedEvent } from "./ApplicationServicePush.ts"
import * as MemoryRoom from "./MemoryRoom.ts"

/** Everything that a restore brings back. */
export interface Stored {
  stream: number
  roomCount: number
  mediaCount: number
  readonly displayNames: Map<UserId, string>
  /** People who did anything or signed up; false once they were deactivated. */
  readonly accounts: Map<UserId, boolean>
  readonly rooms: Map<RoomId, MemoryRoom.Room>
  readonly transactions: Map<string, EventId>
  readonly media: Map<string, Uint8Array>
}

export interface EventToStore {
  readonly type: string
  readonly content: Readonly<Record<string, unknown>>
  readonly stateKey?: string
  readonly depthLag?: number
  readonly redacts?: EventId
}

export interface NewRoom {
  readonly name: string | null
  readonly invite: ReadonlyArray<UserId>
  readonly isDirect: boolean
  readonly encrypted: boolean
  readonly isPublic: boolean
  readonly visibility: MemoryRoom.HistoryVisibility
  readonly additionalCreators: ReadonlyArray<UserId>
  readonly state: ReadonlyArray<readonly [type: string, content: Readonly<Record<string, unknown>>]>
}

export const privateRoom: NewRoom = {
  name: null,
  invite: [],
  isDirect: false,
  encrypted: false,
  isPublic: false,
  visibility: "shared",
  additionalCreators: [],
  state: []
}

/** Synapse's own limit on an event's canonical form, less what an event carries beside its content. */
const maxContentBytes = 65_000

const text = Schema.encodeSync(Schema.parseJson(Schema.Unknown))
export const jsonBytes = (value: unknown): number => Buffer.byteLength(text(value))

export const isOurs = (serverName: string) => (user: string): boolean =>
  user.startsWith(`@${namespacePrefix}`) && user.endsWith(`:${serverName}`)

const empty = (): Stored => ({
  stream: 0,
  roomCount: 0,
  mediaCount: 0,
  displayNames: new Map(),
  accounts: new Map(),
  rooms: new Map(),
  transactions: new Map(),
  media: new Map()
})

export const make = (serverName: string) => {
  let stored = empty()
  const listeners: Array<(event: PushedEvent) => Effect.Effect<void>> = []
  const ours = isOurs(serverName)

  const refused = (operation: string, status: number, errcode: string) =>
    new MatrixRefused({ operation, status, errcode })
  const forbidden = (operation: string) => Effect.fail(refused(operation, 403, "M_FORBIDDEN"))

  const room = (operation: string, roomId: RoomId) =>
    Effect.suspend(() => {
      const found = stored.rooms.get(roomId)
      return found === undefined ? forbidden(operation) : Effect.succeed(found)
    })
  const member = (operation: string, user: UserId, roomId: RoomId) =>
    Effect.filterOrFail(
      room(operation, roomId),
      (found) => MemoryRoom.membershipOf(found, user) === "join",
      () => refused(operation, 403, "M_FORBIDDEN")
    )

  /** Of rooms in which a user of ours takes part or is invited, and of what happens to one of ours. */
  const concernsOurs = (in_: MemoryRoom.Room, event: MemoryRoom.StoredEvent) =>
    (event.type === "m.room.member" && event.stateKey !== null && ours(event.stateKey)) ||
    [...in_.memberships.keys()].some((user) => ours(user) && MemoryRoom.membershipOf(in_, user) !== "leave")

  const append = (in_: MemoryRoom.Room, sender: UserId, event: EventToStore) =>
    Effect.suspend(() => {
      stored.stream += 1
      const kept = MemoryRoom.append(in_, {
        eventId: EventId.make(`$event${stored.stream}`),
        type: event.type,
        sender,
        stateKey: event.stateKey ?? null,
        content: structuredClone(event.content),
        stream: stored.stream,
        depthLag: event.depthLag ?? 0,
        redacts: event.redacts ?? null
      })
      const shown = MemoryRoom.shown(in_, kept)
      if (!concernsOurs(in_, kept) || !isPushed(shown)) return Effect.succeed(kept.eventId)
      return Effect.as(Effect.forEach(listeners, (listener) => listener(shown), { discard: true }), kept.eventId)
    })

  const setMembership = (
    in_: MemoryRoom.Room,
    sender: UserId,
    user: UserId,
    membership: MemoryRoom.Membership,
    isDirect = false
  ) => {
    const displayname = stored.displayNames.get(user) ?? (ours(user) ? undefined : user.slice(1, user.indexOf(":")))
    const content = {
      membership,
      ...membership === "leave" || displayname === undefined ? {} : { displayname },
      ...isDirect ? { is_direct: true } : {}
    }
    return append(in_, sender, { type: "m.room.member", stateKey: user, content })
  }

  const createRoom = (creator: UserId, wanted: NewRoom) =>
    Effect.gen(function*() {
      stored.roomCount += 1
      const id = RoomId.make(`!room${stored.roomCount}`)
      const made = MemoryRoom.emptyRoom(id, [creator, ...wanted.additionalCreators], wanted.isPublic)
      stored.rooms.set(id, made)
      const set = (type: string, content: Readonly<Record<string, unknown>>) =>
        append(made, creator, { type, stateKey: "", content })
      yield* set("m.room.create", { room_version: "12" })
      yield* setMembership(made, creator, creator, "join")
      yield* set("m.room.power_levels", { invite: 0 })
      yield* set("m.room.join_rules", { join_rule: wanted.isPublic ? "public" : "invite" })
      yield* set("m.room.history_visibility", { history_visibility: wanted.visibility })
      if (wanted.encrypted) yield* set("m.room.encryption", { algorithm: "m.megolm.v1.aes-sha2" })
      for (const [type, content] of wanted.state) yield* set(type, content)
      if (wanted.name !== null) yield* set("m.room.name", { name: wanted.name })
      for (const user of wanted.invite) yield* setMembership(made, creator, user, "invite", wanted.isDirect)
      return id
    })

  const join = (user: UserId, roomId: RoomId) =>
    Effect.flatMap(room("join", roomId), (found) => {
      const now = MemoryRoom.membershipOf(found, user)
      if (now === "join") return Effect.void
      return now === "invite" || found.isPublic ? setMembership(found, user, user, "join") : forbidden("join")
    })

  const leave = (user: UserId, roomId: RoomId) =>
    Effect.suspend(() => {
      const found = stored.rooms.get(roomId)
      const now = found === undefined ? null : MemoryRoom.membershipOf(found, user)
      return found === undefined || now === null || now === "leave"
        ? Effect.void
        : setMembership(found, user, user, "leave")
    })

  const invite = (by: UserId, roomId: RoomId, user: UserId) =>
    Effect.flatMap(
      member("invite", by, roomId),
      (found) =>
        MemoryRoom.membershipOf(found, user) === "join" ? forbidden("invite") : setMembership(found, by, user, "invite")
    )

  const kick = (by: UserId, roomId: RoomId, user: UserId) =>
    Effect.flatMap(member("kick", by, roomId), (found) =>
      found.creators.includes(by) && !found.creators.includes(user)
        ? setMembership(found, by, user, "leave")
        : forbidden("kick"))

  const send = (user: UserId, roomId: RoomId, event: EventToStore) =>
    Effect.flatMap(member("send", user, roomId), (found) => {
      if (event.stateKey !== undefined && !found.creators.includes(user)) return forbidden("send")
      return jsonBytes(event.content) > maxContentBytes
        ? Effect.fail(refused("send", 413, "M_TOO_LARGE"))
        : append(found, user, event)
    })

  const redact = (user: UserId, roomId: RoomId, redacts: EventId) =>
    Effect.flatMap(member("redact", user, roomId), (found) => {
      const event = found.events.find(({ eventId }) => eventId === redacts)
      if (event === undefined) return Effect.fail(refused("redact", 404, "M_NOT_FOUND"))
      return event.sender === user || found.creators.includes(user)
        ? append(found, user, { type: "m.room.redaction", content: { redacts }, redacts })
        : forbidden("redact")
    })

  const register = (user: UserId) =>
    Effect.sync(() => {
      if (!stored.accounts.has(user)) stored.accounts.set(user, true)
    })

  const accountState = (user: UserId): AccountState => {
    const active = ours(user) ? stored.displayNames.has(user) || undefined : stored.accounts.get(user)
    if (active === undefined) return "unknown"
    return active ? "stands" : "deactivated"
  }

  /** As the real one: invitations are declined and rooms left by it, and nothing else tells. */
  const deactivate = (user: UserId) =>
    Effect.suspend(() => {
      stored.accounts.set(user, false)
      const standing = [...stored.rooms.values()].filter((in_) => {
        const now = MemoryRoom.membershipOf(in_, user)
        return now === "join" || now === "invite"
      })
      return Effect.forEach(standing, (in_) => leave(user, in_.id), { discard: true })
    })

  /** A copy of everything stored; running what it gives goes back to it, as a restored backup does. */
  const checkpoint = Effect.sync(() => {
    const copy = structuredClone(stored)
    return Effect.sync(() => {
      stored = structuredClone(copy)
    })
  })

  return {
    serverName,
    ours,
    listeners,
    get stored(): Stored {
      return stored
    },
    refused,
    room,
    member,
    append,
    setMembership,
    createRoom,
    join,
    leave,
    invite,
    kick,
    send,
    redact,
    register,
    deactivate,
    accountState,
    checkpoint
  }
}

export type MemoryHomeserver = ReturnType<typeof make>
