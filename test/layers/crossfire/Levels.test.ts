import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { cursorAt } from "../../../src/domain/Cursor.ts"
import { DeliveryId, type EventId, type RoomId, StreamToken } from "../../../src/domain/Ids.ts"
import type { Level } from "../../../src/domain/Level.ts"
import { Acknowledgments } from "../../../src/services/Acknowledgments.ts"
import { FleetLeases } from "../../../src/services/FleetLeases.ts"
import { Levels } from "../../../src/services/Levels.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import { Agents } from "../../../src/services/store/Agents.ts"
import { alice, bob, decisionsIn, make, mention, message, policy, still, type TestAgent, type World } from "./World.ts"

const levelOf = (agent: TestAgent) => Effect.flatMap(Levels, (levels) => levels.of(agent.agentId))
const sweep = (roomId: RoomId) => Effect.flatMap(RoomSweep, (all) => all.room(roomId))
const wakes = (level: Level) => level.wakes.map((wake) => wake.eventId)

const roomWith = (world: World, ...agents: ReadonlyArray<TestAgent>) =>
  Effect.gen(function*() {
    const room = yield* world.human.createRoom(alice)
    for (const agent of agents) {
      yield* world.human.invite(alice, room, agent.userId)
      yield* Effect.flatMap(Participation, (participation) => participation.look(agent.userId))
    }
    return room
  })

const lease = (agent: TestAgent, root = randomUUID()) =>
  Effect.flatMap(
    FleetLeases,
    (leases) => leases.acquire({ fleetId: agent.fleetId, root, holder: "test", takeOver: false })
  )

const acknowledge = (
  agent: TestAgent,
  room: RoomId,
  events: ReadonlyArray<EventId>,
  deliveryId = DeliveryId.make(randomUUID()),
  redactionNumber = 0
) =>
  Effect.gen(function*() {
    const leases = yield* FleetLeases
    const stamp = yield* leases.acquire({
      fleetId: agent.fleetId,
      root: agent.fleetId,
      holder: "test",
      takeOver: false
    })
    const acknowledgments = yield* Acknowledgments
    return yield* acknowledgments.accept({ agentId: agent.agentId, fleetId: agent.fleetId, stamp }, {
      deliveryId,
      cursors: [{ roomId: room, cursor: cursorAt(StreamToken.make("s9"), events.at(-1) ?? null) }],
      delivered: events.map((eventId) => ({ roomId: room, eventId })),
      redactionNumber
    })
  })

