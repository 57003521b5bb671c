// What runs inside Pi: the tool that reaches the agent's socket, and the interrupt that compares once more in there.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema, type Scope } from "effect"
import { createServer } from "node:http"
import { SendOutcome, SendRequest } from "../../../src/domain/api/AgentSocket.ts"
import { extensionPath } from "../../../src/layers/pi/PiInstall.ts"
import { start } from "../../../src/layers/pi/PiProcess.ts"
import * as PiSession from "../../../src/layers/pi/PiSession.ts"
import * as Engine from "../../support/EngineSession.ts"
import * as Pi from "./PiFixture.ts"

const timeoutMs = 60_000
const encode = Schema.encodeSync(Schema.parseJson(Schema.Unknown))
const decode = Schema.decodeSync(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown })))

interface Call {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

/** The agent's socket: records the calls and gives one answer to all. `null` breaks off without one. */
const socket = (path: string, answer: readonly [status: number, body: string] | null) =>
  Effect.acquireRelease(
    Effect.async<{ readonly calls: Array<Call>; readonly close: Effect.Effect<void> }>((resume) => {
      const calls: Array<Call> = []
      const server = createServer((request, response) => {
        const parts: Array<Buffer> = []
        request.on("data", (part: Buffer) => parts.push(part))
        request.on("end", () => {
          calls.push({ method: request.method, url: request.url, body: decode(Buffer.concat(parts).toString()) })
          if (answer === null) return request.socket.destroy()
          response.writeHead(answer[0], { "content-type": "application/json" })
          return response.end(answer[1])
        })
      })
      const close = Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
      server.listen(path, () => resume(Effect.succeed({ calls, close })))
    }),
    ({ close }) => close
  )

const ToolResult = Schema.parseJson(Schema.Struct({
  message: Schema.Struct({
    role: Schema.Literal("toolResult"),
    toolCallId: Schema.String,
    content: Schema.Tuple(Schema.Struct({ text: Schema.String })),
    isError: Schema.Boolean
  })
}))

/** Lets the model call `room_send` once, and gives what the model was told. */
const sendOnce = (test: Pi.PiTest, args: Record<string, unknown>) =>
  Effect.gen(function*() {
    const session = yield* Engine.activate(test, { runId: Engine.newRun() })
    const deliveryId = Engine.newDelivery()
    const text = Engine.inputOf(deliveryId, { tool: { name: "room_send", args } }, { text: "done" })
    yield* session.submit({ deliveryId, text })
    yield* session.until("TurnEnded", ({ status }) => status === "completed")
    const results = Pi.linesOf(session.binding.path).map((line) => Schema.decodeUnknownOption(ToolResult)(line))
    const found = results.find((result) => result._tag === "Some")
    return yield* Effect.fromNullable(found?.value.message)
  }).pipe(Effect.scoped)

const plain = { room: "!a:test", text: "hello" }

describe("PiExtension", () => {
  it.scopedLive("room_send posts to the agent's socket and tells the model how it went", () =>
    Effect.gen(function*() {
      const test = yield* Pi.setUp()
      const path = test.activation.tools.socketPath
      const answer = { status: "sent", eventId: "$event" } satisfies typeof SendOutcome.Encoded
      const { calls } = yield* socket(path, [200, encode(answer)])
      const result = yield* sendOnce(test, { ...plain, reply_to: "$before", mentions: ["@bob:test"] })
      expect(result).toMatchObject({ content: [{ text: "sent: $event" }], isError: false })
      const body = { toolCallId: result.toolCallId, ...plain, replyTo: "$before", mentions: ["@bob:test"] }
      expect(calls).toEqual([{ method: "POST", url: "/v1/send", body }])
      expect(yield* Schema.validate(SendRequest)(calls[0]?.body)).toEqual(body)
    }), timeoutMs)

  it.scopedLive(
    "a refused message is a tool error with the reason, a broken answer leaves open what happened",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const path = test.activation.tools.socketPath
        const told = (answer: readonly [number, string] | null, times = 1) =>
          Effect.gen(function*() {
            const { calls } = yield* socket(path, answer)
            const { content, isError } = yield* sendOnce(test, plain)
            expect(isError).toBe(true)
            expect(calls.length).toBe(times)
            expect(new Set(calls.map((call) => call.body["toolCallId"])).size).toBe(1)
            return content[0].text
          }).pipe(Effect.scoped)
        expect(yield* told([422, encode({ _tag: "ToolRefused", reason: "not a member of !a:test" })])).toBe(
          "The message was refused: not a member of !a:test. Nothing was sent. Correct the call before you repeat it."
        )
        expect(yield* told([503, encode({ _tag: "ToolUnavailable", reason: "the disk is full" })])).toBe(
          "The message was not taken: the disk is full. Nothing was sent. Try again in a minute."
        )
        expect(yield* told([500, "oops"])).toMatch(/unknown form \(500\).*not known whether/u)
        expect(yield* told([200, "no JSON"])).toMatch(/not known whether/u)
        // Asked once more under the same name, which sends nothing twice.
        expect(yield* told(null, 2)).toMatch(/gave no answer.*not known whether/u)
      }),
    timeoutMs
  )

