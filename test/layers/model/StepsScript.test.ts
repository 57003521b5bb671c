// Which step the newest input's steps give, and what becomes of inputs without readable ones.
import { describe, expect, it } from "@effect/vitest"
import { type Conversation, Turn } from "../../../src/layers/model/Conversation.ts"
import { echo, steps, writeSteps } from "../../../src/layers/model/StepsScript.ts"

const user = (text: string) => Turn.UserInput({ text, injected: text.startsWith("<turn") })
const output = Turn.ToolOutput({ callId: "c", text: "x" })
const stepOf = (...conversation: Conversation) => steps(conversation, [])

describe("StepsScript", () => {
  const three = user(`do it ${writeSteps({ tool: { name: "a" } }, { text: "b", delay: 5 }, { status: 500 })} please`)

  it("counts the tool outputs since the newest input, and stays at the last step", () => {
    expect(stepOf(three)).toEqual({ tool: { name: "a" } })
    expect(stepOf(three, output)).toEqual({ text: "b", delay: 5 })
    expect(stepOf(three, output, output)).toEqual({ status: 500 })
    expect(stepOf(three, output, output, output)).toEqual({ status: 500 })
    expect(stepOf(three, output, output, three)).toEqual({ tool: { name: "a" } })
  })

  it("is not moved by what the engine adds in the user role", () => {
    expect(stepOf(three, output, user("<turn_aborted>"))).toEqual({ text: "b", delay: 5 })
  })

  it("echoes a newer input without steps", () => {
    expect(stepOf(three, output, user("go on"))).toEqual({ text: "ok: go on" })
    expect(echo([three, user("hi")], [])).toEqual({ text: "ok: hi" })
    expect(echo([], [])).toEqual({ text: "ok: " })
  })

  it("refuses unreadable steps loudly: no JSON, an unknown field, an empty list, a value out of bounds", () => {
    for (const json of ["[{]", "[{\"txt\":\"typo\"}]", "[]", "[{\"delay\":-1}]", "[{\"status\":200}]"]) {
      expect(stepOf(user(`<<${json}>>`))).toMatchObject({ status: 400 })
    }
  })
})
