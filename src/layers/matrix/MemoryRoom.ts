// One room of the homeserver in memory: its events in two orders as the real one has them, memberships, what a user may
// see, redaction, and paging by both kinds of token. Plain data and pure rules; no user registry, no pushes.
import { Schema } from "effect"
import { type EventId, type RoomId, UserId } from "../../domain/Ids.ts"
import { MatrixEvent } from "../../domain/MatrixEvent.ts"

export type HistoryVisibility = "world_readable" | "shared" | "invited" | "joined"
export type Membership = "join" | "invite" | "leave"

export interface StoredEvent {
  readonly eventId: EventId
  readonly type: string
  readonly sender: UserId
  readonly stateKey: string | null
  readonly content: Readonly<Record<string, unknown>>
  /** Its place in the server-wide order of storing. */
  readonly stream: number
  /** Its place in the room's own order; two events may share one, and a later stored event may have a lower one. */
  readonly depth: number
  readonly visibility: HistoryVisibility
  readonly redacts: EventId | null
  redactedBy: EventId | null
}

export interface Room {
  readonly id: RoomId
  /** Who has power over others there. */
  readonly creators: ReadonlyArray<UserId>
  readonly isPublic: boolean
  /** In the order of storing. */
  readonly events: Array<StoredEvent>
  /** Current state by type and state key: the place in `events`. */
  readonly state: Map<string, number>
  readonly memberships: Map<UserId, Array<{ readonly stream: number; readonly membership: Membership }>>
  maxDepth: number
}

export const emptyRoom = (id: RoomId, creators: ReadonlyArray<UserId>, isPublic: boolean): Room => ({
  id,
  creators,
  isPublic,
  events: [],
  state: new Map(),
  memberships: new Map(),
  maxDepth: 0
})

const isUserId = Schema.is(UserId)
const stateName = (type: string, stateKey: string) => `${type}\0${stateKey}`

export const stateEvent = (room: Room, type: string, stateKey: string): StoredEvent | null =>
  room.events[room.state.get(stateName(type, stateKey)) ?? -1] ?? null

export const membershipOf = (room: Room, user: UserId): Membership | null =>
  room.memberships.get(user)?.at(-1)?.membership ?? null

/** Who has a membership of that kind now, in the order of their first one. */
export const withMembership = (room: Room, membership: Membership): ReadonlyArray<UserId> =>
  [...room.memberships.keys()].filter((user) => membershipOf(room, user) === membership)

const readVisibility = (room: Room): HistoryVisibility => {
  const set = stateEvent(room, "m.room.history_visibility", "")?.content["history_visibility"]
  return set === "world_readable" || set === "invited" || set === "joined" ? set : "shared"
}

const readMembership = (content: Readonly<Record<string, unknown>>): Membership =>
  content["membership"] === "join" || content["membership"] === "invite" ? content["membership"] : "leave"

export interface NewEvent {
  readonly eventId: EventId
  readonly type: string
  readonly sender: UserId
  readonly stateKey: string | null
  readonly content: Readonly<Record<string, unknown>>
  readonly stream: number
  /** How far behind the room's depth it stands, as an event of a concurrent writer does. */
  readonly depthLag: number
  readonly redacts: EventId | null
}

/** Stores the event: its depth, its effect on state, membership and what it redacts. */
export const append = (room: Room, { depthLag, ...event }: NewEvent): StoredEvent => {
  const depth = Math.max(1, room.maxDepth + 1 - depthLag)
  const stored: StoredEvent = { ...event, depth, visibility: readVisibility(room), redactedBy: null }
  room.maxDepth = Math.max(room.maxDepth, depth)
  room.events.push(stored)
  if (event.stateKey !== null) room.state.set(stateName(event.type, event.stateKey), room.events.length - 1)
  const user = event.stateKey
  if (event.type === "m.room.member" && isUserId(user)) {
    const before = room.memberships.get(user) ?? []
    room.memberships.set(user, [...before, { stream: event.stream, membership: readMembership(event.content) }])
  }
  const redacted = room.events.find(({ eventId }) => eventId === event.redacts)
  if (redacted !== undefined) redacted.redactedBy = event.eventId
  return stored
}

/** As the homeserver shows it: a redacted event has lost its content and says by what. */
export const shown = (room: Room, event: StoredEvent): MatrixEvent => {
  const redacted = event.redactedBy !== null
  const kept = redacted && event.type === "m.room.member" ? { membership: event.content["membership"] } : {}
  return MatrixEvent.make({
    event_id: event.eventId,
    room_id: room.id,
    type: event.type,
    sender: event.sender,
    // No clock: the place in the stream says as much as a sender's time does.
    origin_server_ts: event.stream,
    content: redacted ? kept : event.content,
    ...event.stateKey === null ? {} : { state_key: event.stateKey },
    ...event.redacts === null ? {} : { redacts: event.redacts },
    ...redacted ? { unsigned: { redacted_because: { event_id: event.redactedBy } } } : {}
  })
}

/**
 * Whether the homeserver lets that user read in the room now. As the real one: not who is only invited, but everyone who
 * left, was removed or declined.
 */
export const mayRead = (room: Room, user: UserId): boolean => {
  const now = membershipOf(room, user)
  return readVisibility(room) === "world_readable" || now === "join" || now === "leave"
}

/**
 * Whether the user sees that event: where history is shared whoever counts as `present`, else by the membership when it
 * was stored.
 */
export const isVisible = (room: Room, user: UserId, event: StoredEvent, present: boolean): boolean => {
  if (event.visibility === "world_readable" || (event.visibility === "shared" && present)) return true
  if (event.type === "m.room.member" && event.stateKey === user) return true
  const then = room.memberships.get(user)?.findLast(({ stream }) => stream <= event.stream)?.membership
  return then === "join" || (event.visibility === "invited" && then === "invite")
}

/** A place between events: by stream alone (`s`), or by depth and then stream (`t`). */
export type Position =
  | { readonly _tag: "Stream"; readonly stream: number }
  | { readonly _tag: "Topological"; readonly depth: number; readonly stream: number }

export const readPosition = (token: string): Position | null => {
  const stream = /^s(\d+)$/u.exec(token)
  if (stream !== null) return { _tag: "Stream", stream: Number(stream[1]) }
  const topological = /^t(\d+)-(-?\d+)$/u.exec(token)
  if (topological === null) return null
  return { _tag: "Topological", depth: Number(topological[1]), stream: Number(topological[2]) }
}

const isAfter = (event: StoredEvent, position: Position): boolean =>
  position._tag === "Stream" || event.depth === position.depth
    ? event.stream > position.stream
    : event.depth > position.depth

export interface Slice {
  readonly events: ReadonlyArray<StoredEvent>
  readonly end: string | null
}

/**
 * One page in the room's own order. A `t` token bounds by depth, and so forgets the stream bound that the window began
 * with: inside a window, what stands before the window may come again. Like the real one.
 */
export const slice = (
  room: Room,
  from: Position,
  to: Position | null,
  direction: "forward" | "backward",
  limit: number
): Slice => {
  const forward = direction === "forward"
  const [lower, upper] = forward ? [from, to] : [to, from]
  const rows = room.events
    .filter((event) => (lower === null || isAfter(event, lower)) && (upper === null || !isAfter(event, upper)))
    .toSorted((a, b) => (forward ? 1 : -1) * (a.depth - b.depth || a.stream - b.stream))
  const taken = rows.slice(0, limit)
  const last = taken.at(-1)
  if (last === undefined) return { events: [], end: null }
  return { events: taken, end: `t${last.depth}-${forward ? last.stream : last.stream - 1}` }
}
