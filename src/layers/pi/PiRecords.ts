// The records of Pi's RPC protocol that this product reads and writes, and no more of them than is used.
// Unknown kinds and fields are ignored; a known kind with an unknown form is an error, since the version is a verified one.
import { Either, Schema } from "effect"

/** What fleetd sends. Everything else that Pi would take (queues, steering, forks) is left out on purpose. */
export const PiCommand = Schema.Union(
  Schema.Struct({ id: Schema.String, type: Schema.Literal("prompt"), message: Schema.String }),
  Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("get_state", "get_available_models", "get_available_thinking_levels", "get_commands")
  }),
  Schema.Struct({ type: Schema.Literal("extension_ui_response"), id: Schema.String, cancelled: Schema.Literal(true) })
)
export type PiCommand = typeof PiCommand.Type

const encode = Schema.encodeSync(Schema.parseJson(PiCommand))

/** One line with its LF. U+2028 stays as it is: Pi splits at LF only. */
export const encodeCommand = (command: PiCommand): string => `${encode(command)}\n`

/** The facts about a model that decide which thinking levels it takes. `null` in the map: that level is not supported. */
export class PiModel extends Schema.Class<PiModel>("PiModel")({
  provider: Schema.String,
  id: Schema.String,
  reasoning: Schema.optional(Schema.Boolean),
  thinkingLevelMap: Schema.optional(
    Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Null) })
  )
}) {}

export const PiState = Schema.Struct({
  sessionId: Schema.String,
  sessionFile: Schema.optional(Schema.String),
  model: Schema.optional(PiModel),
  thinkingLevel: Schema.String
})
export const PiModels = Schema.Struct({ models: Schema.Array(PiModel) })
export const PiThinkingLevels = Schema.Struct({ levels: Schema.Array(Schema.String) })
export const PiCommands = Schema.Struct({ commands: Schema.Array(Schema.Struct({ name: Schema.String })) })
export const PiDisposition = Schema.Struct({ disposition: Schema.String })

const Content = Schema.Union(
  Schema.String,
  Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optional(Schema.String) }))
)

/** A message as it stands in events and in the history file. */
export const PiMessage = Schema.Struct({
  role: Schema.String,
  content: Schema.optional(Content),
  stopReason: Schema.optional(Schema.String),
  errorMessage: Schema.optional(Schema.String)
})
export type PiMessage = typeof PiMessage.Type

const Response = Schema.Struct({
  type: Schema.Literal("response"),
  id: Schema.optional(Schema.String),
  success: Schema.Boolean,
  error: Schema.optional(Schema.String),
  data: Schema.optional(Schema.Unknown)
})
export type PiResponse = typeof Response.Type

const AgentStart = Schema.Struct({ type: Schema.Literal("agent_start") })
const MessageEnd = Schema.Struct({ type: Schema.Literal("message_end"), message: PiMessage })
const AgentSettled = Schema.Struct({ type: Schema.Literal("agent_settled"), aborted: Schema.Boolean })
const UiRequest = Schema.Struct({
  type: Schema.Literal("extension_ui_request"),
  id: Schema.String,
  method: Schema.String,
  message: Schema.optional(Schema.String)
})

export type PiEvent = typeof AgentStart.Type | typeof MessageEnd.Type | typeof AgentSettled.Type
export type PiRecord = PiResponse | PiEvent | typeof UiRequest.Type | { readonly type: "ignored" }

const Known = Schema.Union(Response, AgentStart, MessageEnd, AgentSettled, UiRequest)
const decodeKnown = Schema.decodeUnknownEither(Known)
const decodeJson = Schema.decodeUnknownEither(Schema.parseJson(Schema.Struct({ type: Schema.String }, {
  key: Schema.String,
  value: Schema.Unknown
})))

const knownTypes: ReadonlySet<string> = new Set([
  "response",
  "agent_start",
  "message_end",
  "agent_settled",
  "extension_ui_request"
])

/** The record of one line, or why it is none. The reason quotes nothing of the line. */
export const decodeRecord = (line: string): Either.Either<PiRecord, string> => {
  const json = decodeJson(line)
  if (Either.isLeft(json)) return Either.left("a line of its output is no JSON record")
  const { type } = json.right
  if (!knownTypes.has(type)) return Either.right({ type: "ignored" })
  return Either.mapLeft(decodeKnown(json.right), () => `a record of the kind ${type} has an unknown form`)
}

/**
 * Kinds that are dropped before they are read: deltas, repeated partial results, and the ends that repeat what was
 * already told. `agent_end` holds every message of a run, so after a long one it alone can pass any line limit.
 */
export const unreadKinds: ReadonlyArray<string> = [
  "agent_end",
  "turn_start",
  "turn_end",
  "message_start",
  "message_update",
  "tool_execution_start",
  "tool_execution_update",
  "tool_execution_end"
]

/** The visible text of a message: its text blocks, never its thinking or its tool calls. */
export const visibleText = (message: PiMessage): string => {
  if (message.content === undefined) return ""
  if (typeof message.content === "string") return message.content
  return message.content.flatMap((block) => block.type === "text" && block.text !== undefined ? [block.text] : [])
    .join("\n\n")
}
