import { expect, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import type { RoomId } from "../../../src/domain/Ids.ts"
import * as HomeserverRestarts from "../../../src/layers/crossfire/HomeserverRestarts.ts"
import { HomeserverProcess } from "../../../src/services/HomeserverProcess.ts"
import { HomeserverUnavailable, type MatrixError } from "../../../src/services/Matrix.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { SweepQueue } from "../../../src/services/SweepQueue.ts"
import { alice, decisionsIn, make, message, running, serverName, still, until, type World } from "./World.ts"

const idle = Effect.flatMap(SweepQueue, (queue) => queue.idle)

const settledRooms = (world: World, rooms: ReadonlyArray<RoomId>) =>
  Effect.gen(function*() {
    yield* until("the queue is empty", idle)
    return yield* Effect.forEach(rooms, (room) => decisionsIn(world, room))
  })

const withRooms = (world: World, count: number) =>
  Effect.gen(function*() {
    const writer = yield* world.agent("writer", alice)
    const rooms = yield* Effect.forEach(Array.from({ length: count }), () =>
      Effect.tap(world.human.createRoom(alice), (room) => world.human.invite(alice, room, writer.userId)))
    yield* Effect.flatMap(Participation, (participation) =>
      participation.look(writer.userId)).pipe(
        Effect.provide(still(world))
      )
    return rooms
  })

it.scoped("[F30] a message that no push brought is found within one round; an unchanged boundary costs one request", () =>
  Effect.gen(function*() {
    const calls: Array<string> = []
    const world = yield* make({ before: (operation) => Effect.sync(() => void calls.push(operation)) })
    const rooms = yield* withRooms(world, 3)
    yield* Effect.gen(function*() {
      yield* settledRooms(world, rooms)
      const sent = yield* Effect.forEach(rooms, (room) => world.human.send(alice, room, message("lost")))
      yield* TestClock.adjust("60 seconds")
      const decided = yield* settledRooms(world, rooms)
      for (const [index, event] of sent.entries()) {
        expect(decided[index]?.get(event)).toStrictEqual(["writer wake"])
      }
      yield* TestClock.adjust("60 seconds")
      yield* until("the queue is empty", idle)
      calls.length = 0
      yield* TestClock.adjust("60 seconds")
      yield* until("the queue is empty", idle)
      expect(calls).toStrictEqual(["boundary"])
    }).pipe(Effect.provide(running(world)))
  }))

it.scoped("[F22] after an outage all rooms and invitations are looked at, and the homeserver is nudged", () =>
  Effect.gen(function*() {
    let down = false
    const calls: Array<string> = []
    const world = yield* make({
      before: (operation): Effect.Effect<void, MatrixError> =>
        Effect.suspend(() => {
          calls.push(operation)
          return down ? Effect.fail(new HomeserverUnavailable({ operation, status: null })) : Effect.void
        })
    })
    const rooms = yield* withRooms(world, 2)
    const editor = yield* world.agent("editor", alice)
    yield* Effect.gen(function*() {
      yield* settledRooms(world, rooms)
      down = true
      yield* TestClock.adjust("60 seconds")
      const missed = yield* Effect.forEach(rooms, (room) => world.human.send(alice, room, message("missed")))
      const invited = yield* world.human.createRoom(alice, { invite: [editor.userId] })
      yield* TestClock.adjust("30 seconds")
      down = false
      calls.length = 0
      yield* TestClock.adjust("5 seconds")
      yield* until("a nudge", Effect.sync(() => calls.includes("nudge")))
      const decided = yield* settledRooms(world, rooms)
      for (const [index, event] of missed.entries()) {
        expect(decided[index]?.get(event)).toStrictEqual(["writer wake"])
      }
      expect(yield* world.memory.matrix.joinedRooms(editor.userId)).toStrictEqual([invited])
    }).pipe(Effect.provide(running(world)))
  }))

it.scoped("a room that cannot be read holds up no other one and is read when it can be", () =>
  Effect.gen(function*() {
    let broken: RoomId | null = null
    const world = yield* make({
      beforePage: (request) =>
        request.roomId === broken
          ? Effect.fail(new HomeserverUnavailable({ operation: "page", status: 502 }))
          : Effect.void
    })
    const rooms = yield* withRooms(world, 8)
    yield* Effect.gen(function*() {
      yield* settledRooms(world, rooms)
      broken = rooms[0] ?? null
      const sent = yield* Effect.forEach(rooms, (room) => world.human.send(alice, room, message("x")))
      yield* world.push
      const decided = yield* settledRooms(world, rooms)
      for (const [index, event] of sent.entries()) {
        expect(decided[index]?.get(event)).toStrictEqual(index === 0 ? undefined : ["writer wake"])
      }
      broken = null
      yield* TestClock.adjust("2 seconds")
      const later = yield* settledRooms(world, rooms)
      expect(sent.map((event, index) => later[index]?.get(event))).toStrictEqual(sent.map(() => ["writer wake"]))
    }).pipe(Effect.provide(running(world)))
  }))

it.scoped("a managed homeserver that was started again is looked at like after an outage, though no call met it down", () =>
  Effect.gen(function*() {
    let pid: number | null = 1
    const world = yield* make()
    const rooms = yield* withRooms(world, 1)
    const editor = yield* world.agent("editor", alice)
    const process = Layer.succeed(HomeserverProcess, {
      baseUrl: "http://127.0.0.1:1",
      serverName,
      ready: Effect.void,
      pid: Effect.sync(() => pid),
      setRegistration: () => Effect.void
    })
    yield* Effect.gen(function*() {
      yield* settledRooms(world, rooms)
      const invited = yield* world.human.createRoom(alice, { invite: [editor.userId] })
      pid = null
      yield* TestClock.adjust("4 seconds")
      yield* until("the queue is empty", idle)
      expect(yield* world.memory.matrix.joinedRooms(editor.userId)).toStrictEqual([])
      pid = 2
      yield* TestClock.adjust("4 seconds")
      yield* until(
        "the invitation was found",
        Effect.map(world.memory.matrix.joinedRooms(editor.userId), (joined) => joined.includes(invited))
      )
    }).pipe(Effect.provide(
      HomeserverRestarts.layer.pipe(Layer.provide(process), Layer.provideMerge(running(world)))
    ))
  }))
