// A room event as the record that an agent may be given: what happened, who did it, and what it means for this agent.
import { Schema } from "effect"
import type { DecisionKind } from "./Decision.ts"
import { EventId, type RoomId, type UserId } from "./Ids.ts"
import { RoomRecord } from "./Level.ts"
import {
  isEdit,
  isRedacted,
  type MatrixEvent,
  messageText,
  redactedEvent,
  relationType,
  repliesTo
} from "./MatrixEvent.ts"
import type { NameDoubt } from "./NameLikeness.ts"

/** What crossfire knows of a sender beyond its ID. */
export interface SenderInfo {
  readonly role: RoomRecord["senderRole"]
  readonly agent: { readonly name: string; readonly owner: UserId } | null
  readonly displayName: string | null
  readonly nameDoubt: NameDoubt | null
}

const isEventId = Schema.is(EventId)
const eventId = (value: unknown): EventId | null => isEventId(value) ? value : null

const field = (container: unknown, key: string): unknown =>
  typeof container === "object" && container !== null
    ? Object.entries(container).find(([name]) => name === key)?.[1]
    : undefined

const formOf = (event: MatrixEvent): RoomRecord["form"] => {
  if (isRedacted(event)) return "redacted"
  switch (event.type) {
    case "m.room.message":
      return isEdit(event) ? "edit" : "message"
    case "m.reaction":
      return "reaction"
    case "m.room.redaction":
      return "redaction"
    case "m.room.member":
      return "membership"
    case "m.room.name":
      return "name"
    default:
      return "other"
  }
}

/** The one line that says what happened, where it is not a message. Untrusted like every text of a room. */
const textOf = (event: MatrixEvent, form: RoomRecord["form"]): string | null => {
  const text = (value: unknown): string | null => typeof value === "string" ? value : null
  switch (form) {
    case "message":
    case "edit":
      return messageText(event)
    case "reaction":
      return text(field(event.content["m.relates_to"], "key"))
    case "membership": {
      const becomes = text(event.content["membership"])
      return becomes === null ? null : `${becomes} ${event.state_key ?? ""}`.trim()
    }
    case "name":
      return text(event.content["name"])
    case "redaction":
    case "redacted":
    case "other":
      return null
  }
}

export const recordOf = (
  event: MatrixEvent,
  roomId: RoomId,
  kind: DecisionKind,
  sender: SenderInfo
): RoomRecord => {
  const form = formOf(event)
  const relates = relationType(event) === null ? redactedEvent(event) : field(event.content["m.relates_to"], "event_id")
  return new RoomRecord({
    eventId: event.event_id,
    roomId,
    kind,
    sender: event.sender,
    senderRole: sender.role,
    senderAgent: sender.agent,
    displayName: sender.displayName,
    nameDoubt: sender.nameDoubt,
    sentAtMillis: event.origin_server_ts ?? null,
    type: event.type,
    form,
    text: textOf(event, form)?.toWellFormed() ?? null,
    replyTo: eventId(repliesTo(event)),
    relatesTo: eventId(relates)
  })
}
