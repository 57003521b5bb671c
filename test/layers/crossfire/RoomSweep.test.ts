import { expect, it } from "@effect/vitest"
import { Effect, Exit, FastCheck, Layer, Scope, TestClock } from "effect"
import type { EventId, RoomId } from "../../../src/domain/Ids.ts"
import { foundation, rooms } from "../../../src/layers/crossfire/CoreLayer.ts"
import { Announcements } from "../../../src/services/Announcements.ts"
import { BotConversation, type BotMessage } from "../../../src/services/BotConversation.ts"
import { Levels } from "../../../src/services/Levels.ts"
import { HomeserverUnavailable, PageFailed } from "../../../src/services/Matrix.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import { SweepQueue } from "../../../src/services/SweepQueue.ts"
import {
  alice,
  announcementOf,
  bob,
  bot,
  decisionsIn,
  make,
  mallory,
  mention,
  message,
  running,
  still,
  type TestAgent,
  until,
  type World
} from "./World.ts"

const look = (agent: { readonly userId: Parameters<typeof Participation.Service.look>[0] }) =>
  Effect.flatMap(Participation, (participation) => participation.look(agent.userId))
const sweep = (roomId: RoomId) => Effect.flatMap(RoomSweep, (all) => all.room(roomId))

/** A room of alice's with these agents in it. */
const roomWith = (world: World, ...agents: ReadonlyArray<TestAgent>) =>
  Effect.gen(function*() {
    const room = yield* world.human.createRoom(alice)
    for (const agent of agents) {
      yield* world.human.invite(alice, room, agent.userId)
      yield* look(agent)
    }
    return room
  })

