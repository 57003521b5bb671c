// The port to the homeserver: acting as any user of crossfire's own namespace, reading rooms, and the boundary token.
// It decides nothing and stores nothing. Twins: the real homeserver and one in memory pass the same contract suite.
import { Context, type Effect, Schema } from "effect"
import { EventId, RoomId, StreamToken, UserId } from "../domain/Ids.ts"
import type { MatrixEvent } from "../domain/MatrixEvent.ts"

/** No usable answer: connection refused, deadline passed, 5xx, or a body that is not Matrix JSON. Worth a retry. */
export class HomeserverUnavailable extends Schema.TaggedError<HomeserverUnavailable>()("HomeserverUnavailable", {
  operation: Schema.String,
  status: Schema.NullOr(Schema.Int)
}) {
  override get message(): string {
    return `The homeserver gave no usable answer to "${this.operation}" (${this.status ?? "no connection"})`
  }
}

/** The homeserver asked to wait. `retryAfterMillis` is its own figure, or a default where it named none. */
export class HomeserverBusy extends Schema.TaggedError<HomeserverBusy>()("HomeserverBusy", {
  operation: Schema.String,
  retryAfterMillis: Schema.Int
}) {}

/** A 4xx that another try will not change. `errcode` is Matrix's own (`M_FORBIDDEN`, `M_TOO_LARGE`, …). */
export class MatrixRefused extends Schema.TaggedError<MatrixRefused>()("MatrixRefused", {
  operation: Schema.String,
  status: Schema.Int,
  errcode: Schema.String
}) {
  override get message(): string {
    return `The homeserver refused "${this.operation}": ${this.errcode} (${this.status})`
  }
}

/**
 * A page that cannot be taken: over the byte bound, malformed, or one whose end equals its start. One unreadable event
 * fails its whole page and is named where its ID can be read: nothing is left out silently.
 */
export class PageFailed extends Schema.TaggedError<PageFailed>()("PageFailed", {
  roomId: RoomId,
  reason: Schema.Literal("too-large", "malformed", "not-advancing"),
  limit: Schema.Int,
  eventId: Schema.NullOr(Schema.String)
}) {
  override get message(): string {
    const named = this.eventId === null ? "" : ` (event ${this.eventId})`
    return `A page of ${this.limit} events of ${this.roomId} cannot be used: ${this.reason}${named}`
  }
}

export type MatrixError = HomeserverUnavailable | HomeserverBusy | MatrixRefused

/** The counter in the private control room. `found` below what was last written means the homeserver went back in time. */
export interface Heartbeat {
  /** What stood there before this call; 0 where there was none. */
  readonly found: number
  /** What stands there now. */
  readonly written: number
}

export interface PageRequest {
  /** The member who reads. */
  readonly as: UserId
  readonly roomId: RoomId
  readonly from: StreamToken
  /** The window's end; null only when reading backwards. */
  readonly to: StreamToken | null
  readonly direction: "forward" | "backward"
  /** Events; the homeserver caps it at 1,000. */
  readonly limit: number
  /** The answer's size bound in bytes; over it the page fails as `too-large`. */
  readonly maxBytes: number
}

export interface Page {
  readonly events: ReadonlyArray<MatrixEvent>
  /** Where to read on; null when the window holds nothing more. An empty page with an end goes on. */
  readonly end: StreamToken | null
}

/**
 * `unknown` is no proof that an account is gone: it may be made later, and a homeserver restored from a backup has forgotten
 * the newer ones. A deactivated one never comes back by itself.
 */
export type AccountState = "stands" | "deactivated" | "unknown"

/** An invitation that waits for an answer. `inviter` is verified by the homeserver. */
export interface Invitation {
  readonly roomId: RoomId
  readonly inviter: UserId
  readonly isDirect: boolean
  readonly encrypted: boolean
}

export class Matrix extends Context.Tag("crossfire/services/Matrix")<
  Matrix,
  {
    readonly serverName: string
    /** Makes the user if it is not there, and sets its display name. Idempotent. */
    readonly ensureUser: (user: UserId, displayName: string) => Effect.Effect<void, MatrixError>
    /** Idempotent. */
    readonly join: (as: UserId, roomId: RoomId) => Effect.Effect<void, MatrixError>
    /** Leaves the room or rejects the invitation. Idempotent. */
    readonly leave: (as: UserId, roomId: RoomId) => Effect.Effect<void, MatrixError>
    /** Makes a direct chat between exactly these two; the other one is invited. Not idempotent: record before, check after. */
    readonly createDirectRoom: (as: UserId, invite: UserId, name: string) => Effect.Effect<RoomId, MatrixError>
    /**
     * Sends one event. The transaction ID is random, global and saved before the first try; the same ID again gives the
     * same event for 24 hours, also across a homeserver restart.
     */
    readonly send: (send: {
      readonly as: UserId
      readonly roomId: RoomId
      readonly type: string
      readonly transactionId: string
      readonly content: Readonly<Record<string, unknown>>
    }) => Effect.Effect<EventId, MatrixError>
    /** Takes an event's content away, for everybody. Idempotent by the transaction ID, as `send`. */
    readonly redact: (redaction: {
      readonly as: UserId
      readonly roomId: RoomId
      readonly eventId: EventId
      readonly transactionId: string
    }) => Effect.Effect<EventId, MatrixError>
    /** Of users of this homeserver; anybody else is unknown, and is not asked about anywhere. */
    readonly accountState: (user: UserId) => Effect.Effect<AccountState, MatrixError>
    /** Uploads and returns the `mxc:` address. */
    readonly upload: (as: UserId, file: {
      readonly name: string
      readonly mediaType: string
      readonly bytes: Uint8Array
    }) => Effect.Effect<string, MatrixError>
    readonly typing: (as: UserId, roomId: RoomId, timeoutMillis: number | null) => Effect.Effect<void, MatrixError>
    /** The server-wide stream token of now. Everything stored before the call stands at or before it. */
    readonly boundary: Effect.Effect<StreamToken, MatrixError>
    /**
     * The homeserver refuses only who was never in the room. One who left, was removed or declined an invitation reads on
     * where history is shared (seen): whether `as` is a member is the caller's to know.
     */
    readonly page: (request: PageRequest) => Effect.Effect<Page, MatrixError | PageFailed>
    /** Refused with 404 where it is unknown or not for `as` to see; who left sees what was stored while there. */
    readonly event: (as: UserId, roomId: RoomId, eventId: EventId) => Effect.Effect<MatrixEvent, MatrixError>
    /** The content of a state event; null where the room has none. */
    readonly state: (
      as: UserId,
      roomId: RoomId,
      type: string,
      stateKey: string
    ) => Effect.Effect<Readonly<Record<string, unknown>> | null, MatrixError>
    /** Members with membership `join` or `invite`. */
    readonly members: (as: UserId, roomId: RoomId) => Effect.Effect<
      ReadonlyArray<
        { readonly userId: UserId; readonly membership: "join" | "invite"; readonly displayName: string | null }
      >,
      MatrixError
    >
    readonly joinedRooms: (as: UserId) => Effect.Effect<ReadonlyArray<RoomId>, MatrixError>
    readonly invitations: (as: UserId) => Effect.Effect<ReadonlyArray<Invitation>, MatrixError>
    /** One state event in the private control room, then a ping: makes the homeserver send what it holds back. */
    readonly nudge: Effect.Effect<Heartbeat, MatrixError>
  }
>() {}

/** The localpart prefix of every user that crossfire acts as; the application service's exclusive namespace. */
export const namespacePrefix = "cf-"
