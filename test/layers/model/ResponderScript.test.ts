// The responder against a small engine that only keeps the conversation and runs the tool, as the real ones do.
import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc, Schema } from "effect"
import { type Conversation, type OfferedTool, Turn } from "../../../src/layers/model/Conversation.ts"
import { responder } from "../../../src/layers/model/ResponderScript.ts"
import type { Script, Step } from "../../../src/layers/model/Script.ts"
import { directBlock, inputOf, messageBlock } from "../../support/ScriptedModel.ts"

const roomSend: ReadonlyArray<OfferedTool> = [{ name: "exec", namespace: null }, {
  name: "room_send",
  namespace: "mcp__fleet"
}]

const Arguments = Schema.Struct({ room: Schema.String, text: Schema.String, reply_to: Schema.String })
const decodeArguments = Schema.decodeUnknownSync(Arguments)

interface Played {
  readonly conversation: Conversation
  readonly sends: ReadonlyArray<typeof Arguments.Type>
  readonly last: Step
}

/** Plays one turn to its end, or to the step that never ends. */
const turn = (
  script: Script,
  before: Conversation,
  input: string,
  run: (call: typeof Arguments.Type) => string = () => "sent"
): Played => {
  const conversation = [...before, Turn.UserInput({ text: input, injected: false })]
  const sends: Array<typeof Arguments.Type> = []
  for (let count = 0; count < 100; count++) {
    const step = script(conversation, roomSend)
    if (step.tool === undefined) {
      if (step.text !== undefined) conversation.push(Turn.AgentText({ text: step.text }))
      return { conversation, sends, last: step }
    }
    const call = decodeArguments(step.tool.args)
    sends.push(call)
    const callId = `call_${conversation.length}`
    const argumentsJson = JSON.stringify(call)
    conversation.push(Turn.ToolCall({ callId, name: "room_send", namespace: "mcp__fleet", argumentsJson }))
    conversation.push(Turn.ToolOutput({ callId, text: run(call) }))
  }
  throw new Error("the turn did not end")
}

const first = (text: string) => [Turn.UserInput({ text, injected: false })]

