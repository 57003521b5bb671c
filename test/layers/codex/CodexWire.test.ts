// The conversation with an app-server that misbehaves: what is tolerated, what ends it, and that every wait has an end.
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Either, Fiber, Option, Queue, Schema, Stream, TestClock } from "effect"
import { Binding } from "../../../src/domain/History.ts"
import { TurnId } from "../../../src/domain/Ids.ts"
import * as CodexSession from "../../../src/layers/codex/CodexSession.ts"
import * as CodexWire from "../../../src/layers/codex/CodexWire.ts"
import { type ManagedProcess, type ProcessEnd, ProcessGone } from "../../../src/layers/process/ManagedProcess.ts"
import { newDelivery } from "../../support/EngineSession.ts"

const Json = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const encode = Schema.encodeSync(Json)
const decode = Schema.decodeSync(Json)

/** A process whose output the test writes and whose input it reads. */
const fakeProcess = Effect.gen(function*() {
  const output = yield* Queue.unbounded<Uint8Array>()
  const input = yield* Queue.unbounded<{ readonly [key: string]: unknown }>()
  const ended = yield* Deferred.make<ProcessEnd>()
  const process: ManagedProcess = {
    pid: 1,
    stdout: Stream.fromQueue(output),
    write: (line) => Effect.asVoid(Queue.offer(input, decode(line))),
    end: Deferred.await(ended)
  }
  const say = (line: string) => Effect.asVoid(Queue.offer(output, Buffer.from(`${line}\n`)))
  const end = (signal: string) =>
    Effect.zipRight(
      Deferred.succeed(ended, { code: null, signal, stderrTail: "" }),
      Queue.shutdown(output)
    )
  return {
    process,
    heard: Queue.take(input),
    say,
    tell: (message: { readonly [key: string]: unknown }) => say(encode(message)),
    end
  }
})

const silent: CodexWire.Listener = {
  onNotification: () => Effect.void,
  onRequest: () => Effect.succeed(null)
}

const Answer = Schema.Struct({ value: Schema.Number })
const ask = (wire: CodexWire.CodexWire, method = "some/method") => wire.request(method, {}, Answer, "30 seconds")

const reasonOf = <A, E extends { readonly message: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => error.message)

const set = (listener = silent) =>
  Effect.gen(function*() {
    const fake = yield* fakeProcess
    return { ...fake, wire: yield* CodexWire.make(fake.process, listener) }
  })

it.scoped("answers find their requests in any order; an unknown ID and unknown fields mean nothing", () =>
  Effect.gen(function*() {
    const { heard, tell, wire } = yield* set()
    const first = yield* Effect.fork(ask(wire))
    const firstId = (yield* heard)["id"]
    const second = yield* Effect.fork(ask(wire))
    const secondId = (yield* heard)["id"]
    yield* tell({ id: 999, result: {} })
    yield* tell({ id: secondId, result: { value: 2, more: true } })
    yield* tell({ id: firstId, result: { value: 1 }, also: 1 })
    expect(yield* Fiber.join(first)).toEqual({ value: 1 })
    expect(yield* Fiber.join(second)).toEqual({ value: 2 })
  }))

it.scoped("a refusal is the answer to its request alone", () =>
  Effect.gen(function*() {
    const { heard, tell, wire } = yield* set()
    const asking = yield* Effect.fork(Effect.either(ask(wire)))
    yield* tell({ id: (yield* heard)["id"], error: { code: -32600, message: "no" } })
    expect(Either.getLeft(yield* Fiber.join(asking))).toMatchObject(
      Option.some({ _tag: "RequestRefused", error: { code: -32600 } })
    )
    const again = yield* Effect.fork(ask(wire))
    yield* tell({ id: (yield* heard)["id"], result: { value: 3 } })
    expect(yield* Fiber.join(again)).toEqual({ value: 3 })
  }))

it.scoped("an answer that does not come in time ends the conversation", () =>
  Effect.gen(function*() {
    const { heard, wire } = yield* set()
    const asking = yield* Effect.fork(reasonOf(ask(wire)))
    yield* heard
    yield* TestClock.adjust("30 seconds")
    expect(yield* Fiber.join(asking)).toBe("codex is gone: no answer to some/method within 30s")
    expect((yield* wire.over).reason).toContain("some/method")
    expect(yield* reasonOf(ask(wire, "other"))).toContain("some/method")
  }))

