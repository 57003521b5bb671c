// A Matrix room event as the homeserver gives it, and what its content says. Whatever a person can put there is untrusted:
// nothing here throws on a wrong type.
import { Schema } from "effect"
import { EventId, RoomId, UserId } from "./Ids.ts"

/** The fields that every event has. Unknown fields are dropped; `content` is kept as it came. */
export class MatrixEvent extends Schema.Class<MatrixEvent>("MatrixEvent")({
  event_id: EventId,
  type: Schema.String,
  sender: UserId,
  origin_server_ts: Schema.optional(Schema.Number),
  state_key: Schema.optional(Schema.String),
  room_id: Schema.optional(RoomId),
  redacts: Schema.optional(Schema.Unknown),
  content: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  unsigned: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}) {}

/** The content key by which crossfire's own control notices are told, whatever their message type. */
export const controlKey = "org.crossfire.control"

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value as Readonly<Record<string, unknown>> : {}

const text = (value: unknown): string | null => typeof value === "string" ? value : null

/** The relation's type: `m.replace` (an edit), `m.thread`, `m.annotation` … or null. */
export const relationType = (event: MatrixEvent): string | null =>
  text(record(event.content["m.relates_to"])["rel_type"])

export const isEdit = (event: MatrixEvent): boolean => relationType(event) === "m.replace"

/** The event this one answers, when its client says so deliberately (a thread's fallback is no reply). */
export const repliesTo = (event: MatrixEvent): string | null => {
  const relation = record(event.content["m.relates_to"])
  if (relation["is_falling_back"] === true) return null
  return text(record(relation["m.in_reply_to"])["event_id"])
}

/** How many mention entries of one event are looked at. */
export const maxMentions = 100

/** The full user IDs in `m.mentions.user_ids`; empty for edits, wrong types and everything else. */
export const mentionedUsers = (event: MatrixEvent): ReadonlyArray<string> => {
  if (isEdit(event)) return []
  const listed = record(event.content["m.mentions"])["user_ids"]
  if (!Array.isArray(listed)) return []
  return listed.slice(0, maxMentions).filter((entry) => typeof entry === "string")
}

export const isControl = (event: MatrixEvent): boolean => event.content[controlKey] !== undefined

/** Content gone by redaction, whether the redaction came before or after it was read. */
export const isRedacted = (event: MatrixEvent): boolean => event.unsigned?.["redacted_because"] !== undefined

/** The event that a redaction removes (room version 11 and later put it into the content). */
export const redactedEvent = (event: MatrixEvent): string | null =>
  event.type === "m.room.redaction" ? text(event.content["redacts"]) ?? text(event.redacts) : null

/** The readable text of a message, or null where it has none. For an edit, the new text. */
export const messageText = (event: MatrixEvent): string | null => {
  if (event.type !== "m.room.message") return null
  const content = isEdit(event) ? record(event.content["m.new_content"]) : event.content
  return text(content["body"])
}

export const membership = (event: MatrixEvent): string | null =>
  event.type === "m.room.member" ? text(event.content["membership"]) : null
