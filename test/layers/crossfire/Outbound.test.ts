import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { type EventId, Incarnation, OperationId, type RoomId, type UserId } from "../../../src/domain/Ids.ts"
import type { MatrixEvent } from "../../../src/domain/MatrixEvent.ts"
import { contentBytes } from "../../../src/layers/crossfire/MessageContent.ts"
import { FleetLeases } from "../../../src/services/FleetLeases.ts"
import { HomeserverBusy, HomeserverUnavailable, type MatrixError } from "../../../src/services/Matrix.ts"
import { Outbound } from "../../../src/services/Outbound.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import { alice, bot, decisionsIn, make, mallory, message, still, type TestAgent, until, type World } from "./World.ts"

const roomWith = (world: World, agent: TestAgent) =>
  Effect.gen(function*() {
    const room = yield* world.human.createRoom(alice)
    yield* world.human.invite(alice, room, agent.userId)
    yield* Effect.flatMap(Participation, (participation) => participation.look(agent.userId))
    return room
  })

const stampOf = (agent: TestAgent) =>
  Effect.flatMap(
    FleetLeases,
    (leases) => leases.acquire({ fleetId: agent.fleetId, root: agent.fleetId, holder: "test", takeOver: false })
  )

const say = (
  agent: TestAgent,
  roomId: RoomId,
  text: string,
  more: { readonly operationId?: OperationId; readonly replyTo?: EventId; readonly mentions?: ReadonlyArray<UserId> } =
    {}
) =>
  Effect.gen(function*() {
    const outbound = yield* Outbound
    const stamp = yield* stampOf(agent)
    return yield* outbound.say({ agentId: agent.agentId, fleetId: agent.fleetId, stamp }, {
      operationId: more.operationId ?? OperationId.make(randomUUID()),
      roomId,
      text,
      replyTo: more.replyTo ?? null,
      mentions: more.mentions ?? []
    })
  })

/** What alice sees of the room, oldest first. */
const seen = (world: World, room: RoomId) =>
  Effect.gen(function*() {
    const page = yield* world.memory.matrix.page({
      as: bot,
      roomId: room,
      from: yield* world.memory.matrix.boundary,
      to: null,
      direction: "backward",
      limit: 1_000,
      maxBytes: 100_000_000
    })
    return page.events.toReversed()
  })

const readBy = (world: World, as: UserId, room: RoomId) =>
  Effect.gen(function*() {
    const page = yield* world.memory.matrix.page({
      as,
      roomId: room,
      from: yield* world.memory.matrix.boundary,
      to: null,
      direction: "backward",
      limit: 1_000,
      maxBytes: 100_000_000
    })
    return page.events.toReversed().filter((event) => event.type === "m.room.message")
  })

const bodies = (events: ReadonlyArray<MatrixEvent>) => events.map((event) => event.content["body"])

