// The messaging tool as models see it: its description, its arguments, and its answers in words.
import { Either, Schema } from "effect"
import { type SendOutcome, ToolRefused } from "../../domain/api/AgentSocket.ts"
import type { ToolMessage } from "./ToolCaller.ts"

export const roomSendName = "room_send"

export const roomSendDescription = [
  "Sends a message to a chat room. This is the only way to answer in a room: text that you write outside of this tool is",
  "seen in no room. Always name the destination by its room ID, which begins with ! and stands with",
  "every message you were given; names and aliases are refused. Before you tell one room what you learnt in another,",
  "check that its people may know it. If the answer says \"queued\", the message is stored and will be sent: do not send it",
  "again."
].join(" ")

/** JSON Schema, as the tool is listed. */
export const roomSendInput = {
  type: "object" as const,
  properties: {
    room: { type: "string", description: "The room's ID, for example !abc123:example.org" },
    text: { type: "string", description: "The message, in Markdown" },
    reply_to: { type: "string", description: "The ID of the event that this answers; it begins with $" },
    mentions: {
      type: "array",
      items: { type: "string" },
      description: "Full user IDs to mention, for example @alice:example.org"
    }
  },
  required: ["room", "text"],
  additionalProperties: false
}

const Arguments = Schema.Struct({
  room: Schema.String,
  text: Schema.String,
  reply_to: Schema.optional(Schema.NullOr(Schema.String)),
  mentions: Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))
})
const decodeArguments = Schema.decodeUnknownEither(Arguments)

export const readRoomSend = (given: unknown): Either.Either<ToolMessage, ToolRefused> =>
  Either.mapBoth(decodeArguments(given), {
    // What was given may be the message itself: only the form that is wanted is told.
    onLeft: () =>
      new ToolRefused({
        reason:
          "The arguments are not in the tool's form: room and text are strings, reply_to is an event ID or left " +
          "out, mentions is a list of user IDs or left out. Nothing was sent."
      }),
    onRight: ({ room, text, reply_to, mentions }) => ({
      room,
      text,
      replyTo: reply_to ?? null,
      mentions: mentions ?? []
    })
  })

export const outcomeInWords = ({ status, eventId }: SendOutcome): string =>
  status === "sent"
    ? `Sent. Its event ID is ${eventId ?? "not known"}.`
    : "Queued: the message is stored and will be sent as soon as the server takes it. Do not send it again."
