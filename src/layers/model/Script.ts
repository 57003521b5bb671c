// What a scripted model may do next, and the form of a script. It owns the step's vocabulary, no script and no wire form.
import { Schema } from "effect"
import type { Conversation, OfferedTool } from "./Conversation.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** At most an hour: longer waits are `hang`. */
const Milliseconds = Schema.Number.pipe(Schema.between(0, 3_600_000))

export const ToolRequest = Schema.Struct({
  name: Schema.NonEmptyString,
  /** Left out: taken from the offered tools (see `resolveTool`). */
  namespace: optional(Schema.String),
  args: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  /** The free-form input of a custom tool, in place of `args`. */
  custom: optional(Schema.String)
})
export type ToolRequest = typeof ToolRequest.Type

export const Usage = Schema.Struct({
  in: Schema.NonNegativeInt,
  cached: optional(Schema.NonNegativeInt),
  out: Schema.NonNegativeInt,
  reasoning: optional(Schema.NonNegativeInt)
})

/** One answer of the model. An empty step completes with no output. */
export const Step = Schema.Struct({
  /** Milliseconds between the start of the response and its first output. */
  delay: optional(Milliseconds),
  /** Answer with this HTTP status instead of a stream, after `delay`. */
  status: optional(Schema.Int.pipe(Schema.between(400, 599))),
  /** The provider's error code and message that go with `status`. */
  code: optional(Schema.String),
  message: optional(Schema.String),
  headers: optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  /** A reasoning summary, streamed before the text. */
  reasoning: optional(Schema.String),
  text: optional(Schema.String),
  phase: optional(Schema.Literal("commentary", "final_answer")),
  /** Into how many deltas the text is cut; more than it has characters repeats it, numbered. */
  chunks: optional(Schema.Int.pipe(Schema.between(1, 10_000))),
  /** Milliseconds after each delta. */
  gap: optional(Milliseconds),
  /** Never finish: the response stays open after its text. */
  hang: optional(Schema.Boolean),
  /** Cut the connection after so many text deltas, at the latest before the response completes. */
  drop: optional(Schema.NonNegativeInt),
  tool: optional(ToolRequest),
  tools: optional(Schema.Array(ToolRequest).pipe(Schema.maxItems(100))),
  usage: optional(Usage)
})
export type Step = typeof Step.Type

/** A pure function: the same conversation always gets the same step, so it survives restarts as a real model would. */
export type Script = (conversation: Conversation, offered: ReadonlyArray<OfferedTool>) => Step

/**
 * The offered tool that a plain name means: exactly that name, the tool of that name in a namespace, or one behind the
 * prefix that an MCP client joins to it (`mcp__fleet__room_send`). `null` when nothing of that name is offered.
 */
export const resolveTool = (offered: ReadonlyArray<OfferedTool>, name: string): OfferedTool | null =>
  offered.find((tool) => tool.namespace === null && tool.name === name) ??
    offered.find((tool) => tool.namespace !== null && tool.name === name) ??
    offered.find((tool) => tool.name.endsWith(`__${name}`)) ??
    null
