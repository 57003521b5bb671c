// What crossfire tells fleetd of one agent: the whole truth of the moment, never a change. Sent again at every connection;
// a lost or repeated one does nothing.
import { Schema } from "effect"
import { OpenWake } from "./Decision.ts"
import { AgentId, EventId, Incarnation, RoomId, StreamToken, UserId } from "./Ids.ts"
import { NameDoubt } from "./NameLikeness.ts"
import { RegisteredName } from "./Roster.ts"

/** Why a room is not read on. The event is named where its ID could be read. */
export const RoomStop = Schema.Struct({
  reason: Schema.Literal("too-large", "malformed", "not-advancing"),
  eventId: Schema.NullOr(Schema.String)
})
export type RoomStop = typeof RoomStop.Type

/** A room where the agent takes part with permission and membership both. */
export class LevelRoom extends Schema.Class<LevelRoom>("LevelRoom")({
  roomId: RoomId,
  name: Schema.NullOr(Schema.String),
  isDirect: Schema.Boolean,
  /** Where forward reading starts: stored when permission and membership first both held. */
  boundary: StreamToken,
  /** Rises with every event decided in the room; unread records are known while it is above what was finished. */
  latest: Schema.Int,
  /** Reading the room on has stopped at a page that cannot be taken. */
  stopped: Schema.optionalWith(Schema.NullOr(RoomStop), { default: () => null })
}) {}

export class Level extends Schema.Class<Level>("Level")({
  agentId: AgentId,
  /** The registered name of the moment: an owner may change it at any time. */
  name: RegisteredName,
  /** A retired agent keeps its identity and has no credential: nothing is delivered to it any more. */
  standing: Schema.Literal("active", "retired"),
  incarnation: Incarnation,
  /** Rises within the incarnation; a lower one than seen is dropped. */
  number: Schema.Int,
  authorityRevision: Schema.Int,
  wakes: Schema.Array(OpenWake),
  rooms: Schema.Array(LevelRoom),
  /** Events redacted above the number that fleetd last acknowledged. */
  redactions: Schema.Array(Schema.Struct({ number: Schema.Int, roomId: RoomId, eventId: EventId }))
}) {}

/** One event as an agent may be given it: who, where, when (provenance only), what it says and what it means here. */
export class RoomRecord extends Schema.Class<RoomRecord>("RoomRecord")({
  eventId: EventId,
  roomId: RoomId,
  kind: Schema.Literal("wake", "mention", "context", "own", "control"),
  sender: UserId,
  senderRole: Schema.Literal("owner", "administrator", "person", "agent", "crossfire"),
  /** For an agent: its registered name and its owner. */
  senderAgent: Schema.NullOr(Schema.Struct({ name: Schema.String, owner: UserId })),
  displayName: Schema.NullOr(Schema.String),
  /** Why the display name is not to be taken at its word. */
  nameDoubt: Schema.optionalWith(Schema.NullOr(NameDoubt), { default: () => null }),
  /** Milliseconds since 1970 as the homeserver claims; never used to decide. */
  sentAtMillis: Schema.NullOr(Schema.Number),
  type: Schema.String,
  /** `message`, or what else happened: edit, reaction, redaction, membership, name, redacted, other. */
  form: Schema.Literal("message", "edit", "reaction", "redaction", "membership", "name", "redacted", "other"),
  text: Schema.NullOr(Schema.String),
  replyTo: Schema.NullOr(EventId),
  relatesTo: Schema.NullOr(EventId)
}) {}
