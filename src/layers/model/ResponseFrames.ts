// Writes a step as the server-sent events of the Responses API: a pure sequence of frames, which the server plays.
import { Data, Schema } from "effect"
import type { OfferedTool } from "./Conversation.ts"
import { resolveTool, type Step, type ToolRequest } from "./Script.ts"

export type Frame = Data.TaggedEnum<{
  Event: { readonly text: string }
  Pause: { readonly ms: number }
  /** Cut the connection. */
  Drop: {}
  /** Stay open for ever. */
  Hang: {}
}>
export const Frame = Data.taggedEnum<Frame>()

export interface FrameContext {
  /** Names this response and, in its items, the calls: unique in every conversation that it may become part of. */
  readonly responseId: string
  readonly requestBytes: number
  readonly offered: ReadonlyArray<OfferedTool>
}

type Json = { readonly [key: string]: unknown }

const encode = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const event = (type: string, fields: Json): Frame =>
  Frame.Event({ text: `event: ${type}\ndata: ${encode({ type, ...fields })}\n\n` })

const cut = (text: string, chunks: number): ReadonlyArray<string> => {
  if (chunks > 1 && chunks > text.length) return Array.from({ length: chunks }, (_, index) => `${text}${index} `)
  const size = Math.max(1, Math.ceil(text.length / chunks))
  const count = Math.max(1, Math.ceil(text.length / size))
  return Array.from({ length: count }, (_, index) => text.slice(index * size, (index + 1) * size))
}

function* reasoningFrames(summary: string, id: string, output_index: number): Generator<Frame, Json> {
  const at = { item_id: id, output_index, summary_index: 0 }
  const part = { type: "summary_text", text: summary }
  const item = { type: "reasoning", id, summary: [part], encrypted_content: "scripted" }
  yield event("response.output_item.added", { output_index, item: { ...item, summary: [] } })
  yield event("response.reasoning_summary_part.added", { ...at, part: { ...part, text: "" } })
  yield event("response.reasoning_summary_text.delta", { ...at, delta: summary })
  yield event("response.reasoning_summary_text.done", { ...at, text: summary })
  yield event("response.reasoning_summary_part.done", { ...at, part })
  yield event("response.output_item.done", { output_index, item })
  return item
}

function* textFrames(step: Step, id: string, output_index: number): Generator<Frame, Json> {
  const at = { item_id: id, output_index, content_index: 0 }
  const phase = step.phase === undefined ? {} : { phase: step.phase }
  const item = { type: "message", id, role: "assistant", ...phase }
  yield event("response.output_item.added", { output_index, item: { ...item, status: "in_progress", content: [] } })
  yield event("response.content_part.added", { ...at, part: { type: "output_text", text: "", annotations: [] } })
  const deltas = cut(step.text ?? "", step.chunks ?? 1)
  for (const [index, delta] of deltas.entries()) {
    if (step.drop !== undefined && index >= step.drop) yield Frame.Drop()
    yield event("response.output_text.delta", { ...at, delta })
    if (step.gap !== undefined) yield Frame.Pause({ ms: step.gap })
  }
  const text = deltas.join("")
  const part = { type: "output_text", text, annotations: [] }
  const done = { ...item, status: "completed", content: [part] }
  yield event("response.output_text.done", { ...at, text })
  yield event("response.content_part.done", { ...at, part })
  yield event("response.output_item.done", { output_index, item: done })
  return done
}

function* toolFrames(tool: ToolRequest, id: string, output_index: number, offered: ReadonlyArray<OfferedTool>) {
  const resolved = tool.namespace === undefined ? resolveTool(offered, tool.name) : null
  const namespace = tool.namespace ?? resolved?.namespace ?? null
  const call = {
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name: resolved?.name ?? tool.name,
    ...(namespace === null ? {} : { namespace })
  }
  const input = tool.custom
  const args = encode(tool.args ?? {})
  const at = { item_id: call.id, output_index }
  const item: Json = input === undefined
    ? { type: "function_call", ...call, arguments: args, status: "completed" }
    : { type: "custom_tool_call", ...call, input, status: "completed" }
  const empty = input === undefined ? { arguments: "" } : { input: "" }
  yield event("response.output_item.added", { output_index, item: { ...item, ...empty, status: "in_progress" } })
  if (input === undefined) {
    yield event("response.function_call_arguments.delta", { ...at, delta: args })
    yield event("response.function_call_arguments.done", { ...at, arguments: args })
  }
  yield event("response.output_item.done", { output_index, item })
  return item
}

// About four bytes a token, most of the request cached: plausible numbers where a step names none.
const usageOf = (step: Step, requestBytes: number): Json => {
  const estimate = Math.ceil(requestBytes / 4)
  const usage = step.usage ?? { in: estimate, cached: Math.floor(estimate / 2), out: 20 }
  return {
    input_tokens: usage.in,
    input_tokens_details: { cached_tokens: usage.cached ?? 0 },
    output_tokens: usage.out,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.in + usage.out
  }
}

/** The frames of a step that answers with a stream (no `status`). Nothing follows a `Drop` or a `Hang` when played. */
export function* framesOf(step: Step, context: FrameContext): Generator<Frame, void> {
  const id = context.responseId
  const response = { id: `resp_${id}`, object: "response" }
  const output: Array<Json> = []
  yield event("response.created", { response: { ...response, status: "in_progress", output } })
  if (step.delay !== undefined) yield Frame.Pause({ ms: step.delay })
  if (step.reasoning !== undefined) output.push(yield* reasoningFrames(step.reasoning, `rs_${id}`, output.length))
  if (step.text !== undefined) output.push(yield* textFrames(step, `msg_${id}`, output.length))
  if (step.hang === true) yield Frame.Hang()
  const tools = [...(step.tool === undefined ? [] : [step.tool]), ...(step.tools ?? [])]
  for (const [index, tool] of tools.entries()) {
    output.push(yield* toolFrames(tool, `${id}_${index}`, output.length, context.offered))
  }
  if (step.drop !== undefined) yield Frame.Drop()
  const usage = usageOf(step, context.requestBytes)
  yield event("response.completed", { response: { ...response, status: "completed", output, usage } })
}