describe("ResponderScript", () => {
  it("answers the waking messages one by one, in their rooms, naming them, then ends the turn", () => {
    const input = inputOf(
      messageBlock({ eventId: "$1", roomId: "!a", text: "please look" }),
      messageBlock({ eventId: "$2", roomId: "!a", text: "nothing for you", mark: "context" }),
      messageBlock({ eventId: "$3", roomId: "!b", text: "x".repeat(100), mark: "mention" }),
      messageBlock({ eventId: "$4", roomId: "!b", text: "I said so", mark: "own" })
    )
    const played = turn(responder(), [], input)
    expect(played.sends).toEqual([
      { room: "!a", text: "Re: please look", reply_to: "$1" },
      { room: "!b", text: `Re: ${"x".repeat(80)}`, reply_to: "$3" }
    ])
    expect(played.last).toEqual({ delay: 0, text: "Done." })
  })

  it("answers every waking message exactly once, however messages come, repeat and fail now and then", () => {
    const eventId = fc.integer({ min: 0, max: 20 }).map((number) => `$${number}`)
    const mark = fc.constantFrom("wake" as const, "mention" as const, "context" as const, "own" as const)
    const inputs = fc.array(fc.array(fc.record({ eventId, mark, text: fc.string() }), { maxLength: 6 }), {
      maxLength: 6
    })
    fc.assert(fc.property(inputs, fc.integer({ min: 0, max: 7 }), (inputs, failEvery) => {
      let conversation: Conversation = []
      let calls = 0
      const answered: Array<string> = []
      for (const messages of inputs) {
        const text = inputOf(...messages.map((message) => messageBlock(message)))
        // A new script each turn: nothing is remembered but the conversation.
        conversation = turn(responder(), conversation, text, (call) => {
          calls++
          if (failEvery > 1 && calls % failEvery === 0) return "Error: the room is busy"
          answered.push(call.reply_to)
          return "sent $x"
        }).conversation
      }
      const waking = inputs.flat().filter(({ mark }) => mark === "wake" || mark === "mention")
      expect(answered.toSorted()).toEqual([...new Set(waking.map(({ eventId }) => eventId))].toSorted())
    }))
  })

  it("takes the newest input's messages first, then what an interrupted turn left", () => {
    const cut = first(
      inputOf(messageBlock({ eventId: "$1", text: "one" }), messageBlock({ eventId: "$2", text: "two" }))
    )
    const played = turn(responder(), cut, inputOf(messageBlock({ eventId: "$3", text: "now", mark: "mention" })))
    expect(played.sends.map((send) => send.reply_to)).toEqual(["$3", "$1", "$2"])
  })

  it("sends again after each engine's words for a call that was not made, and gives up after the third", () => {
    const failures = [
      "aborted",
      "unsupported call: room_send",
      "Wall time: 0.0052 seconds\nOutput:\ntool call error: tool call failed for `fleet/room_send`",
      "Tool room_send not found",
      "Validation failed for tool \"room_send\":\n  - room: missing",
      "No result provided",
      "The message was refused: you are not in this room. Nothing was sent. Correct the call before you repeat it.",
      "error: you are not in this room",
      "{\"error\":\"not joined\"}",
      "{ \"ok\": false }"
    ]
    for (const failure of failures) {
      let attempts = 0
      const once = turn(
        responder(),
        [],
        inputOf(messageBlock({ eventId: "$1", text: "a" })),
        () => attempts++ === 0 ? failure : "Wall time: 0.0052 seconds\nOutput:\nsent $abc; no errors"
      )
      expect(once.sends.length, failure).toBe(2)
    }
    const never = turn(responder(), [], inputOf(messageBlock({ eventId: "$1", text: "a" })), () => "Refused")
    expect(never.sends.length).toBe(3)
    const own = turn(
      responder({ isSent: (output) => output === "yes" }),
      [],
      inputOf(messageBlock({ eventId: "$1", text: "a" }))
    )
    expect(own.sends.length).toBe(3)
  })

  it("takes each of the product's words for a message that went out", () => {
    const wall = "Wall time: 0.0052 seconds\nOutput:\n"
    for (
      const word of ["sent: $a", "queued: it is stored", `${wall}sent: $a`, "{\"status\":\"queued\",\"eventId\":null}"]
    ) {
      const played = turn(responder(), [], inputOf(messageBlock({ eventId: "$1", text: "a" })), () => word)
      expect(played.sends.length, word).toBe(1)
    }
  })

  it("reads the file that stands in place of a large input once, with the shell that is offered, then answers", () => {
    const manifest =
      "⟦fleet delivery 5b0f7a52-6b1e-4c55-9f3e-1f0a3f8f4a01⟧\n── too large\nfile \"/a b/it\\u{22}s.txt\"\n9 bytes"
    const input = first(manifest)
    const command = responder()(input, [{ name: "bash", namespace: null }]).tool?.args?.["command"]
    expect(command).toContain("'/a b/it\"s.txt'")
    const shell = [{ name: "exec_command", namespace: null }, ...roomSend]
    expect(responder()(input, shell).tool).toEqual({ name: "exec_command", args: { cmd: command } })
    expect(responder()(input, roomSend)).toEqual({ delay: 0, text: "Done." })

    const read = (output: string) => [
      ...input,
      Turn.ToolCall({
        callId: "c",
        name: "exec_command",
        namespace: null,
        argumentsJson: JSON.stringify({ cmd: command })
      }),
      Turn.ToolOutput({ callId: "c", text: output })
    ]
    const found = `Wall time: 0.1 seconds\nOutput:\n${messageBlock({ eventId: "$1", text: "long" })}\n--\n${
      directBlock("op", "hello")
    }`
    expect(responder()(read(found), shell).tool?.args).toMatchObject({ reply_to: "$1", text: "Re: long" })
    expect(responder()(read("cat: no such file"), shell)).toEqual({ delay: 0, text: "Done." })
  })

  it("is busy or hangs as a message says, in the turn that brought the message only", () => {
    const busy = inputOf(messageBlock({ eventId: "$1", text: "work <<busy 1500>> hard" }))
    expect(responder({ delayMs: 10 })(first(busy), roomSend)).toMatchObject({
      delay: 1500,
      tool: { args: { reply_to: "$1", text: "Re: work «busy 1500» hard" } }
    })
    const next = Turn.UserInput({ text: inputOf(), injected: false })
    expect(responder({ delayMs: 10 })([...first(busy), next], roomSend)).toMatchObject({
      delay: 10,
      tool: { args: { reply_to: "$1" } }
    })

    const hanging = inputOf(
      messageBlock({ eventId: "$1", text: "a" }),
      messageBlock({ eventId: "$2", text: "<<hang>>" })
    )
    const hung = turn(responder(), [], hanging)
    expect(hung.sends.map((send) => send.reply_to)).toEqual(["$1"])
    expect(hung.last).toEqual({ delay: 0, hang: true })
    const freed = turn(responder(), hung.conversation, inputOf(messageBlock({ eventId: "$3", text: "b" })))
    expect(freed.sends.map((send) => send.reply_to)).toEqual(["$3"])
    expect(freed.last).toEqual({ delay: 0, text: "Done." })
  })

  it("quotes direct messages in its final text and sends nothing for them", () => {
    const played = turn(responder(), [], inputOf(directBlock("op-1", "hello agent <<busy 20>>")))
    expect(played.sends).toEqual([])
    expect(played.last).toEqual({ delay: 20, text: "Done. You wrote: hello agent <<busy 20>>" })
  })

  it("two agents that wake each other come to an end", () => {
    const conversations: [Conversation, Conversation] = [[], []]
    let message = { eventId: "$0", text: "hello both" }
    let exchanged = 0
    for (let agent: 0 | 1 = 0; exchanged < 20; agent = agent === 0 ? 1 : 0) {
      const played = turn(responder(), conversations[agent], inputOf(messageBlock(message)))
      conversations[agent] = played.conversation
      const answer = played.sends[0]
      if (answer === undefined) break
      exchanged++
      message = { eventId: `$${exchanged}`, text: answer.text }
    }
    expect(exchanged).toBe(3)
  })

  it("says so where the tool is not offered, and calls it by the name that is", () => {
    const input = first(inputOf(messageBlock({ eventId: "$1", text: "a" })))
    expect(responder()(input, [])).toEqual({ delay: 0, text: "Done. room_send is not offered." })
    expect(responder()(input, [{ name: "mcp__fleet__room_send", namespace: null }])).toMatchObject({
      tool: { name: "mcp__fleet__room_send" }
    })
    expect(responder()(input, roomSend)).toMatchObject({ tool: { name: "room_send", namespace: "mcp__fleet" } })
  })
})
