// The two engines' request forms, shortened from what they really send, read into the same neutral turns.
import { describe, expect, it } from "@effect/vitest"
import { Either } from "effect"
import { readRequest, Turn } from "../../../src/layers/model/Conversation.ts"
import { resolveTool } from "../../../src/layers/model/Script.ts"

const read = (body: unknown) => Either.getOrThrow(readRequest(JSON.stringify(body)))

describe("Conversation", () => {
  it("reads a request of Codex: namespaced tools, typed items, the engine's own additions marked", () => {
    const request = read({
      model: "scripted-1",
      reasoning: { effort: "low" },
      stream: true,
      tools: [
        { type: "function", name: "exec_command", parameters: {} },
        { type: "namespace", name: "mcp__fleet", tools: [{ type: "function", name: "room_send" }] },
        { type: "web_search", external_web_access: false }
      ],
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "rules" }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "<environment_context>" }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "a" }, { type: "input_image" }] },
        { type: "reasoning", id: "rs", summary: [], content: null, encrypted_content: "x" },
        { type: "function_call", call_id: "c", name: "room_send", namespace: "mcp__fleet", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "x" }, { text: "y" }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "b" }] }
      ]
    })
    expect(request).toEqual({
      model: "scripted-1",
      effort: "low",
      itemCount: 7,
      conversation: [
        Turn.UserInput({ text: "<environment_context>", injected: true }),
        Turn.UserInput({ text: "a\n", injected: false }),
        Turn.ToolCall({ callId: "c", name: "room_send", namespace: "mcp__fleet", argumentsJson: "{}" }),
        Turn.ToolOutput({ callId: "c", text: "x\ny" }),
        Turn.AgentText({ text: "b" })
      ],
      offered: [
        { name: "exec_command", namespace: null },
        { name: "room_send", namespace: "mcp__fleet" },
        { name: "web_search", namespace: null }
      ]
    })
  })

  it("reads a request of Pi: untyped messages, plain functions", () => {
    const request = read({
      model: "scripted-1",
      tools: [{ type: "function", name: "room_send", parameters: {} }],
      input: [
        { role: "developer", content: "rules" },
        { role: "user", content: [{ type: "input_text", text: "a" }] },
        { type: "function_call", id: "f", call_id: "c", name: "room_send", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: "sent" }
      ]
    })
    expect(request.effort).toBeNull()
    expect(request.conversation).toEqual([
      Turn.UserInput({ text: "a", injected: false }),
      Turn.ToolCall({ callId: "c", name: "room_send", namespace: null, argumentsJson: "{}" }),
      Turn.ToolOutput({ callId: "c", text: "sent" })
    ])
  })

  it("refuses what is no request, without repeating it", () => {
    for (const body of ["", "{", "[]", "{\"model\":1}", "{\"model\":\"m\",\"input\":[5]}"]) {
      const error = Either.getOrThrow(Either.flip(readRequest(body)))
      expect(error).toMatchObject({ _tag: "RequestUnreadable", bodyBytes: body.length })
    }
  })

  it("finds a tool by its plain name in each way it is offered, and prefers the plain one", () => {
    const plain = { name: "room_send", namespace: null }
    const inside = { name: "room_send", namespace: "mcp__fleet" }
    const joined = { name: "mcp__fleet__room_send", namespace: null }
    expect(resolveTool([joined, inside, plain], "room_send")).toEqual(plain)
    expect(resolveTool([joined, inside], "room_send")).toEqual(inside)
    expect(resolveTool([joined], "room_send")).toEqual(joined)
    expect(resolveTool([{ name: "broom_send", namespace: null }], "room_send")).toBeNull()
  })
})