it.scoped("[M-08] what an agent says goes out with HTML, mentions and reply, once per operation, and comes back as its own", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const outbound = yield* Outbound
      const room = yield* roomWith(world, writer)
      const asked = yield* world.human.send(alice, room, message("?"))
      const operationId = OperationId.make(randomUUID())
      const more = { operationId, replyTo: asked, mentions: [alice] }
      expect(yield* say(writer, room, "**yes**", more)).toStrictEqual({ _tag: "Waiting" })
      const sent = yield* outbound.settled(writer.userId, operationId, 10_000)
      expect(sent._tag).toBe("Sent")
      expect(yield* say(writer, room, "again", more)).toStrictEqual(sent)
      const events = yield* readBy(world, writer.userId, room)
      expect(events).toHaveLength(2)
      expect(events[1]?.content).toStrictEqual({
        msgtype: "m.text",
        body: "**yes**",
        format: "org.matrix.custom.html",
        formatted_body: "<p><strong>yes</strong></p>",
        "m.mentions": { user_ids: [alice] },
        "m.relates_to": { "m.in_reply_to": { event_id: asked } }
      })
      yield* Effect.flatMap(RoomSweep, (sweep) => sweep.room(room))
      const decided = yield* decisionsIn(world, room)
      expect(sent._tag === "Sent" && decided.get(sent.eventId)).toStrictEqual(["writer own"])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[X-04] a send without permission or membership, or under a lease that is over, is refused", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const outbound = yield* Outbound
      const room = yield* roomWith(world, writer)
      const foreign = yield* world.human.createRoom(mallory)
      expect((yield* Effect.flip(say(writer, foreign, "x")))._tag).toBe("NotAllowed")
      const stamp = { ...yield* stampOf(writer), incarnation: Incarnation.make(randomUUID()) }
      const stale = yield* Effect.flip(
        outbound.say({ agentId: writer.agentId, fleetId: writer.fleetId, stamp }, {
          operationId: OperationId.make(randomUUID()),
          roomId: room,
          text: "x",
          replyTo: null,
          mentions: []
        })
      )
      expect(stale._tag).toBe("StaleGeneration")
      yield* Effect.flatMap(Participation, (participation) => participation.withdraw(writer.agentId, room))
      expect((yield* Effect.flip(say(writer, room, "x")))._tag).toBe("NotAllowed")
      expect((yield* Effect.flip(say(writer, room, "x".repeat(1_000_001))))._tag).toBe("MessageRefused")
      expect(yield* readBy(world, writer.userId, room)).toStrictEqual([])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[F24] a busy homeserver is waited for as long as it asks; the order stays, other rooms go on", () =>
  Effect.gen(function*() {
    let busyRoom: RoomId | null = null
    let sends = 0
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const { send } = world.memory.matrix
    Object.assign(world.memory.matrix, {
      send: (wanted: Parameters<typeof send>[0]): Effect.Effect<EventId, MatrixError> =>
        Effect.suspend(() => {
          if (wanted.roomId !== busyRoom) return send(wanted)
          sends += 1
          return Effect.fail(new HomeserverBusy({ operation: "send", retryAfterMillis: 20_000 }))
        })
    })
    yield* Effect.gen(function*() {
      const one = yield* roomWith(world, writer)
      const two = yield* roomWith(world, writer)
      busyRoom = one
      yield* say(writer, one, "first")
      yield* say(writer, one, "second")
      yield* say(writer, two, "elsewhere")
      yield* until(
        "the other room has it",
        Effect.map(readBy(world, writer.userId, two), (events) => events.length === 1)
      )
      yield* until("a try", Effect.sync(() => sends === 1))
      yield* TestClock.adjust("19 seconds")
      for (let turn = 0; turn < 100; turn += 1) yield* Effect.yieldNow()
      expect(sends).toBe(1)
      busyRoom = null
      yield* TestClock.adjust("2 seconds")
      yield* until(
        "both are there",
        Effect.map(readBy(world, writer.userId, one), (events) => events.length === 2)
      )
      expect(bodies(yield* readBy(world, writer.userId, one))).toStrictEqual(["first", "second"])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("an answer that got lost sends nothing twice, also over a restart; what was recorded before it goes out after it", () =>
  Effect.gen(function*() {
    let lose = 0
    const world = yield* make({
      after: (operation) =>
        Effect.suspend(() => {
          if (operation !== "send" || lose === 0) return Effect.void
          lose -= 1
          return Effect.fail(new HomeserverUnavailable({ operation, status: null }))
        })
    })
    const writer = yield* world.agent("writer", alice)
    const room = yield* roomWith(world, writer).pipe(Effect.provide(still(world)))
    lose = 2
    const scope = yield* Scope.make()
    const core = yield* Layer.buildWithScope(still(world), scope)
    yield* say(writer, room, "once").pipe(Effect.provide(core))
    yield* say(writer, room, "later").pipe(Effect.provide(core))
    yield* until("one try", Effect.sync(() => lose === 1))
    yield* Scope.close(scope, Exit.void)
    yield* Effect.gen(function*() {
      yield* until("a second try", Effect.sync(() => lose === 0))
      yield* TestClock.adjust("1 minute")
      yield* until(
        "both are there",
        Effect.map(readBy(world, writer.userId, room), (events) => events.length === 2)
      )
      expect(bodies(yield* readBy(world, writer.userId, room))).toStrictEqual(["once", "later"])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("what the homeserver refuses is told and holds up nothing", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const outbound = yield* Outbound
      const room = yield* roomWith(world, writer)
      // Removed, and crossfire has not seen it yet.
      yield* world.human.kick(alice, room, writer.userId)
      const operationId = OperationId.make(randomUUID())
      yield* say(writer, room, "x", { operationId })
      expect(yield* outbound.settled(writer.userId, operationId, 10_000)).toStrictEqual({
        _tag: "Refused",
        errcode: "M_FORBIDDEN"
      })
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("whoever waits for an outcome is told after the given time that it is queued", () =>
  Effect.gen(function*() {
    let down = false
    const world = yield* make({
      before: (operation) =>
        Effect.suspend(() => down ? Effect.fail(new HomeserverUnavailable({ operation, status: null })) : Effect.void)
    })
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const outbound = yield* Outbound
      const room = yield* roomWith(world, writer)
      down = true
      const operationId = OperationId.make(randomUUID())
      yield* say(writer, room, "x", { operationId })
      const waiting = yield* Effect.fork(outbound.settled(writer.userId, operationId, 10_000))
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(waiting)).toStrictEqual({ _tag: "Waiting" })
      down = false
      const later = yield* Effect.fork(outbound.settled(writer.userId, operationId, 120_000))
      yield* TestClock.adjust("61 seconds")
      expect((yield* Fiber.join(later))._tag).toBe("Sent")
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("a text that one event cannot hold goes as a file with an excerpt; control characters count for what they cost", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const long = `# Report\n\n${"€ line\n".repeat(20_000)}`
      const beeps = "\u0007".repeat(20_000)
      yield* say(writer, room, long, { mentions: [alice] })
      yield* say(writer, room, beeps)
      yield* say(writer, room, "x".repeat(59_000))
      yield* until(
        "all are there",
        Effect.map(readBy(world, writer.userId, room), (events) => events.length === 3)
      )
      const [first, second, third] = yield* readBy(world, writer.userId, room)
      expect(first?.content).toMatchObject({
        msgtype: "m.file",
        filename: "message.md",
        "m.mentions": { user_ids: [alice] },
        info: { mimetype: "text/markdown", size: Buffer.byteLength(long) }
      })
      const bytes = yield* world.memory.uploaded(String(first?.content["url"]))
      expect(bytes === null ? null : Buffer.from(bytes).toString("utf8")).toBe(long)
      expect(second?.content["msgtype"]).toBe("m.file")
      expect(third?.content["msgtype"]).toBe("m.text")
      for (const event of [first, second, third]) {
        expect(contentBytes(event?.content ?? {})).toBeLessThan(62_000)
      }
      const rows = yield* world.db.read(world.sql`SELECT 1 FROM outbound WHERE attachment IS NOT NULL`)
      expect(rows).toStrictEqual([])
    }).pipe(Effect.provide(still(world)))
  }))

const noticeTo = (recipient: UserId, operationId: string, text: string) =>
  Effect.flatMap(Outbound, (outbound) => outbound.notice({ to: { recipient }, operationId, text }))

it.scoped("[R-05] a notice makes the bot's chat with that person once, and is sent once per operation", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      const outbound = yield* Outbound
      yield* noticeTo(alice, "one", "**look** here")
      yield* noticeTo(alice, "one", "look here")
      yield* noticeTo(alice, "two", "and here")
      yield* outbound.settled(bot, "two", 10_000)
      const rooms = yield* world.memory.matrix.joinedRooms(bot)
      expect(rooms).toHaveLength(1)
      const [room] = rooms
      if (room === undefined) return yield* Effect.dieMessage("no room")
      const events = (yield* seen(world, room)).filter((event) => event.type === "m.room.message")
      expect(events.map((event) => event.content)).toMatchObject([
        { msgtype: "m.notice", body: "**look** here", "org.crossfire.control": { kind: "notice" }, "m.mentions": {} },
        { msgtype: "m.notice", body: "and here" }
      ])
    }).pipe(Effect.provide(still(world)))
  }))

for (const when of ["before", "after"] as const) {
  it.scoped(`a chat whose making was cut off ${when} the homeserver made it is not made twice`, () =>
    Effect.gen(function*() {
      let armed = true
      const world = yield* make({
        [when]: (operation: string) =>
          Effect.suspend(() => {
            if (!armed || operation !== "createDirectRoom") return Effect.void
            armed = false
            return Effect.fail(new HomeserverUnavailable({ operation, status: null }))
          })
      })
      const scope = yield* Scope.make()
      const core = yield* Layer.buildWithScope(still(world), scope)
      yield* noticeTo(alice, "one", "hello").pipe(Effect.provide(core))
      yield* until("cut off", Effect.sync(() => !armed))
      yield* Scope.close(scope, Exit.void)
      yield* Effect.gen(function*() {
        const outbound = yield* Outbound
        yield* outbound.settled(bot, "one", 120_000)
        const rooms = yield* world.memory.matrix.joinedRooms(bot)
        expect(rooms).toHaveLength(1)
      }).pipe(Effect.provide(still(world)))
    }))
}

it.scoped("a person who left the chat gets another one", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      const outbound = yield* Outbound
      yield* noticeTo(alice, "one", "hello")
      yield* outbound.settled(bot, "one", 10_000)
      const [first] = yield* world.memory.matrix.joinedRooms(bot)
      if (first === undefined) return yield* Effect.dieMessage("no room")
      yield* world.human.join(alice, first)
      yield* world.human.leave(alice, first)
      yield* noticeTo(alice, "two", "hello again")
      expect((yield* outbound.settled(bot, "two", 10_000))._tag).toBe("Sent")
      const rooms = yield* world.memory.matrix.joinedRooms(bot)
      expect(rooms.filter((room) => room !== first)).toHaveLength(1)
    }).pipe(Effect.provide(still(world)))
  }))
