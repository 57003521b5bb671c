// The frames of a step: complete items, cuts and waits in their places, and calls in the form the tool was offered in.
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Frame, framesOf } from "../../../src/layers/model/ResponseFrames.ts"
import type { Step } from "../../../src/layers/model/Script.ts"

const offered = [{ name: "room_send", namespace: "mcp__fleet" }, { name: "bash", namespace: null }]
const frames = (step: Step) => [...framesOf(step, { responseId: "r", requestBytes: 400, offered })]

const decodeEvent = Schema.decodeUnknownSync(Schema.parseJson(
  Schema.Struct({ type: Schema.String }, Schema.Record({ key: Schema.String, value: Schema.Unknown }))
))

const eventOf = (frame: Frame) => {
  if (frame._tag !== "Event") return { type: frame._tag, ...(frame._tag === "Pause" ? { ms: frame.ms } : {}) }
  const match = /^event: (\S+)\ndata: (.*)\n\n$/u.exec(frame.text)
  const event = decodeEvent(match?.[2])
  expect(event.type).toBe(match?.[1])
  return event
}
const events = (step: Step) => frames(step).map(eventOf)
const kinds = (step: Step) => events(step).map(({ type }) => type.replace("response.", ""))
const deltas = (step: Step) => events(step).flatMap((event) => "delta" in event ? [event["delta"]] : [])

describe("ResponseFrames", () => {
  it("writes reasoning, text and a call as complete items, and repeats them in the completed response", () => {
    const step: Step = { reasoning: "why", text: "hello", tool: { name: "bash", args: { command: "ls" } }, delay: 7 }
    expect(kinds(step)).toEqual([
      "created",
      "Pause",
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "completed"
    ])
    const done = events(step).filter(({ type }) => type === "response.output_item.done")
    expect(done.map((event) => "output_index" in event && event["output_index"])).toEqual([0, 1, 2])
    expect(events(step).at(-1)).toMatchObject({
      response: {
        status: "completed",
        output: done.map((event) => "item" in event && event["item"]),
        usage: { input_tokens: 100, total_tokens: 120 }
      }
    })
  })

  it("cuts the text into deltas that join to it, waits after each, and repeats a text with fewer characters", () => {
    expect(deltas({ text: "abcdefg", chunks: 3 })).toEqual(["abc", "def", "g"])
    expect(deltas({ text: "" })).toEqual([""])
    expect(deltas({ text: "x", chunks: 3 })).toEqual(["x0 ", "x1 ", "x2 "])
    expect(events({ text: "ab", chunks: 2, gap: 9 }).filter(({ type }) => type === "Pause")).toEqual([
      { type: "Pause", ms: 9 },
      { type: "Pause", ms: 9 }
    ])
  })

  it("drops after so many deltas, at the latest before the response completes", () => {
    const upTo = (step: Step) => kinds(step).slice(0, kinds(step).indexOf("Drop"))
    expect(upTo({ text: "abc", chunks: 3, drop: 0 })).toEqual(["created", "output_item.added", "content_part.added"])
    expect(upTo({ text: "abc", chunks: 3, drop: 2 }).filter((kind) => kind === "output_text.delta").length).toBe(2)
    expect(upTo({ text: "abc", chunks: 3, drop: 9 }).at(-1)).toBe("output_item.done")
    expect(upTo({ drop: 0 })).toEqual(["created"])
  })

  it("hangs after its text", () => {
    expect(kinds({ text: "a", hang: true, tool: { name: "bash" } }).indexOf("Hang")).toBe(7)
    expect(kinds({ hang: true }).slice(0, 2)).toEqual(["created", "Hang"])
  })

  it("calls a tool in the form it was offered in, unless the step names one", () => {
    const item = (tool: NonNullable<Step["tool"]>) =>
      events({ tool }).flatMap((event) =>
        event.type === "response.output_item.done" && "item" in event ? [event["item"]] : []
      )[0]
    expect(item({ name: "room_send", args: { a: 1 } })).toEqual({
      type: "function_call",
      id: "fc_r_0",
      call_id: "call_r_0",
      name: "room_send",
      namespace: "mcp__fleet",
      arguments: "{\"a\":1}",
      status: "completed"
    })
    expect(item({ name: "bash" })).not.toHaveProperty("namespace")
    expect(item({ name: "bash", namespace: "other" })).toMatchObject({ name: "bash", namespace: "other" })
    expect(item({ name: "unknown" })).toMatchObject({ name: "unknown" })
    expect(item({ name: "exec", custom: "1 + 1" })).toMatchObject({ type: "custom_tool_call", input: "1 + 1" })
  })

  it("gives each of several calls its own ID", () => {
    const ids = events({ tool: { name: "a" }, tools: [{ name: "b" }, { name: "c" }] }).flatMap((event) =>
      event.type === "response.output_item.done" && "item" in event ? [event["item"]] : []
    )
    expect(ids).toMatchObject([{ call_id: "call_r_0" }, { call_id: "call_r_1" }, { call_id: "call_r_2" }])
  })

  it("reports the usage that a step names", () => {
    expect(events({ text: "a", usage: { in: 50, cached: 40, out: 6, reasoning: 2 } }).at(-1)).toMatchObject({
      response: {
        usage: {
          input_tokens: 50,
          input_tokens_details: { cached_tokens: 40 },
          output_tokens: 6,
          output_tokens_details: { reasoning_tokens: 2 },
          total_tokens: 56
        }
      }
    })
  })
})
