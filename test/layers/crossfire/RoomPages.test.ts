import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { DeliveryId, type EventId, type RoomId, type StreamToken } from "../../../src/domain/Ids.ts"
import { Acknowledgments } from "../../../src/services/Acknowledgments.ts"
import { FleetLeases } from "../../../src/services/FleetLeases.ts"
import { Levels } from "../../../src/services/Levels.ts"
import { HomeserverUnavailable, PageFailed } from "../../../src/services/Matrix.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { RoomPages } from "../../../src/services/RoomPages.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import { alice, bob, make, mallory, mention, message, still, type TestAgent, type World } from "./World.ts"

const roomWith = (world: World, agent: TestAgent) =>
  Effect.gen(function*() {
    const room = yield* world.human.createRoom(alice)
    yield* world.human.invite(alice, room, agent.userId)
    yield* Effect.flatMap(Participation, (participation) => participation.look(agent.userId))
    return room
  })

const boundaryOf = (agent: TestAgent, room: RoomId) =>
  Effect.flatMap(Levels, (levels) => levels.of(agent.agentId)).pipe(
    Effect.flatMap((level) => {
      const boundary = level.rooms.find((each) => each.roomId === room)?.boundary
      return boundary === undefined ? Effect.dieMessage("no boundary") : Effect.succeed(boundary)
    })
  )

const read = (
  agent: TestAgent,
  room: RoomId,
  from: StreamToken,
  to: StreamToken | null,
  limit = 100,
  direction: "forward" | "backward" = "forward"
) =>
  Effect.flatMap(RoomPages, (pages) => pages.read({ agentId: agent.agentId, roomId: room, from, to, direction, limit }))

