import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Ref, Stream, TestClock } from "effect"
import type { SendAnswer } from "../../../src/domain/api/Crossfire.ts"
import { StaleGeneration } from "../../../src/domain/api/CrossfireErrors.ts"
import { EventId, Generation, Incarnation, OperationId } from "../../../src/domain/Ids.ts"
import * as MemorySignals from "../../../src/layers/fleetd/MemorySignals.ts"
import * as OutboxAgentTools from "../../../src/layers/fleetd/OutboxAgentTools.ts"
import * as SqliteOutbox from "../../../src/layers/fleetd/sqlite/SqliteOutbox.ts"
import { AgentTools } from "../../../src/services/AgentTools.ts"
import { type CallFailed, CrossfireClient, CrossfireUnavailable } from "../../../src/services/CrossfireClient.ts"
import { FleetDb } from "../../../src/services/Database.ts"
import { FleetOutbox, type OutgoingMessage, SendRefused } from "../../../src/services/FleetOutbox.ts"
import { Lease, type LeaseState } from "../../../src/services/Lease.ts"
import { editor, registryIn, scratchFolder } from "../../support/FleetFile.ts"

const stamp = { generation: Generation.make(1), incarnation: Incarnation.make("99999999-9999-4999-8999-999999999999") }
const held: LeaseState = { _tag: "Held", stamp }
const operation = (n: number) => OperationId.make(`00000000-0000-4000-8000-00000000000${n}`)
const wish = (n: number) => ({
  operationId: operation(n),
  room: "!room:test",
  text: `text ${n}`,
  replyTo: null,
  mentions: []
})
const sent: SendAnswer = { status: "sent", eventId: EventId.make("$sent") }
const unavailable = new CrossfireUnavailable({ operation: "send a message", reason: "down" })

const never = () => Effect.dieMessage("not asked for here")
const unusedClient: typeof CrossfireClient.Service = {
  acquireLease: never,
  renewLease: never,
  releaseLease: never,
  levels: () => Stream.die("not asked for here"),
  boundary: never,
  page: never,
  acknowledge: never,
  send: never,
  rotateCredentials: never,
  notice: never
}

type Send = (message: OutgoingMessage) => Effect.Effect<SendAnswer, CallFailed | StaleGeneration | SendRefused>

/** The tools over a real outbox, with a crossfire that answers as told. */
const tools = (send: Send, lease: LeaseState = held) =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const calls = yield* Ref.make<ReadonlyArray<string>>([])
    const losses = yield* Ref.make<ReadonlyArray<string>>([])
    const waitingAtSend = yield* Ref.make<ReadonlyArray<string>>([])
    const client = Layer.effect(
      CrossfireClient,
      Effect.map(FleetOutbox, (outbox) =>
        CrossfireClient.of({
          ...unusedClient,
          send: (_stamp, _agentId, message) =>
            Effect.gen(function*() {
              yield* Ref.update(calls, (before) => [...before, message.text])
              const waiting = yield* Effect.orDie(outbox.waitingMessages(10))
              yield* Ref.set(waitingAtSend, waiting.map(({ message }) => message.text))
              return yield* send(message)
            })
        }))
    )
    const leaseLayer = Layer.succeed(
      Lease,
      Lease.of({
        state: Effect.succeed(lease),
        changes: Stream.empty,
        lost: (_stamp, reason) => Ref.update(losses, (before) => [...before, reason])
      })
    )
    const stores = SqliteOutbox.layer.pipe(Layer.provideMerge(registryIn(folder)))
    const context = yield* Layer.build(
      OutboxAgentTools.layer.pipe(
        Layer.provide(client),
        Layer.provideMerge(Layer.mergeAll(stores, leaseLayer, MemorySignals.layer))
      )
    )
    const [agentTools, outbox, database] = yield* Effect.provide(
      Effect.all([AgentTools, FleetOutbox, FleetDb]),
      context
    )
    return {
      send: (n: number) => agentTools.send(editor, wish(n)),
      agentTools,
      outbox,
      database,
      calls,
      losses,
      waitingAtSend
    }
  })

it.scopedLive("a message is stored before crossfire is asked, and its place in the room is answered", () =>
  Effect.gen(function*() {
    const { send, outbox, waitingAtSend } = yield* tools(() => Effect.succeed(sent))
    expect(yield* send(1)).toStrictEqual({ status: "sent", eventId: "$sent" })
    expect(yield* Ref.get(waitingAtSend)).toStrictEqual(["text 1"])
    expect(yield* outbox.waitingMessages(10)).toStrictEqual([])
  }))

it.scopedLive("the same operation again is not sent again and answers the same", () =>
  Effect.gen(function*() {
    const { send, calls } = yield* tools(() => Effect.succeed(sent))
    expect(yield* send(1)).toStrictEqual(yield* send(1))
    expect(yield* Ref.get(calls)).toStrictEqual(["text 1"])
    const refusing = yield* tools(() => Effect.fail(new SendRefused({ reason: "no permission there" })))
    expect((yield* Effect.flip(refusing.send(1))).reason).toBe("no permission there")
    expect((yield* Effect.flip(refusing.send(1))).reason).toBe("no permission there")
    expect((yield* Ref.get(refusing.calls)).length).toBe(1)
  }))

