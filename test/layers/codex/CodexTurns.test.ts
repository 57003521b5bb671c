// What Codex reports, as events: the forms that a live run does not bring about.
import { expect, it } from "@effect/vitest"
import { TurnId } from "../../../src/domain/Ids.ts"
import * as CodexTurns from "../../../src/layers/codex/CodexTurns.ts"

const threadId = "thread"
const turnId = TurnId.make("turn")
const delta = (itemId: string, delta: string) =>
  ({ method: "item/agentMessage/delta", params: { threadId, turnId, itemId, delta } }) as const

it("a failure is told by kind and status, whatever its form, and never in the provider's words", () => {
  const errorOf = (codexErrorInfo: unknown) =>
    CodexTurns.make(threadId).read({
      method: "turn/completed",
      params: { threadId, turn: { id: turnId, status: "failed", error: { codexErrorInfo } } }
    }).flatMap((event) => event._tag === "TurnEnded" ? [event.error] : [])
  expect(errorOf("usageLimitExceeded")).toEqual(["usageLimitExceeded"])
  expect(errorOf({ httpConnectionFailed: { httpStatusCode: 401 } })).toEqual(["httpConnectionFailed (HTTP 401)"])
  expect(errorOf({ responseStreamDisconnected: { httpStatusCode: null } })).toEqual(["responseStreamDisconnected"])
  expect(errorOf({ somethingNew: 3 })).toEqual(["somethingNew"])
  for (const unknown of [null, undefined, 3, {}]) expect(errorOf(unknown)).toEqual(["the engine names no cause"])
})

it("a message that another one follows without an end is handed out, and a long one is cut", () => {
  const turns = CodexTurns.make(threadId)
  expect(turns.read(delta("a", "one"))).toEqual([])
  expect(turns.read(delta("b", "two"))).toEqual([{ _tag: "Output", turnId, text: "one" }])
  for (let index = 0; index < 3000; index++) turns.read(delta("b", "x".repeat(1024)))
  const [left] = turns.left()
  expect(left?._tag === "Output" ? left.text.length : 0).toBeLessThan(1_100_000)
  expect(turns.left()).toEqual([])
})

it("a turn that nobody submitted makes the thread busy as well", () => {
  const turns = CodexTurns.make(threadId)
  expect(turns.busy()).toBe(false)
  turns.read({ method: "turn/started", params: { threadId: "another", turn: { id: turnId } } })
  expect(turns.busy()).toBe(false)
  turns.read({ method: "turn/started", params: { threadId, turn: { id: turnId } } })
  expect(turns.busy()).toBe(true)
  expect(turns.running()).toBe(turnId)
  turns.read({ method: "turn/completed", params: { threadId, turn: { id: turnId, status: "completed", error: null } } })
  expect(turns.busy()).toBe(false)
})