  it.scopedLive("a queued message is told as a promise", () =>
    Effect.gen(function*() {
      const test = yield* Pi.setUp()
      yield* socket(test.activation.tools.socketPath, [200, encode({ status: "queued", eventId: null })])
      expect(yield* sendOnce(test, plain)).toMatchObject({
        content: [{ text: "queued: it is stored and will be sent as soon as possible; do not send it again" }],
        isError: false
      })
    }), timeoutMs)

  it.scopedLive("without the socket the tool says that nothing was sent, and what to do", () =>
    Effect.gen(function*() {
      const test = yield* Pi.setUp()
      const { content, isError } = yield* sendOnce(test, plain)
      expect(isError).toBe(true)
      expect(content[0].text).toMatch(/cannot be reached \(ENOENT\).*Nothing was sent\. Try again/u)
      const { close } = yield* socket(test.activation.tools.socketPath, null)
      yield* close
      expect((yield* sendOnce(test, plain)).content[0].text).toMatch(/Nothing was sent/u)
    }), timeoutMs)

  it.scopedLive(
    "the interrupt command compares in Pi itself: a wrong or late one stops nothing",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        yield* test.engine.models(test.home)
        const folder = `${test.home}/pi`
        const { binding } = yield* Effect.scoped(test.engine.activate(test.activation))
        const program = {
          cliPath: Pi.piProgram,
          nodePath: process.execPath,
          hostEnvironment: { PATH: "/usr/bin:/bin" },
          extraEnvironment: {}
        }
        const session: PiSession.PiSession = yield* PiSession.make(
          start(program, { folder, sessionFolder: `${folder}/sessions` }, {
            runId: Engine.newRun(),
            workFolder: test.activation.workFolder,
            socketPath: null,
            args: ["--session", binding.path, "-e", extensionPath]
          }),
          binding
        )
        const watched = yield* Engine.watch(session)
        const command = (deliveryId: string) =>
          session.wire.ask({ type: "prompt", message: `/${PiSession.abortCommand} ${deliveryId} test` }, "10 seconds")
        const first = Engine.newDelivery()
        const second = Engine.newDelivery()
        expect(yield* command(first)).toMatchObject({ success: true, data: { disposition: "handled" } })
        yield* session.submit({ deliveryId: first, text: Engine.inputOf(first, { text: "one" }) })
        yield* watched.until("TurnEnded", ({ status }) => status === "completed")

        const { turnId } = yield* session.submit({ deliveryId: second, text: Engine.inputOf(second, Engine.endless) })
        yield* Pi.outputStarted(test)
        yield* command(first)
        yield* command("")
        yield* Effect.sleep("300 millis")
        expect((yield* watched.seen).filter(({ _tag }) => _tag === "TurnEnded").length).toBe(1)
        yield* command(second)
        const ended = yield* watched.until("TurnEnded", (event) => event.turnId === turnId)
        expect(ended.status).toBe("interrupted")
      }) satisfies Effect.Effect<void, unknown, Scope.Scope>,
    timeoutMs
  )
})
