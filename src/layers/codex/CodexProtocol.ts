// The messages of Codex's app-server that we use, as schemas: fields and notifications that we do not know are let pass.
import { Effect, Either, type ParseResult, Schema } from "effect"
import { TurnId } from "../../domain/Ids.ts"

export const RequestId = Schema.Union(Schema.Number, Schema.String)
export type RequestId = typeof RequestId.Type

export const RpcError = Schema.Struct({
  code: Schema.Number,
  message: Schema.String,
  data: Schema.optional(Schema.Unknown)
})

/** One line of either direction. An ID may be 0, and both sides count their own. */
const Message = Schema.Struct({
  id: Schema.optional(RequestId),
  method: Schema.optional(Schema.String),
  params: Schema.optional(Schema.Unknown),
  result: Schema.optional(Schema.Unknown),
  error: Schema.optional(RpcError)
})
export type Message = typeof Message.Type

const encode = Schema.encodeSync(Schema.parseJson(Message))
const decode = Schema.decodeEither(Schema.parseJson(Message))

export const encodeLine = (message: Message): string => `${encode(message)}\n`

/** `null` for what is no message. */
export const decodeLine = (line: string): Message | null => Either.getOrNull(decode(line))

export const InitializeResult = Schema.Struct({ userAgent: Schema.String })

export const ModelListResult = Schema.Struct({
  data: Schema.Array(Schema.Struct({
    model: Schema.NonEmptyString,
    isDefault: Schema.Boolean,
    supportedReasoningEfforts: Schema.Array(Schema.Struct({ reasoningEffort: Schema.NonEmptyString }))
  })),
  nextCursor: Schema.NullOr(Schema.String)
})

/** The answer to `thread/start` and `thread/resume`: what is in force now, whatever was asked for. */
export const ThreadResult = Schema.Struct({
  thread: Schema.Struct({ id: Schema.NonEmptyString, path: Schema.NullOr(Schema.String) }),
  model: Schema.String,
  cwd: Schema.String,
  sandbox: Schema.Struct({ type: Schema.String }),
  approvalPolicy: Schema.Unknown,
  reasoningEffort: Schema.NullOr(Schema.String)
})
export type ThreadResult = typeof ThreadResult.Type

export const TurnStartResult = Schema.Struct({ turn: Schema.Struct({ id: TurnId }) })

export const Empty = Schema.Struct({})

const Item = Schema.Union(
  Schema.Struct({ type: Schema.Literal("userMessage") }),
  Schema.Struct({ type: Schema.Literal("agentMessage"), id: Schema.String, text: Schema.String }),
  Schema.Struct({ type: Schema.String.pipe(Schema.filter((type) => type !== "agentMessage")) })
)

const notification = <M extends string, F extends Schema.Struct.Fields>(method: M, fields: F) =>
  Schema.Struct({ method: Schema.Literal(method), params: Schema.Struct({ threadId: Schema.String, ...fields }) })

const Known = Schema.Union(
  notification("turn/started", { turn: Schema.Struct({ id: TurnId }) }),
  notification("turn/completed", {
    turn: Schema.Struct({
      id: TurnId,
      status: Schema.Literal("completed", "interrupted", "failed"),
      error: Schema.NullOr(Schema.Struct({ codexErrorInfo: Schema.optional(Schema.Unknown) }))
    })
  }),
  notification("item/agentMessage/delta", { turnId: TurnId, itemId: Schema.String, delta: Schema.String }),
  notification("item/completed", { turnId: TurnId, item: Item }),
  notification("thread/closed", {}),
  notification("model/rerouted", {})
)
export type Notification = typeof Known.Type

const knownMethods: ReadonlySet<string> = new Set(Known.members.map((member) => member.fields.method.literals[0]))
const decodeKnown = Schema.decodeUnknown(Known)

/** `null` for a notification that means nothing to us. One that does, in a form that we do not know, is an error. */
export const readNotification = (
  method: string,
  params: unknown
): Effect.Effect<Notification | null, ParseResult.ParseError> =>
  knownMethods.has(method) ? decodeKnown({ method, params }) : Effect.succeed(null)

/** Streams of no use here: reasoning, command output and diffs would only cross the pipe to be dropped. */
export const unwantedNotifications = [
  "account/rateLimits/updated",
  "item/commandExecution/outputDelta",
  "item/fileChange/outputDelta",
  "item/fileChange/patchUpdated",
  "item/plan/delta",
  "item/reasoning/summaryPartAdded",
  "item/reasoning/summaryTextDelta",
  "item/reasoning/textDelta",
  "rawResponse/completed",
  "rawResponseItem/completed",
  "thread/readState/changed",
  "turn/diff/updated"
]

/**
 * What is answered to the engine's own requests as long as nobody is asked: no, or nothing, so that the turn goes on.
 * `null`: a request that we do not know, to be refused as such.
 */
export const declined = (method: string): unknown => {
  switch (method) {
    case "item/commandExecution/requestApproval":
    case "item/fileChange/requestApproval":
      return { decision: "decline" }
    case "execCommandApproval":
    case "applyPatchApproval":
      return { decision: { denied: { rejection: "nobody can be asked for approval here" } } }
    case "item/permissions/requestApproval":
      return { permissions: {}, scope: "turn" }
    case "item/tool/requestUserInput":
      return { answers: {} }
    case "mcpServer/elicitation/request":
      return { action: "decline", content: null, _meta: null }
    case "item/tool/call":
      return { contentItems: [], success: false }
    default:
      return null
  }
}
