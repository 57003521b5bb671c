import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema, Stream, TestClock } from "effect"
import { Acknowledgment } from "../../../src/domain/api/Crossfire.ts"
import {
  type AgentId,
  DeliveryId,
  EventId,
  Generation,
  Incarnation,
  OperationId,
  RoomId
} from "../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import * as MemoryAgentLevels from "../../../src/layers/fleetd/MemoryAgentLevels.ts"
import * as MemorySignals from "../../../src/layers/fleetd/MemorySignals.ts"
import * as OutboxSender from "../../../src/layers/fleetd/OutboxSender.ts"
import * as SqliteOutbox from "../../../src/layers/fleetd/sqlite/SqliteOutbox.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import {
  AcknowledgmentRefused,
  CredentialRefused,
  type CrossfireClient
} from "../../../src/services/CrossfireClient.ts"
import { FleetDb } from "../../../src/services/Database.ts"
import { FleetOutbox } from "../../../src/services/FleetOutbox.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { Lease } from "../../../src/services/Lease.ts"
import { Signals } from "../../../src/services/Signals.ts"
import * as FakeClient from "../../support/FakeClient.ts"
import { editor, registryIn, reporter, scratchFolder, smallFleet } from "../../support/FleetFile.ts"

const state = {
  _tag: "Held" as const,
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
    Layer.provideMerge(enrolled),
    Layer.provideMerge(SqliteOutbox.layer),
    Layer.provideMerge(registryIn(folder)),
    Layer.provideMerge(MemoryAgentLevels.layer),
    Layer.provideMerge(MemorySignals.layer),
    Layer.provide(lease),
    Layer.provide(client)
  )

/** Both agents in the registry. */
const enrolled = Layer.effectDiscard(
  Effect.flatMap(FleetRegistry, (registry) => registry.introduce(smallFleet()))
).pipe(Layer.provideMerge(SqliteRegistry.layer))

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

/** What `SqlitePublications` writes with a receipt. */
const owed = (agentId: AgentId, n: number) =>
  Effect.gen(function*() {
    const { sql, transaction } = yield* FleetDb
    const acknowledgment: Acknowledgment = {
      deliveryId: DeliveryId.make(`00000000-0000-4000-8000-0000000001${n}`),
      cursors: [],
      delivered: [{ roomId: RoomId.make("!room:test"), eventId: EventId.make(`$event-${n}`) }],
      redactionNumber: 0
    }
    const payload = yield* Schema.encode(Schema.parseJson(Acknowledgment))(acknowledgment)
    yield* transaction(
      sql`INSERT INTO acknowledgment (delivery_id, agent_id, payload)
          VALUES (${acknowledgment.deliveryId}, ${agentId}, ${payload})`
    )
  })

it.scoped("an acknowledgment that is refused as it is holds back its agent's later ones alone, and the owner is told", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const taken: Array<string> = []
    const told: Array<string> = []
    let refusing = true
    let refusals = 0
    const client = FakeClient.layer({
      acknowledge: (_stamp, _agentId, { delivered }) =>
        Effect.suspend(() => {
          const name = delivered[0]?.eventId ?? ""
          if (name === "$event-10" && refusing) {
            refusals++
            return new AcknowledgmentRefused({ reason: "The request's body is too large" })
          }
          taken.push(name)
          return Effect.succeed(1)
        }),
      notice: (_stamp, _operationId, text) => Effect.sync(() => void told.push(text))
    })
    yield* Effect.gen(function*() {
      // More of one agent than a round takes.
      for (let n = 10; n < 70; n++) yield* owed(editor, n)
      yield* owed(reporter, 70)
      yield* owed(reporter, 71)
      yield* Effect.flatMap(Signals, (signals) => signals.outbox)
      yield* pass
      expect(taken).toStrictEqual(["$event-70", "$event-71"])
      expect(refusals).toBe(1)
      expect(told).toHaveLength(1)
      expect(told[0]).toContain("of the agent editor")
      refusing = false
      for (let n = 0; n < 4; n++) yield* pass
      expect(taken.slice(2)).toStrictEqual(Array.from({ length: 60 }, (_, n) => `$event-${n + 10}`))
      expect(told).toHaveLength(1)
    }).pipe(Effect.provide(sender(folder, client)))
  }))

it.scoped("[A12] an agent's refused credential holds that agent; what it owes waits for the new one", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const taken: Array<string> = []
    const told: Array<string> = []
    let asked = 0
    let good = false
    const client = FakeClient.layer({
      renewLease: () => Effect.succeed({ ...state.stamp, lastsMillis: 30_000 }),
      acknowledge: (_stamp, agentId, { delivered }) =>
        Effect.suspend(() => {
          if (agentId === editor && !good) {
            asked++
            return new CredentialRefused({ operation: "acknowledge" })
          }
          taken.push(delivered[0]?.eventId ?? "")
          return Effect.succeed(1)
        }),
      notice: (_stamp, _operationId, text) => Effect.sync(() => void told.push(text))
    })
    yield* Effect.gen(function*() {
      const registry = yield* FleetRegistry
      yield* owed(editor, 10)
      yield* owed(reporter, 70)
      yield* Effect.flatMap(Signals, (signals) => signals.outbox)
      yield* pass
      expect(taken).toStrictEqual(["$event-70"])
      expect((yield* registry.agent(editor)).credentialRefused).toBe(true)
      expect(told).toHaveLength(1)
      expect(told[0]).toContain("fleet credentials rotate")
      const before = asked
      yield* pass
      expect(asked).toBe(before)
      good = true
      yield* registry.prepareCredentials({
        fleetToken: Redacted.make("new-of-fleet"),
        agentTokens: new Map([[editor, Redacted.make("new-of-editor")]])
      })
      yield* registry.promoteCredentials
      yield* Effect.flatMap(Signals, (signals) => signals.outbox)
      yield* pass
      expect(taken).toStrictEqual(["$event-70", "$event-10"])
    }).pipe(Effect.provide(sender(folder, client)))
  }))

it.scoped("what a retired agent owes is owed no more, and its messages are refused", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    yield* Effect.gen(function*() {
      const outbox = yield* FleetOutbox
      const registry = yield* FleetRegistry
      yield* owed(editor, 10)
      yield* outbox.storeMessage(editor, message(1, "too late"))
      yield* registry.setStanding(editor, { name: RegisteredName.make("editor"), standing: "retired" })
      yield* Effect.flatMap(Signals, (signals) => signals.outbox)
      yield* pass
      expect(yield* outbox.depth).toStrictEqual({ acknowledgments: 0, messages: 0, notices: 0 })
      expect(yield* outbox.messageState(message(1, "").operationId)).toMatchObject({ state: "refused" })
    }).pipe(Effect.provide(sender(folder, FakeClient.layer({}))))
  }))