it.scoped("no more than sixteen requests wait at the same time, and a waiting one has its deadline too", () =>
  Effect.gen(function*() {
    const { heard, wire } = yield* set()
    const fibers = yield* Effect.forEach(Array.from({ length: 17 }), () => Effect.fork(reasonOf(ask(wire))))
    for (let count = 0; count < 16; count++) yield* heard
    const another = yield* Effect.fork(heard)
    yield* TestClock.adjust("29 seconds")
    expect(yield* Fiber.poll(another)).toEqual(Option.none())
    yield* TestClock.adjust("1 second")
    for (const reason of yield* Effect.forEach(fibers, Fiber.join)) expect(reason).toContain("codex is gone")
    yield* Fiber.interrupt(another)
  }))

it.scoped("a line that is no message, or an answer of another form ends it with a reason", () =>
  Effect.gen(function*() {
    const malformed = yield* set()
    const asking = yield* Effect.fork(reasonOf(ask(malformed.wire)))
    yield* malformed.heard
    yield* malformed.say("{ this is not JSON")
    expect(yield* Fiber.join(asking)).toBe("codex is gone: a line of its output is no message")

    const other = yield* set()
    const unusual = yield* Effect.fork(reasonOf(ask(other.wire)))
    yield* other.tell({ id: (yield* other.heard)["id"], result: { value: "three" } })
    expect(yield* Fiber.join(unusual)).toBe("codex is gone: its answer to some/method has an unknown form")
  }))

it.scoped("a line without an end is not kept beyond 32 MiB", () =>
  Effect.gen(function*() {
    const process: ManagedProcess = {
      pid: 1,
      stdout: Stream.repeatEffect(Effect.sync(() => Buffer.alloc(1024 * 1024, 0x20))),
      write: () => Effect.void,
      end: Effect.never
    }
    const wire = yield* CodexWire.make(process, silent)
    expect((yield* wire.over).reason).toBe("a line is longer than 33554432 bytes")
  }))

it.scoped("the end of the process is told to whoever waits", () =>
  Effect.gen(function*() {
    const { end, heard, wire } = yield* set()
    const asking = yield* Effect.fork(reasonOf(ask(wire)))
    yield* heard
    yield* end("SIGKILL")
    expect(yield* Fiber.join(asking)).toBe("codex is gone: it was ended by SIGKILL")
  }))

it.scoped("the engine's own requests are answered under their IDs, 0 and unknown kinds included", () =>
  Effect.gen(function*() {
    const { heard, tell } = yield* set({
      ...silent,
      onRequest: (method) => Effect.succeed(method === "known" ? { decision: "decline" } : null)
    })
    yield* tell({ id: 0, method: "known", params: {} })
    expect(yield* heard).toEqual({ id: 0, result: { decision: "decline" } })
    yield* tell({ id: "a", method: "unknown", params: {} })
    expect(yield* heard).toMatchObject({ id: "a", error: { code: -32601 } })
  }))

it.scoped("an answer that finds the process gone does not hide its end", () =>
  Effect.gen(function*() {
    const ended = { code: null, signal: "SIGKILL", stderrTail: "" }
    const wire = yield* CodexWire.make({
      pid: 1,
      stdout: Stream.make(Buffer.from(`${encode({ id: 0, method: "known", params: {} })}\n`)),
      write: () => new ProcessGone({ command: "codex" }),
      end: Effect.succeed(ended)
    }, { ...silent, onRequest: () => Effect.succeed({}) })
    expect((yield* wire.over).reason).toBe("it was ended by SIGKILL")
  }))

const threadId = "thread"
const turnId = TurnId.make("turn")
const binding = new Binding({ engine: "codex", nativeId: threadId, path: "/nonexistent" })

const session = Effect.gen(function*() {
  const fake = yield* fakeProcess
  const ended = yield* Deferred.make<string>()
  const served = yield* CodexSession.make<never>(
    (listener) =>
      Effect.map(CodexWire.make(fake.process, listener), (wire) => ({ pid: 1, wire, ended: Deferred.await(ended) })),
    () => Effect.succeed(binding)
  )
  const notify = (method: string, params: unknown) => fake.tell({ method, params })
  return { ...fake, notify, ended, served }
})

