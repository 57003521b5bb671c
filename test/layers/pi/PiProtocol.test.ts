// Pi's output as bytes and records: what is dropped unread, what ends a session, and what a run's end is called.
import { describe, expect, it } from "@effect/vitest"
import { Chunk, Effect, Either, FastCheck, Stream } from "effect"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { withoutUnread } from "../../../src/layers/pi/PiLines.ts"
import { decodeRecord, unreadKinds, visibleText } from "../../../src/layers/pi/PiRecords.ts"
import { advance, harmless, idle, type PiTurn, turnIdOf } from "../../../src/layers/pi/PiTurn.ts"
import * as Engine from "../../support/EngineSession.ts"
import * as Pi from "./PiFixture.ts"

const timeoutMs = 60_000

const filtered = (chunks: ReadonlyArray<Buffer>) =>
  Stream.fromIterable(chunks).pipe(
    withoutUnread,
    Stream.runCollect,
    Effect.map((kept) => Buffer.concat(Chunk.toReadonlyArray(kept)).toString())
  )

describe("PiProtocol", () => {
  it.effect("unread kinds are dropped however the bytes are cut, all else comes through unchanged", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(FastCheck.oneof(
            FastCheck.fullUnicodeString().map((text) => text.replaceAll("\n", " ")),
            FastCheck.constantFrom("", "{}", `{"type":"agent_endless"}`, `{"type":"agent_settled","aborted":false}`),
            FastCheck.constantFrom(...unreadKinds).map((kind) => `{"type":"${kind}","messages":["é𝄞"]}`)
          )),
          FastCheck.fullUnicodeString().map((text) => text.replaceAll("\n", " ")),
          FastCheck.array(FastCheck.integer({ min: 1, max: 60 }), { minLength: 1 }),
          async (lines, torn, sizes) => {
            const bytes = Buffer.from([...lines, torn].join("\n"))
            const chunks: Array<Buffer> = []
            for (let at = 0, n = 0; at < bytes.length; n++) {
              const size = sizes[n % sizes.length] ?? 1
              chunks.push(bytes.subarray(at, at + size))
              at += size
            }
            const isUnread = (line: string) => unreadKinds.some((kind) => line.startsWith(`{"type":"${kind}"`))
            const kept = lines.filter((line) => !isUnread(line)).map((line) => `${line}\n`).join("")
            // A torn last line may be held back while it is undecided: nobody would read it either.
            const found = await Effect.runPromise(filtered(chunks))
            expect([kept, kept + torn]).toContain(found)
          }
        )
      )
    ))

  it("known records have their form, unknown ones are ignored, and no reason quotes a line", () => {
    expect(decodeRecord(`{"type":"surprise","x":1}`)).toEqual(Either.right({ type: "ignored" }))
    expect(decodeRecord(`{"type":"agent_settled","aborted":true,"more":1}`)).toEqual(
      Either.right({ type: "agent_settled", aborted: true })
    )
    for (
      const line of [
        "",
        "secret",
        "[1]",
        `"secret"`,
        `{"kind":"secret"}`,
        `{"type":"agent_settled","aborted":"secret"}`
      ]
    ) {
      const reason = Either.getOrThrow(Either.flip(decodeRecord(line)))
      expect(reason).not.toContain("secret")
    }
    const content = [{ type: "thinking", text: "hidden" }, { type: "text", text: "a" }, { type: "text", text: "b" }]
    expect(visibleText({ role: "assistant", content })).toBe("a\n\nb")
  })

  it("a turn's end is named by its last answer, and an abort wins", () => {
    const deliveryId = Engine.newDelivery()
    const turnId = turnIdOf(deliveryId)
    const end = (
      aborted: boolean,
      message: { readonly stopReason?: string; readonly errorMessage?: string } | null
    ) => {
      let turn: PiTurn = { _tag: "Running", deliveryId, reported: true, last: null }
      if (message !== null) [turn] = advance(turn, { type: "message_end", message: { role: "assistant", ...message } })
      const [next, events] = advance(turn, { type: "agent_settled", aborted })
      expect(next).toEqual(idle)
      return events
    }
    const ended = (status: string, error: unknown = null) => [{ _tag: "TurnEnded", turnId, status, error }]
    expect(end(false, { stopReason: "stop" })).toEqual(ended("completed"))
    expect(end(false, { stopReason: "toolUse" })).toEqual(ended("completed"))
    expect(end(true, { stopReason: "stop" })).toEqual(ended("interrupted"))
    expect(end(false, { stopReason: "aborted" })).toEqual(ended("interrupted"))
    expect(end(false, { stopReason: "surprise" })).toEqual(ended("failed", "the answer ended in an unknown way"))
    expect(end(false, { stopReason: "length" })).toEqual(ended("failed", expect.stringContaining("output limit")))
    expect(end(false, null)).toEqual(ended("failed", "the model gave no answer"))
    expect(advance(idle, { type: "agent_settled", aborted: false })).toEqual([idle, []])
    expect(harmless(`key sk-${"a1".repeat(20)} ${"word ".repeat(200)}`)).toMatch(/^key \[…\] word/u)
    expect(harmless("word ".repeat(200)).length).toBe(500)
    expect(harmless("two\r\n\u001b[31mlines\n")).toBe("two [31mlines")
  })

  it("a failure is told by kind and status, and never in the provider's words", () => {
    const errorOf = (errorMessage: string | undefined) => {
      const turn: PiTurn = { _tag: "Running", deliveryId: Engine.newDelivery(), reported: true, last: null }
      const message = {
        role: "assistant",
        stopReason: "error",
        ...(errorMessage === undefined ? {} : { errorMessage })
      }
      const [failed] = advance(turn, { type: "message_end", message })
      const [, events] = advance(failed, { type: "agent_settled", aborted: false })
      return events.flatMap((event) => event._tag === "TurnEnded" ? [event.error] : [])
    }
    for (const words of ["some-provider API error (401): secret", "401: secret", `401 {"message":"secret"}`]) {
      expect(errorOf(words)).toEqual(["the provider failed (HTTP 401)"])
    }
    for (const words of [undefined, "", "secret", "4012: secret", "200: secret", "secret: (404): secret"]) {
      expect(errorOf(words)).toEqual(["the provider failed"])
    }
  })

  it("retries are one turn, and what Pi does without an input is nobody's", () => {
    const deliveryId = Engine.newDelivery()
    const running: PiTurn = { _tag: "Running", deliveryId, reported: false, last: null }
    const [once, first] = advance(running, { type: "agent_start" })
    expect(first).toEqual([{ _tag: "TurnStarted", turnId: turnIdOf(deliveryId) }])
    expect(advance(once, { type: "agent_start" })).toEqual([once, []])
    expect(advance(idle, { type: "agent_start" })).toEqual([idle, []])
  })
})