it.scoped("[R-06] a narrowed policy withdraws open wakes, a widened one revives nothing decided", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", bob)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      yield* world.human.invite(alice, room, bob)
      yield* world.human.join(bob, room)
      yield* world.human.invite(bob, room, editor.userId)
      yield* Effect.flatMap(Participation, (participation) => participation.look(editor.userId))
      const one = yield* world.human.send(alice, room, message("one"))
      const two = yield* world.human.send(bob, room, message("two"))
      yield* sweep(room)
      const before = yield* levelOf(writer)
      expect(wakes(before)).toStrictEqual([one])

      yield* policy(writer, [])
      const narrowed = yield* levelOf(writer)
      expect(wakes(narrowed)).toStrictEqual([])
      expect(narrowed.number).toBeGreaterThan(before.number)
      expect(narrowed.authorityRevision).toBeGreaterThan(before.authorityRevision)
      const three = yield* world.human.send(alice, room, message("empty wakes nobody"))
      yield* sweep(room)
      expect(wakes(yield* levelOf(writer))).toStrictEqual([])

      yield* policy(writer, [{ kind: "person", userId: alice }, { kind: "person-and-agents", userId: bob }])
      expect(wakes(yield* levelOf(writer))).toStrictEqual([])
      const four = yield* world.memory.matrix.send({
        as: editor.userId,
        roomId: room,
        type: "m.room.message",
        transactionId: "four",
        content: mention("from bob's agent", writer.userId)
      })
      yield* sweep(room)
      expect((yield* levelOf(writer)).wakes).toMatchObject([{ eventId: four, kind: "mention" }])
      const decided = yield* decisionsIn(world, room)
      expect(decided.get(one)).toContain("writer wake withdrawn")
      for (const event of [two, three]) expect(decided.get(event)).toContain("writer context")

      // An agent that its owner switched off starts nobody any more.
      yield* world.db.transaction(world.sql`UPDATE agent SET enabled = 0 WHERE agent_id = ${editor.agentId}`)
      expect(wakes(yield* levelOf(writer))).toStrictEqual([])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[H-05] lost permission withdraws what is open and ends reading, whatever the membership", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const one = yield* world.human.send(alice, room, message("one"))
      yield* sweep(room)
      yield* Effect.flatMap(Participation, (participation) => participation.withdraw(writer.agentId, room))
      const two = yield* world.human.send(alice, room, mention("two", writer.userId))
      yield* sweep(room)
      const level = yield* levelOf(writer)
      expect(level.wakes).toStrictEqual([])
      expect(level.rooms).toStrictEqual([])
      const decided = yield* decisionsIn(world, room)
      expect(decided.get(one)).toStrictEqual(["writer wake withdrawn"])
      expect(decided.get(two)).toStrictEqual(["writer context"])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[D-02] an acknowledgment closes its wakes, raises the level and is idempotent by its delivery", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const one = yield* world.human.send(alice, room, message("one"))
      const two = yield* world.human.send(alice, room, message("two"))
      yield* world.human.redact(alice, room, two)
      const three = yield* world.human.send(alice, room, message("three"))
      yield* sweep(room)
      const before = yield* levelOf(writer)
      expect(wakes(before)).toStrictEqual([one, three])
      const deliveryId = DeliveryId.make(randomUUID())
      const number = yield* acknowledge(writer, room, [one, two], deliveryId, before.redactions[0]?.number ?? 0)
      expect(number).toBeGreaterThan(before.number)
      const after = yield* levelOf(writer)
      expect(after.number).toBe(number)
      expect(wakes(after)).toStrictEqual([three])
      expect(after.redactions).toStrictEqual([])
      expect(yield* acknowledge(writer, room, [three], deliveryId)).toBe(number)
      expect(wakes(yield* levelOf(writer))).toStrictEqual([three])
      expect(yield* world.db.read(world.sql`SELECT delivery_id FROM cursor_mirror`)).toStrictEqual([
        { delivery_id: deliveryId }
      ])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[C-04] an acknowledgment of a lease that is over changes nothing", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const one = yield* world.human.send(alice, room, message("one"))
      yield* sweep(room)
      const leases = yield* FleetLeases
      const old = yield* lease(writer)
      yield* leases.acquire({ fleetId: writer.fleetId, root: randomUUID(), holder: "other", takeOver: true })
      const acknowledgments = yield* Acknowledgments
      const refused = yield* Effect.flip(
        acknowledgments.accept({ agentId: writer.agentId, fleetId: writer.fleetId, stamp: old }, {
          deliveryId: DeliveryId.make(randomUUID()),
          cursors: [],
          delivered: [{ roomId: room, eventId: one }],
          redactionNumber: 0
        })
      )
      expect(refused._tag).toBe("StaleGeneration")
      expect(wakes(yield* levelOf(writer))).toStrictEqual([one])
      expect(yield* world.db.read(world.sql`SELECT * FROM acknowledgment`)).toStrictEqual([])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("followers get every agent of the fleet first, then what changed, the newest of it, and no other fleet's", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const fleetId = yield* world.fleet(alice)
    const writer = yield* world.agent("writer", alice, fleetId)
    const editor = yield* world.agent("editor", alice, fleetId)
    const other = yield* world.agent("other", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer, other)
      const levels = yield* Levels
      const seen = yield* Queue.unbounded<Level>()
      const fiber = yield* Effect.fork(Stream.runForEach(levels.follow(fleetId), (level) => Queue.offer(seen, level)))
      const first = [yield* Queue.take(seen), yield* Queue.take(seen)].map((level) => level.agentId)
      expect(first.toSorted()).toStrictEqual([writer.agentId, editor.agentId].toSorted())
      const one = yield* world.human.send(alice, room, message("one"))
      yield* sweep(room)
      let level = yield* Queue.take(seen)
      while (!wakes(level).includes(one)) level = yield* Queue.take(seen)
      expect(level.agentId).toBe(writer.agentId)
      // An agent that joins the fleet later is told as soon as it is announced.
      const late = yield* world.agent("late", alice, fleetId)
      yield* levels.changed([late.agentId, other.agentId])
      expect((yield* Queue.take(seen)).agentId).toBe(late.agentId)
      expect((yield* Effect.flatMap(Agents, (agents) => agents.ofFleet(fleetId))).length).toBe(3)
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("a level names a bounded number of wakes, mentions first; the rest follows when these are closed", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const sent = yield* Effect.forEach(
        Array.from({ length: 1_050 }),
        (_, index) => world.human.send(alice, room, index === 1_040 ? mention("m", writer.userId) : message("x"))
      )
      yield* sweep(room)
      const level = yield* levelOf(writer)
      expect(level.wakes).toHaveLength(1_000)
      expect(level.wakes[0]).toMatchObject({ kind: "mention", eventId: sent[1_040] })
      yield* acknowledge(writer, room, wakes(level))
      expect(wakes(yield* levelOf(writer))).toHaveLength(50)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[M-03] wakes in a room that the agent has left, however many, hide none in its other rooms", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const left = yield* roomWith(world, writer)
      const other = yield* roomWith(world, writer)
      yield* Effect.forEach(Array.from({ length: 1_000 }), () => world.human.send(alice, left, message("x")))
      yield* sweep(left)
      yield* Effect.orDie(world.human.kick(alice, left, writer.userId))
      yield* sweep(left)
      const asked = yield* world.human.send(alice, other, message("and here?"))
      yield* sweep(other)
      expect(wakes(yield* levelOf(writer))).toStrictEqual([asked])
      // They were accepted while it was there: with its return they are open again.
      yield* world.human.invite(alice, left, writer.userId)
      yield* Effect.flatMap(Participation, (participation) => participation.look(writer.userId))
      expect((yield* levelOf(writer)).wakes).toHaveLength(1_000)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("removals are told oldest first, and those behind them as soon as these are acknowledged", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const old = Array.from({ length: 1_000 }, (_, at) => `('${writer.agentId}', '${room}', '$old-${at}')`).join(", ")
      yield* world.db.transaction(
        world.sql.unsafe(`INSERT INTO redaction (agent_id, room_id, event_id) VALUES ${old}`)
      )
      const gone = yield* world.human.send(alice, room, message("a slip"))
      yield* sweep(room)
      yield* world.human.redact(alice, room, gone)
      yield* sweep(room)
      const { redactions } = yield* levelOf(writer)
      expect(redactions.map(({ eventId }) => eventId)).toStrictEqual(
        Array.from({ length: 1_000 }, (_, at) => `$old-${at}`)
      )
      const deliveryId = DeliveryId.make("99999999-0000-4000-8000-000000000000")
      yield* acknowledge(writer, room, [], deliveryId, redactions.at(-1)?.number ?? 0)
      expect((yield* levelOf(writer)).redactions.map(({ eventId }) => eventId)).toStrictEqual([gone])
    }).pipe(Effect.provide(still(world)))
  }))