it.scoped("[M-07] a page has every event with its decision, its sender's place and what it relates to", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* world.person(bob, "administrator")
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", bob)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      for (const person of [bob, mallory]) {
        yield* world.human.invite(alice, room, person)
        yield* world.human.join(person, room)
      }
      yield* world.human.setState(mallory, room, "m.room.member", mallory, {
        membership: "join",
        displayname: "alice"
      }).pipe(Effect.ignore)
      yield* world.human.invite(bob, room, editor.userId)
      yield* Effect.flatMap(Participation, (participation) => participation.look(editor.userId))
      const from = yield* boundaryOf(writer, room)
      const asked = yield* world.human.send(alice, room, mention("do it", writer.userId))
      const other = yield* world.human.send(bob, room, message("context"))
      const edit = yield* world.human.send(alice, room, {
        ...message("* do it now"),
        "m.new_content": message("do it now"),
        "m.relates_to": { rel_type: "m.replace", event_id: asked }
      })
      const reply = yield* world.memory.matrix.send({
        as: editor.userId,
        roomId: room,
        type: "m.room.message",
        transactionId: "reply",
        content: message("done", { "m.relates_to": { "m.in_reply_to": { event_id: asked } } })
      })
      const mine = yield* world.memory.matrix.send({
        as: writer.userId,
        roomId: room,
        type: "m.room.message",
        transactionId: "mine",
        content: message("mine")
      })
      const secret = yield* world.human.send(mallory, room, message("secret"))
      yield* world.human.redact(mallory, room, secret)
      const page = yield* read(writer, room, from, yield* world.memory.matrix.boundary)
      const of = (event: EventId) => page.records.find((record) => record.eventId === event)
      expect(of(asked)).toMatchObject({ kind: "mention", senderRole: "owner", form: "message", text: "do it" })
      expect(of(other)).toMatchObject({ kind: "context", senderRole: "administrator", sender: bob })
      expect(of(edit)).toMatchObject({ kind: "context", form: "edit", text: "do it now", relatesTo: asked })
      expect(of(reply)).toMatchObject({
        kind: "context",
        senderRole: "agent",
        senderAgent: { name: "editor", owner: bob },
        replyTo: asked
      })
      expect(of(mine)).toMatchObject({ kind: "own", senderRole: "agent" })
      expect(of(secret)).toMatchObject({ kind: "context", form: "redacted", text: null, senderRole: "person" })
      expect(page.records.some((record) => record.form === "redaction" && record.relatesTo === secret)).toBe(true)
      expect(page.records.find((record) => record.form === "membership")?.text).toContain("@")
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[M-04] history before the boundary is context, read backwards or forwards; delivered wakes are context again", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* world.human.createRoom(alice)
      const start = yield* world.memory.matrix.boundary
      const old = yield* Effect.forEach(
        Array.from({ length: 150 }),
        () => world.human.send(alice, room, mention("old", writer.userId))
      )
      yield* world.human.invite(alice, room, writer.userId)
      yield* Effect.flatMap(Participation, (participation) => participation.look(writer.userId))
      const boundary = yield* boundaryOf(writer, room)
      const backward = yield* read(writer, room, boundary, null, 200, "backward")
      const forward = yield* read(writer, room, start, boundary, 200)
      for (const page of [backward, forward]) {
        expect(page.records.filter((record) => record.text === "old")).toHaveLength(150)
        expect(page.records.every((record) => record.kind === "context")).toBe(true)
      }
      const fresh = yield* world.human.send(alice, room, message("fresh"))
      const now = yield* world.memory.matrix.boundary
      const kinds = Effect.map(
        read(writer, room, boundary, now),
        (page) => page.records.filter((record) => record.eventId === fresh).map((record) => record.kind)
      )
      expect(yield* kinds).toStrictEqual(["wake"])
      const level = yield* Effect.flatMap(Levels, (levels) => levels.of(writer.agentId))
      expect(level.wakes.map((wake) => wake.eventId)).toStrictEqual([fresh])
      const stamp = yield* Effect.flatMap(
        FleetLeases,
        (leases) => leases.acquire({ fleetId: writer.fleetId, root: randomUUID(), holder: "x", takeOver: false })
      )
      yield* Effect.flatMap(
        Acknowledgments,
        (port) =>
          port.accept({ agentId: writer.agentId, fleetId: writer.fleetId, stamp }, {
            deliveryId: DeliveryId.make(randomUUID()),
            cursors: [],
            delivered: [{ roomId: room, eventId: fresh }],
            redactionNumber: 0
          })
      )
      expect(yield* kinds).toStrictEqual(["context"])
      expect(old).toHaveLength(150)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[X-04] a room where the agent takes no part gives no page", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const foreign = yield* world.human.createRoom(mallory, { isPublic: true })
      const from = yield* boundaryOf(writer, room)
      const now = yield* world.memory.matrix.boundary
      expect((yield* Effect.flip(read(writer, foreign, from, now)))._tag).toBe("NotAllowed")
      yield* Effect.flatMap(Participation, (participation) => participation.withdraw(writer.agentId, room))
      expect((yield* Effect.flip(read(writer, room, from, now)))._tag).toBe("NotAllowed")
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[M-06] [F25] [F28] pages shrink down to one event; what cannot be used is told apart from what can be tried again", () =>
  Effect.gen(function*() {
    let failure: "none" | "large" | "always-large" | "down" = "none"
    const limits: Array<number> = []
    const world = yield* make({
      beforePage: ({ limit, roomId }) =>
        Effect.suspend((): Effect.Effect<void, HomeserverUnavailable | PageFailed> => {
          limits.push(limit)
          if (failure === "down") return Effect.fail(new HomeserverUnavailable({ operation: "page", status: 502 }))
          const large = failure === "always-large" || (failure === "large" && limit > 1)
          return large
            ? Effect.fail(new PageFailed({ roomId, reason: "too-large", limit, eventId: null }))
            : Effect.void
        })
    })
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const from = yield* boundaryOf(writer, room)
      yield* world.human.send(alice, room, message("x"))
      const now = yield* world.memory.matrix.boundary
      yield* read(writer, room, from, now)
      failure = "large"
      limits.length = 0
      const page = yield* read(writer, room, from, now, 10)
      expect(limits).toStrictEqual([10, 5, 2, 1])
      expect(page.records).toHaveLength(1)
      expect(page.end).not.toBeNull()
      failure = "always-large"
      expect(yield* Effect.flip(read(writer, room, from, now))).toMatchObject({
        _tag: "PageUnusable",
        reason: "too-large"
      })
      failure = "down"
      expect((yield* Effect.flip(read(writer, room, from, now)))._tag).toBe("HomeserverDown")
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[M-09] an agent's own message is its own after its decision has expired", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const room = yield* roomWith(world, writer)
      const from = yield* boundaryOf(writer, room)
      const mine = yield* world.human.send(writer.userId, room, message("mine"))
      yield* Effect.flatMap(RoomSweep, (all) => all.room(room))
      yield* world.db.transaction(world.sql`DELETE FROM decision`)
      const { records } = yield* read(writer, room, from, null)
      expect(records.find(({ eventId }) => eventId === mine)?.kind).toBe("own")
    }).pipe(Effect.provide(still(world)))
  }))