it.scoped("events are those of the own thread, whole messages, and nothing of the reasoning", () =>
  Effect.gen(function*() {
    const { ended, notify, served } = yield* session
    const item = (type: string, text: string, id = "i") => ({ threadId, turnId, item: { type, id, text } })
    yield* notify("turn/started", { threadId: "another", turn: { id: "x" } })
    yield* notify("turn/started", { threadId, turn: { id: turnId } })
    yield* notify("item/agentMessage/delta", { threadId: "another", turnId, itemId: "i", delta: "not mine" })
    yield* notify("item/completed", { threadId, turnId, item: { type: "userMessage", id: "u", clientId: "c" } })
    yield* notify("item/completed", item("reasoning", "hidden"))
    yield* notify("item/completed", item("plan", "hidden"))
    yield* notify("item/agentMessage/delta", { threadId, turnId, itemId: "i", delta: "wh" })
    yield* notify("item/completed", item("agentMessage", "whole"))
    yield* notify("some/new/notification", { anything: true })
    yield* notify("item/agentMessage/delta", { threadId, turnId, itemId: "j", delta: "par" })
    yield* notify("item/agentMessage/delta", { threadId, turnId, itemId: "j", delta: "tial" })
    const error = { message: "secret words", codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 500 } } }
    yield* notify("turn/completed", { threadId, turn: { id: turnId, status: "failed", error } })
    const events = yield* Effect.fork(Stream.runCollect(Stream.take(served.events, 5)))
    expect([...yield* Fiber.join(events)]).toEqual([
      { _tag: "TurnStarted", turnId },
      { _tag: "UserEntrySeen" },
      { _tag: "Output", turnId, text: "whole" },
      { _tag: "Output", turnId, text: "partial" },
      { _tag: "TurnEnded", turnId, status: "failed", error: "httpConnectionFailed (HTTP 500)" }
    ])
    yield* Deferred.succeed(ended, "test")
  }))

it.scoped("a known notification in an unknown form ends the session: an end of a turn must not be overheard", () =>
  Effect.gen(function*() {
    const { ended, heard, notify, served } = yield* session
    const submitting = yield* Effect.fork(reasonOf(served.submit({ deliveryId: newDelivery(), text: "x" })))
    yield* heard
    yield* notify("turn/completed", { threadId, turn: { id: turnId, status: "finished" } })
    expect(yield* Fiber.join(submitting)).toContain("turn/completed has an unknown form")
    yield* Deferred.succeed(ended, "test")
  }))

it.scoped("[N-02] no interrupt is sent but for the turn that runs", () =>
  Effect.gen(function*() {
    const { ended, heard, notify, served, tell } = yield* session
    expect(yield* served.interrupt(turnId)).toBe("not-running")
    yield* notify("turn/started", { threadId, turn: { id: turnId } })
    yield* Stream.runDrain(Stream.take(served.events, 1))
    expect(yield* served.interrupt(TurnId.make("another"))).toBe("other-turn")
    const interrupting = yield* Effect.fork(served.interrupt(turnId))
    const request = yield* heard
    expect(request).toMatchObject({ method: "turn/interrupt", params: { threadId, turnId } })
    yield* tell({ id: request["id"], error: { code: -32600, message: "expected active turn id turn but found b" } })
    expect(yield* Fiber.join(interrupting)).toBe("other-turn")
    yield* Deferred.succeed(ended, "test")
  }))

it.scoped("a turn that ended before its answer was looked at leaves the session free", () =>
  Effect.gen(function*() {
    const { ended, heard, notify, served, tell } = yield* session
    const submit = () => Effect.fork(served.submit({ deliveryId: newDelivery(), text: "x" }))
    const first = yield* submit()
    const request = yield* heard
    yield* notify("turn/started", { threadId, turn: { id: turnId } })
    yield* notify("turn/completed", { threadId, turn: { id: turnId, status: "completed", error: null } })
    yield* tell({ id: request["id"], result: { turn: { id: turnId } } })
    expect(yield* Fiber.join(first)).toEqual({ turnId })
    const second = yield* submit()
    const refused = yield* heard
    yield* tell({ id: refused["id"], error: { code: -32602, message: "too large" } })
    expect((yield* Effect.flip(Fiber.join(second)))._tag).toBe("InputRefused")
    yield* submit()
    expect((yield* heard)["method"]).toBe("turn/start")
    yield* Deferred.succeed(ended, "test")
  }))

it.scoped("a consumer that does not read ends the session after its patience, and the events stay bounded", () =>
  Effect.gen(function*() {
    const { ended, notify, served } = yield* session
    yield* Effect.forEach(
      Array.from({ length: 1100 }),
      () => notify("item/completed", { threadId, turnId, item: { type: "userMessage", id: "u" } })
    )
    yield* TestClock.adjust("30 seconds")
    const gone = yield* reasonOf(served.submit({ deliveryId: newDelivery(), text: "x" }))
    expect(gone).toContain("its events were not read")
    yield* Deferred.succeed(ended, "its events were not read")
    const events = [...yield* Stream.runCollect(served.events)]
    expect(events.length).toBeLessThanOrEqual(1026)
    expect(events.at(-1)).toEqual({ _tag: "Exited", reason: "its events were not read" })
  }))
