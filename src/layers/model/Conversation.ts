// Reads one request of the Responses API into neutral turns and offered tools. It knows the provider's wire form, and
// neither what is answered nor how.
import { Data, Either, Schema } from "effect"

/** What happened so far, oldest first. Instructions, reasoning and everything else a script has no use for are left out. */
export type Turn = Data.TaggedEnum<{
  /** `injected`: the engine's own addition in the user role (environment, notices), not an input of ours. */
  UserInput: { readonly text: string; readonly injected: boolean }
  AgentText: { readonly text: string }
  ToolCall: {
    readonly callId: string
    readonly name: string
    readonly namespace: string | null
    readonly argumentsJson: string
  }
  ToolOutput: { readonly callId: string; readonly text: string }
}>
export const Turn = Data.taggedEnum<Turn>()

export type Conversation = ReadonlyArray<Turn>

/** A callable tool. Codex offers those of an MCP server inside a namespace and takes calls in no other form. */
export interface OfferedTool {
  readonly name: string
  readonly namespace: string | null
}

export interface ModelRequest {
  readonly model: string
  readonly effort: string | null
  readonly itemCount: number
  readonly conversation: Conversation
  readonly offered: ReadonlyArray<OfferedTool>
}

export class RequestUnreadable extends Schema.TaggedError<RequestUnreadable>()("RequestUnreadable", {
  bodyBytes: Schema.Int
}) {
  override get message(): string {
    return `the request body of ${this.bodyBytes} bytes is no Responses API request`
  }
}

const Content = Schema.Union(
  Schema.String,
  Schema.Array(Schema.Struct({ text: Schema.optional(Schema.String) }))
)

const Item = Schema.Struct({
  type: Schema.optional(Schema.String),
  role: Schema.optional(Schema.String),
  content: Schema.optional(Schema.NullOr(Content)),
  call_id: Schema.optional(Schema.String),
  name: Schema.optional(Schema.String),
  namespace: Schema.optional(Schema.NullOr(Schema.String)),
  arguments: Schema.optional(Schema.String),
  input: Schema.optional(Schema.String),
  output: Schema.optional(Content)
})

const Tool = Schema.Struct({
  type: Schema.String,
  name: Schema.optional(Schema.String),
  tools: Schema.optional(Schema.Array(Schema.Struct({ name: Schema.optional(Schema.String) })))
})

const RequestBody = Schema.parseJson(Schema.Struct({
  model: Schema.String,
  input: Schema.Union(Schema.String, Schema.Array(Item)),
  tools: Schema.optional(Schema.NullOr(Schema.Array(Tool))),
  reasoning: Schema.optional(Schema.NullOr(Schema.Struct({ effort: Schema.optional(Schema.NullOr(Schema.String)) })))
}))

const decodeBody = Schema.decodeEither(RequestBody)

const textOf = (content: typeof Content.Type | null | undefined): string =>
  content === null || content === undefined
    ? ""
    : typeof content === "string"
    ? content
    : content.map((part) => part.text ?? "").join("\n")

// Codex wraps what it adds in the user role in tags (`<environment_context>`, `<turn_aborted>`).
const addedByEngine = /^<[A-Za-z_]+[ >]/u

const userInput = (text: string): Turn => Turn.UserInput({ text, injected: addedByEngine.test(text) })

const turnOf = (item: typeof Item.Type): ReadonlyArray<Turn> => {
  switch (item.type ?? "message") {
    case "message":
      if (item.role === "user") return [userInput(textOf(item.content))]
      return item.role === "assistant" ? [Turn.AgentText({ text: textOf(item.content) })] : []
    case "function_call":
    case "custom_tool_call":
      return [Turn.ToolCall({
        callId: item.call_id ?? "",
        name: item.name ?? "",
        namespace: item.namespace ?? null,
        argumentsJson: item.arguments ?? item.input ?? ""
      })]
    case "function_call_output":
    case "custom_tool_call_output":
      return [Turn.ToolOutput({ callId: item.call_id ?? "", text: textOf(item.output) })]
    default:
      return []
  }
}

const toolsOf = (tool: typeof Tool.Type): ReadonlyArray<OfferedTool> =>
  tool.type === "namespace"
    ? (tool.tools ?? []).map((inner) => ({ name: inner.name ?? "", namespace: tool.name ?? null }))
    : [{ name: tool.name ?? tool.type, namespace: null }]

export const readRequest = (body: string): Either.Either<ModelRequest, RequestUnreadable> =>
  decodeBody(body).pipe(
    Either.mapLeft(() => new RequestUnreadable({ bodyBytes: Buffer.byteLength(body) })),
    Either.map(({ input, model, reasoning, tools }) => ({
      model,
      effort: reasoning?.effort ?? null,
      itemCount: typeof input === "string" ? 1 : input.length,
      conversation: typeof input === "string" ? [userInput(input)] : input.flatMap(turnOf),
      offered: (tools ?? []).flatMap(toolsOf)
    }))
  )