/** A program in Pi's place that answers as Pi does until it is given an input; then it does what `MISBEHAVE` says. */
const program = `
import { createInterface } from "node:readline"
const say = (record) => process.stdout.write(JSON.stringify(record) + "\\n")
const path = process.argv[process.argv.indexOf("--session") + 1]
const id = process.env.MISBEHAVE === "bent" ? "another" : path.split("/").at(-1).replace(".jsonl", "")
const model = { provider: "scripted", id: "scripted-1", reasoning: true, thinkingLevelMap: { off: null } }
const answers = {
  get_state: { sessionId: id, sessionFile: path, model: process.env.MISBEHAVE === "other-model" && path.startsWith("/")
    ? { ...model, id: "scripted-2" } : model, thinkingLevel: process.env.MISBEHAVE === "clamped" ? "medium" : "low" },
  get_available_models: { models: [model] },
  get_available_thinking_levels: { levels: process.env.MISBEHAVE === "clamped" ? ["medium"] : ["low", "medium"] },
  get_commands: { commands: process.env.MISBEHAVE === "bare" ? [] : [{ name: "fleet-abort" }] }
}
const misbehave = {
  garbage: () => process.stdout.write("no record\\n"),
  form: () => say({ type: "agent_settled" }),
  long: () => process.stdout.write("x".repeat(33 * 1024 * 1024)),
  unread: () => {
    process.stdout.write('{"type":"agent_end","messages":["' + "x".repeat(33 * 1024 * 1024) + '"]}\\n')
    say({ type: "agent_settled", aborted: false })
  },
  flood: () => { for (let n = 0; n < 20000; n++) say({ type: "message_end", message: { role: "user" } }) },
  dialog: () => say({ type: "extension_ui_request", id: "d1", method: "confirm", title: "?" }),
  exit: () => process.exit(3)
}
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, message, type } = JSON.parse(line)
  if (type === "extension_ui_response") return say({ type: "agent_settled", aborted: JSON.parse(line).cancelled })
  if (type !== "prompt") return say({ id, type: "response", success: true, data: answers[type] })
  if (process.env.MISBEHAVE === "queued") return say({ id, type: "response", success: true, data: { disposition: "queued" } })
  if (process.env.MISBEHAVE === "refused") return say({ id, type: "response", success: false, error: "no key" })
  say({ id, type: "response", success: true, data: { disposition: "started" } })
  if (!message.startsWith("/")) misbehave[process.env.MISBEHAVE]?.()
})
process.stdin.on("end", () => process.exit(0))
`

const setUp = (how: string) =>
  Effect.gen(function*() {
    const folder = yield* Engine.temporaryFolder
    const bundle = join(folder, "dist")
    mkdirSync(bundle)
    writeFileSync(
      join(folder, "package.json"),
      `{"name":"@earendil-works/pi-coding-agent","version":"1.6.0","type":"module"}`
    )
    const cliPath = join(bundle, "cli.js")
    writeFileSync(cliPath, program)
    return yield* Pi.setUp({ cliPath, extraEnvironment: { MISBEHAVE: how } })
  })