it.scopedLive("[C-03] without the lease nothing is asked: the message is queued", () =>
  Effect.gen(function*() {
    const { send, outbox, calls } = yield* tools(() => Effect.succeed(sent), { _tag: "NotHeld", reason: "lost" })
    expect(yield* send(1)).toStrictEqual({ status: "queued", eventId: null })
    expect((yield* outbox.waitingMessages(10)).length).toBe(1)
    expect(yield* Ref.get(calls)).toStrictEqual([])
  }))

it.scopedLive("a message that could not be sent is queued, and later ones keep behind it", () =>
  Effect.gen(function*() {
    const { send, outbox, calls } = yield* tools(({ text }) =>
      text === "text 1" ? Effect.fail(unavailable) : Effect.succeed(sent)
    )
    expect((yield* send(1)).status).toBe("queued")
    expect((yield* send(2)).status).toBe("queued")
    expect(yield* Ref.get(calls)).toStrictEqual(["text 1"])
    expect((yield* outbox.waitingMessages(10)).map(({ message }) => message.text)).toStrictEqual(["text 1", "text 2"])
  }))

it.scopedLive("what crossfire has queued waits on, so that its outcome is learnt", () =>
  Effect.gen(function*() {
    const { send, outbox } = yield* tools(() => Effect.succeed({ status: "queued" }))
    expect(yield* send(1)).toStrictEqual({ status: "queued", eventId: null })
    expect((yield* outbox.waitingMessages(10)).length).toBe(1)
  }))

it.scopedLive("[C-04] a stale generation shuts the gate and keeps the message", () =>
  Effect.gen(function*() {
    const { send, losses } = yield* tools(() => Effect.fail(new StaleGeneration({ given: 1, current: 2 })))
    expect((yield* send(1)).status).toBe("queued")
    expect(yield* Ref.get(losses)).toStrictEqual(["Lease 1 is over; lease 2 is the fleet's"])
  }))

it.scoped("an agent is answered in bounded time", () =>
  Effect.gen(function*() {
    const { send, calls } = yield* tools(() => Effect.never)
    const call = yield* Effect.fork(send(1))
    while ((yield* Ref.get(calls)).length === 0) yield* Effect.yieldNow()
    yield* TestClock.adjust("10 seconds")
    expect(yield* Fiber.join(call)).toStrictEqual({ status: "queued", eventId: null })
  }))

it.scopedLive("[M-08] a destination that is not a room ID is refused, with what to write instead, and nothing is stored", () =>
  Effect.gen(function*() {
    const { agentTools, outbox, calls } = yield* tools(() => Effect.succeed(sent))
    const reason = (change: Partial<Parameters<typeof agentTools.send>[1]>) =>
      Effect.map(Effect.flip(agentTools.send(editor, { ...wish(1), ...change })), (error) => error.message)
    expect(yield* reason({ room: "" })).toContain("destination is missing")
    expect(yield* reason({ room: "General" })).toContain("begins with !")
    expect(yield* reason({ room: "#general:test" })).toContain("alias")
    expect(yield* reason({ room: "@alice:test" })).toContain("messages go to rooms")
    expect(yield* reason({ room: "! room" })).toContain("not a complete room ID")
    expect((yield* reason({ room: "x".repeat(5_000) })).length).toBeLessThan(400)
    expect(yield* reason({ room: "a\u001b[31mb" })).not.toContain("\u001b")
    expect(yield* reason({ text: " \n" })).toContain("empty")
    expect(yield* reason({ text: "é".repeat(600_000) })).toContain("1200000 bytes")
    expect(yield* reason({ replyTo: "earlier" })).toContain("begins with $")
    expect(yield* reason({ mentions: ["alice"] })).toContain("@alice:example.org")
    expect(yield* reason({ mentions: Array.from({ length: 51 }, (_, n) => `@u${n}:test`) })).toContain("at most 50")
    expect(yield* outbox.waitingMessages(10)).toStrictEqual([])
    expect(yield* Ref.get(calls)).toStrictEqual([])
  }))

it.scopedLive("[O-02] a message that cannot be stored is told as such and not sent", () =>
  Effect.gen(function*() {
    const { agentTools, outbox, database, calls } = yield* tools(() => Effect.succeed(sent))
    const [pages] = yield* database.sql<{ readonly page_count: number }>`PRAGMA page_count`
    yield* database.sql.unsafe(`PRAGMA max_page_count = ${pages?.page_count ?? 0}`)
    const error = yield* Effect.flip(agentTools.send(editor, { ...wish(1), text: "x".repeat(200_000) }))
    expect(error._tag).toBe("ToolUnavailable")
    expect(error.message).toContain("Nothing was stored")
    expect(yield* Ref.get(calls)).toStrictEqual([])
    expect(yield* outbox.waitingMessages(10)).toStrictEqual([])
  }))
