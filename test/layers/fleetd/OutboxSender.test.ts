import { expect, it } from "@effect/vitest"
import { Effect, Layer, Stream, TestClock } from "effect"
import { type AgentId, EventId, Generation, Incarnation, OperationId, RoomId } from "../../../src/domain/Ids.ts"
import * as MemoryAgentLevels from "../../../src/layers/fleetd/MemoryAgentLevels.ts"
import * as MemorySignals from "../../../src/layers/fleetd/MemorySignals.ts"
import * as OutboxSender from "../../../src/layers/fleetd/OutboxSender.ts"
import * as SqliteOutbox from "../../../src/layers/fleetd/sqlite/SqliteOutbox.ts"
import { CredentialRefused, type CrossfireClient } from "../../../src/services/CrossfireClient.ts"
import { FleetOutbox } from "../../../src/services/FleetOutbox.ts"
import { Lease, type LeaseState } from "../../../src/services/Lease.ts"
import { Signals } from "../../../src/services/Signals.ts"
import * as FakeClient from "../../support/FakeClient.ts"
import { editor, registryIn, reporter, scratchFolder } from "../../support/FleetFile.ts"

const state: LeaseState = {
  _tag: "Held",
  stamp: {
    generation: Generation.make(1),
    incarnation: Incarnation.make("00000000-0000-4000-8000-0000000000aa")
  }
}
const lease = Layer.succeed(
  Lease,
  Lease.of({ state: Effect.succeed(state), changes: Stream.make(state), lost: () => Effect.void })
)

const sender = (folder: string, client: Layer.Layer<CrossfireClient>) =>
  OutboxSender.layer.pipe(
    Layer.provideMerge(SqliteOutbox.layer),
    Layer.provideMerge(registryIn(folder)),
    Layer.provideMerge(MemoryAgentLevels.layer),
    Layer.provideMerge(MemorySignals.layer),
    Layer.provide(lease),
    Layer.provide(client)
  )

const message = (n: number, text: string) => ({
  operationId: OperationId.make(`00000000-0000-4000-8000-0000000000${String(n).padStart(2, "0")}`),
  roomId: RoomId.make("!room:test"),
  text,
  replyTo: null,
  mentions: []
})

const sentEvent = { status: "sent" as const, eventId: EventId.make("$sent") }

/** Lets the sender read its file, which takes real time, between steps of the test's clock. */
const pass = Effect.forEach(
  Array.from({ length: 30 }),
  () => Effect.zipRight(TestClock.adjust("1 seconds"), Effect.promise(() => new Promise((done) => setImmediate(done)))),
  {
    discard: true
  }
)

it.scoped("[M-08] an agent whose credential is refused holds up no other agent's messages and no notice", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const told: Array<string> = []
    const client = FakeClient.layer({
      send: (_stamp, agentId, { text }) => {
        if (agentId === editor) return new CredentialRefused({ operation: "send a message" })
        told.push(text)
        return Effect.succeed(sentEvent)
      },
      notice: (_stamp, _operationId, text) => Effect.sync(() => void told.push(text))
    })
    yield* Effect.gen(function*() {
      const outbox = yield* FleetOutbox
      yield* outbox.storeMessage(editor, message(1, "first of the editor"))
      yield* outbox.storeMessage(reporter, message(2, "of the reporter"))
      yield* outbox.notice("topic", "for the owner")
      yield* Effect.flatMap(Signals, (signals) => signals.outbox)
      yield* pass
      expect(told.toSorted()).toStrictEqual(["for the owner", "of the reporter"])
      expect((yield* outbox.depth).messages).toBe(1)
    }).pipe(Effect.provide(sender(folder, client)))
  }))

it.scoped("[M-08] one agent's messages to a room that takes none hold up no other agent's, and no acknowledgment", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const told: Array<string> = []
    const order: Array<string> = []
    const client = FakeClient.layer({
      // crossfire waits for the homeserver before it answers that the message is queued.
      send: (_stamp, agentId: AgentId, { text }) =>
        Effect.gen(function*() {
          order.push(text)
          if (agentId === reporter) {
            told.push(text)
            return sentEvent
          }
          return yield* Effect.as(Effect.sleep("10 seconds"), { status: "queued" as const })
        }),
      notice: (_stamp, _operationId, text) => Effect.sync(() => void told.push(text))
    })
    yield* Effect.gen(function*() {
      const outbox = yield* FleetOutbox
      for (let n = 10; n < 80; n++) yield* outbox.storeMessage(editor, message(n, `editor ${n}`))
      yield* outbox.storeMessage(reporter, message(90, "of the reporter"))
      yield* outbox.notice("topic", "for the owner")
      yield* Effect.flatMap(Signals, (signals) => signals.outbox)
      yield* pass
      expect(told.toSorted()).toStrictEqual(["for the owner", "of the reporter"])
      // What stands behind a message that waits is not sent ahead of it.
      expect([...new Set(order)].toSorted()).toStrictEqual(["editor 10", "of the reporter"])
    }).pipe(Effect.provide(sender(folder, client)))
  }))