const given = (how: string) =>
  Effect.gen(function*() {
    const test = yield* setUp(how)
    const session = yield* Engine.activate(test)
    const deliveryId = Engine.newDelivery()
    const submitted = session.submit({ deliveryId, text: Engine.inputOf(deliveryId) })
    return { test, session, deliveryId, submitted }
  })

describe("a Pi that misbehaves", () => {
  for (
    const [how, reason] of [
      ["garbage", "a line of its output is no JSON record"],
      ["form", "a record of the kind agent_settled has an unknown form"],
      ["long", "a line is longer than 33554432 bytes"],
      ["exit", "it exited with code 3"]
    ]
  ) {
    it.scopedLive(`ends as gone: ${how}`, () =>
      Effect.gen(function*() {
        const { deliveryId, session, submitted } = yield* given(how ?? "")
        yield* Effect.ignore(submitted)
        expect(yield* session.until("Exited")).toEqual({ _tag: "Exited", reason })
        expect(yield* Effect.flip(submitted)).toMatchObject({ _tag: "EngineGone", reason })
        expect(yield* session.interrupt(turnIdOf(deliveryId))).toBe("not-running")
      }), timeoutMs)
  }

  it.scopedLive(
    "a consumer that does not read its events ends the session, not the daemon",
    () =>
      Effect.gen(function*() {
        const test = yield* setUp("flood")
        const session = yield* test.engine.activate(test.activation)
        const deliveryId = Engine.newDelivery()
        const submit = Effect.flip(session.submit({ deliveryId, text: Engine.inputOf(deliveryId) }))
        yield* Effect.ignore(submit)
        // Nobody has read so far: what is kept is bounded, and the end stands behind it.
        yield* submit.pipe(
          Effect.delay("50 millis"),
          Effect.repeat({ until: ({ _tag }) => _tag === "EngineGone" }),
          Effect.timeout("20 seconds")
        )
        const events = Chunk.toReadonlyArray(yield* Stream.runCollect(session.events))
        expect(events.length).toBe(10_001)
        expect(events.at(-1)).toEqual({ _tag: "Exited", reason: "its events were not read in time" })
      }),
    timeoutMs
  )

  it.scopedLive(
    "an end of run larger than any limit is passed over, a dialog is cancelled",
    () =>
      Effect.gen(function*() {
        const long = yield* given("unread")
        yield* long.submitted
        yield* long.session.until("TurnEnded", ({ status }) => status === "failed")
        const asked = yield* given("dialog")
        yield* asked.submitted
        yield* asked.session.until("TurnEnded", ({ status }) => status === "interrupted")
      }),
    timeoutMs
  )

  it.scopedLive(
    "queued text ends the session, refused text leaves it free, an interrupt without an answer ends it",
    () =>
      Effect.gen(function*() {
        const queued = yield* given("queued")
        expect(yield* Effect.flip(queued.submitted)).toMatchObject({ _tag: "EngineGone" })
        const refused = yield* given("refused")
        for (let n = 0; n < 2; n++) {
          expect(yield* Effect.flip(refused.submitted)).toMatchObject({ _tag: "InputRefused", reason: "no key" })
        }
        const other = Engine.newDelivery()
        const wrong = refused.session.submit({ deliveryId: other, text: `/quit ${Engine.inputOf(other)}` })
        expect(yield* Effect.flip(wrong)).toMatchObject({ _tag: "InputRefused" })
        const silent = yield* given("silent")
        yield* silent.submitted
        expect(yield* Effect.flip(silent.session.interrupt(turnIdOf(silent.deliveryId)))).toMatchObject({
          _tag: "EngineGone",
          reason: "its interrupt command did not answer"
        })
      }),
    timeoutMs
  )

  it.scopedLive(
    "[P-05] [C-11] what came up otherwise than asked for is refused, and leaves no session file",
    () =>
      Effect.gen(function*() {
        for (
          const [how, refusal] of [
            ["bent", { _tag: "EngineUnavailable", reason: expect.stringContaining("it opened the session another") }],
            ["bare", { _tag: "EngineUnavailable", reason: "it did not load the extension with its tools" }],
            ["other-model", { _tag: "ModelNotOffered", setting: "model", offered: ["scripted/scripted-1"] }],
            ["clamped", { _tag: "ModelNotOffered", setting: "effort", wanted: "low", offered: ["medium"] }]
          ] as const
        ) {
          const test = yield* setUp(how)
          expect(yield* Effect.flip(Effect.scoped(test.engine.activate(test.activation)))).toMatchObject(refusal)
          expect(readdirSync(join(test.home, "pi", "sessions"))).toEqual([])
        }
      }),
    timeoutMs
  )
})