it.scoped("[N-01] each kind of event is decided for each agent by its own policy", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", bob)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      yield* world.human.invite(alice, room, bob)
      yield* world.human.join(bob, room)
      yield* world.human.invite(bob, room, editor.userId)
      yield* look(editor)
      const plain = yield* world.human.send(alice, room, message("to all"))
      const both = yield* world.human.send(alice, room, mention("both", writer.userId, editor.userId))
      const edit = yield* world.human.send(alice, room, {
        ...mention("* both", writer.userId),
        "m.new_content": message("both"),
        "m.relates_to": { rel_type: "m.replace", event_id: both }
      })
      const notice = yield* world.human.send(alice, room, { msgtype: "m.notice", body: "notice" })
      const own = yield* world.memory.matrix.send({
        as: writer.userId,
        roomId: room,
        type: "m.room.message",
        transactionId: "one",
        content: message("mine")
      })
      yield* sweep(room)
      const decided = yield* decisionsIn(world, room)
      const told = (event: EventId) => [...decided.get(event) ?? []].toSorted()
      expect(told(plain)).toStrictEqual(["editor context", "writer wake"])
      expect(told(both)).toStrictEqual(["editor context", "writer mention"])
      expect(told(edit)).toStrictEqual(["editor context", "writer context"])
      expect(told(notice)).toStrictEqual(["editor context", "writer context"])
      expect(told(own)).toStrictEqual(["editor context", "writer own"])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("a long window is read page by page, and what a page token brings again from before the boundary wakes nobody", () =>
  Effect.gen(function*() {
    const pages: Array<number> = []
    const world = yield* make({
      beforePage: (request) => Effect.sync(() => void (request.direction === "forward" && pages.push(request.limit)))
    })
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* world.human.createRoom(alice)
      // Deep in the room's order, and stored before the boundary.
      const before = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => world.human.send(alice, room, message("before"))
      )
      yield* world.human.invite(alice, room, writer.userId)
      yield* look(writer)
      const after = yield* Effect.forEach(
        Array.from({ length: 250 }),
        (_, index) => world.human.send(alice, room, message("after"), { depthLag: index < 120 ? 25 : 0 })
      )
      yield* sweep(room)
      expect(pages.length).toBeGreaterThan(2)
      const decided = yield* decisionsIn(world, room)
      for (const event of after) expect(decided.get(event)).toStrictEqual(["writer wake"])
      for (const event of before) expect(decided.get(event)).toStrictEqual(["writer context"])
      pages.length = 0
      yield* sweep(room)
      expect(pages).toStrictEqual([])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[M-06] a page that is too large is read with fewer events; a cut in the middle goes on where it was", () =>
  Effect.gen(function*() {
    const limits: Array<number> = []
    let failures = 3
    const world = yield* make({
      beforePage: (request) =>
        Effect.suspend((): Effect.Effect<void, HomeserverUnavailable | PageFailed> => {
          if (request.direction === "backward") return Effect.void
          limits.push(request.limit)
          if (request.limit > 30) {
            const { limit, roomId } = request
            return Effect.fail(new PageFailed({ roomId, reason: "too-large", limit, eventId: null }))
          }
          failures -= 1
          return failures === 0
            ? Effect.fail(new HomeserverUnavailable({ operation: "page", status: 502 }))
            : Effect.void
        })
    })
    const writer = yield* world.agent("writer", alice)
    const room = yield* roomWith(world, writer).pipe(Effect.provide(still(world)))
    const sent = yield* Effect.forEach(Array.from({ length: 100 }), () => world.human.send(alice, room, message("x")))
    const failed = yield* Effect.exit(sweep(room)).pipe(Effect.provide(still(world)))
    expect(Exit.isFailure(failed)).toBe(true)
    const half = yield* decisionsIn(world, room)
    expect(sent.filter((event) => half.has(event)).length).toBeGreaterThan(20)
    expect(sent.filter((event) => half.has(event)).length).toBeLessThan(100)
    yield* sweep(room).pipe(Effect.provide(still(world)))
    const decided = yield* decisionsIn(world, room)
    expect(sent.every((event) => decided.get(event)?.[0] === "writer wake")).toBe(true)
    expect(limits.slice(0, 3)).toStrictEqual([100, 50, 25])
  }))

it.scoped("a new member reads alone from its own boundary until it stands where the others are", () =>
  Effect.gen(function*() {
    const readers: Array<string> = []
    const world = yield* make({
      beforePage: (request) => Effect.sync(() => void (request.direction === "forward" && readers.push(request.as)))
    })
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      yield* sweep(room)
      const before = yield* world.human.send(alice, room, message("before editor"))
      yield* world.human.invite(alice, room, editor.userId)
      yield* look(editor)
      const after = yield* world.human.send(alice, room, message("after editor"))
      readers.length = 0
      yield* sweep(room)
      expect(new Set(readers)).toStrictEqual(new Set([editor.userId, writer.userId]))
      const decided = yield* decisionsIn(world, room)
      expect(decided.get(before)?.toSorted()).toStrictEqual(["editor context", "writer wake"])
      expect(decided.get(after)?.toSorted()).toStrictEqual(["editor wake", "writer wake"])
      readers.length = 0
      yield* world.human.send(alice, room, message("together"))
      yield* sweep(room)
      expect(new Set(readers).size).toBe(1)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("where history is not shared every member reads alone; once it is shared again, together", () =>
  Effect.gen(function*() {
    const readers: Array<string> = []
    const world = yield* make({
      beforePage: (request) => Effect.sync(() => void (request.direction === "forward" && readers.push(request.as)))
    })
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", alice)
    const visibility = (room: RoomId, value: string) =>
      world.human.setState(alice, room, "m.room.history_visibility", "", { history_visibility: value })
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer, editor)
      yield* sweep(room)
      yield* visibility(room, "joined")
      yield* sweep(room)
      readers.length = 0
      const apart = yield* world.human.send(alice, room, message("apart"))
      yield* sweep(room)
      expect(new Set(readers)).toStrictEqual(new Set([editor.userId, writer.userId]))
      yield* visibility(room, "shared")
      yield* sweep(room)
      readers.length = 0
      const together = yield* world.human.send(alice, room, message("together"))
      yield* sweep(room)
      expect(new Set(readers).size).toBe(1)
      const decided = yield* decisionsIn(world, room)
      for (const event of [apart, together]) expect(decided.get(event)).toHaveLength(2)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[F47] a redaction withdraws the open wake and is told once; what was redacted before wakes nobody", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const one = yield* world.human.send(alice, room, message("one"))
      yield* sweep(room)
      yield* world.human.redact(alice, room, one)
      const two = yield* world.human.send(alice, room, message("two"))
      yield* world.human.redact(alice, room, two)
      yield* sweep(room)
      const decided = yield* decisionsIn(world, room)
      expect(decided.get(one)).toStrictEqual(["writer wake redacted"])
      expect(decided.get(two)).toStrictEqual(["writer context"])
      const level = yield* Effect.flatMap(Levels, (levels) => levels.of(writer.agentId))
      expect(level.wakes).toStrictEqual([])
      expect(level.redactions.map((redaction) => redaction.eventId)).toStrictEqual([one, two])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("messages to the bot are handed on in order and once; a message that breaks it stops nothing", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const heard: Array<BotMessage> = []
    const conversation = Layer.succeed(BotConversation, {
      handle: (told: BotMessage) =>
        Effect.sync(() => void heard.push(told)).pipe(
          Effect.zipRight(told.text === "break" ? Effect.dieMessage("broken") : Effect.void)
        )
    })
    const core = () =>
      rooms.pipe(
        Layer.provide(conversation),
        Layer.provideMerge(foundation),
        Layer.provideMerge(world.outside)
      )
    const room = yield* world.human.createRoom(alice, { isDirect: true, invite: [bot] })
    yield* look({ userId: bot }).pipe(Effect.provide(core()))
    yield* world.human.send(alice, room, message("one"))
    yield* world.human.send(alice, room, message("break"))
    yield* world.human.send(alice, room, { msgtype: "m.notice", body: "not said" })
    yield* world.human.send(alice, room, message("two"))
    yield* sweep(room).pipe(Effect.provide(core()))
    yield* world.db.transaction(world.sql`UPDATE sweep_position SET position = 's1'`)
    yield* sweep(room).pipe(Effect.provide(core()))
    expect(heard.map(({ sender, text }) => [sender, text])).toStrictEqual([
      [alice, "one"],
      [alice, "break"],
      [alice, "two"]
    ])
  }))

const eventful = FastCheck.record({
  /** Who writes, and whether the push of it arrives: lost, once, or twice. */
  messages: FastCheck.array(
    FastCheck.record({
      by: FastCheck.constantFrom<"alice" | "bob" | "mallory" | "writer">("alice", "bob", "mallory", "writer"),
      mentions: FastCheck.boolean(),
      pushes: FastCheck.integer({ min: 0, max: 2 }),
      room: FastCheck.integer({ min: 0, max: 1 })
    }),
    { minLength: 1, maxLength: 25 }
  ),
  order: FastCheck.array(FastCheck.nat(), { minLength: 50, maxLength: 50 }),
  /** After how many messages the core ends, and begins again. */
  restarts: FastCheck.array(FastCheck.nat({ max: 24 }), { maxLength: 3 })
})

it.scoped.prop(
  "[M-01] the same wakes are found whichever pushes arrive, however often and in whichever order, restarts included",
  [eventful],
  ([{ messages, order, restarts }]) =>
    Effect.gen(function*() {
      const world = yield* make()
      const writer = yield* world.agent("writer", alice)
      const editor = yield* world.agent("editor", bob)
      const people = { alice, bob, mallory, writer: writer.userId }
      const chats = yield* Effect.gen(function*() {
        const made = [yield* roomWith(world, writer), yield* roomWith(world, writer)]
        for (const room of made) {
          for (const person of [bob, mallory]) {
            yield* world.human.invite(alice, room, person)
            yield* world.human.join(person, room)
          }
          yield* world.human.invite(bob, room, editor.userId)
        }
        yield* look(editor)
        return made
      }).pipe(Effect.provide(still(world)))

      const expected = new Map<EventId, ReadonlyArray<string>>()
      let scope = yield* Scope.make()
      let core = yield* Layer.buildWithScope(running(world), scope)
      for (const [index, { by, mentions, pushes, room: which }] of messages.entries()) {
        if (restarts.includes(index)) {
          yield* Scope.close(scope, Exit.void)
          scope = yield* Scope.make()
          core = yield* Layer.buildWithScope(running(world), scope)
        }
        const room = chats[which] ?? chats[0]
        if (room === undefined) return yield* Effect.dieMessage("no room")
        world.pushed.length = 0
        const content = mentions ? mention("x", writer.userId, editor.userId) : message("x")
        const event = yield* world.human.send(people[by], room, content)
        const kind = mentions ? "mention" : "wake"
        expected.set(event, [
          `editor ${by === "bob" ? kind : "context"}`,
          `writer ${by === "alice" ? kind : by === "writer" ? "own" : "context"}`
        ])
        const announced = Array.from({ length: pushes }, () => world.pushed.map(announcementOf)).flat()
        const shuffled = announced
          .map((each, at) => [order[(index + at) % order.length] ?? 0, each] as const)
          .toSorted(([one], [two]) => one - two)
          .map(([, each]) => each)
        if (shuffled.length > 0) {
          yield* Effect.flatMap(Announcements, (port) => port.accept(shuffled)).pipe(Effect.provide(core))
        }
        if (index % 3 === 0) yield* Effect.yieldNow()
      }
      yield* TestClock.adjust("60 seconds")
      yield* until(
        "the queue is empty",
        Effect.flatMap(SweepQueue, (queue) => queue.idle).pipe(Effect.provide(core))
      )
      const found = new Map<EventId, ReadonlyArray<string>>()
      for (const room of chats) {
        for (const [event, kinds] of yield* decisionsIn(world, room)) {
          if (expected.has(event)) found.set(event, kinds.toSorted())
        }
      }
      expect(Object.fromEntries(found)).toStrictEqual(Object.fromEntries(expected))
      yield* Scope.close(scope, Exit.void)
    }),
  { fastCheck: { numRuns: 25 } }
)

it.scoped("[F49] encryption switched on and a room replaced are told to the owner once each", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      yield* sweep(room)
      yield* world.human.setState(alice, room, "m.room.encryption", "", { algorithm: "m.megolm.v1.aes-sha2" })
      yield* world.human.setState(alice, room, "m.room.tombstone", "", { replacement_room: "!next" })
      yield* sweep(room)
      yield* world.human.setState(alice, room, "m.room.name", "", { name: "Old" })
      yield* sweep(room)
      const told = yield* world.db.read(world.sql`SELECT recipient, operation_id FROM outbound ORDER BY operation_id`)
      expect(told).toStrictEqual([
        { recipient: alice, operation_id: `encrypted:${writer.agentId}:${room}` },
        { recipient: alice, operation_id: `upgraded:${writer.agentId}:${room}` }
      ])
      const level = yield* Effect.flatMap(Levels, (levels) => levels.of(writer.agentId))
      expect(level.rooms).toMatchObject([{ name: "Old" }])
    }).pipe(Effect.provide(still(world)))
  }))
