// Collections over a real homeserver: rooms with very different backlogs, read again and again until nothing is left. The
// largest backlog is a setting.
import { expect, it } from "@effect/vitest"
import { Clock, Config, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { sameCursor } from "../../../src/domain/Cursor.ts"
import { FleetAgent } from "../../../src/domain/FleetAgent.ts"
import { DeliveryId, type EventId, type RoomId } from "../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import * as RoomCollector from "../../../src/layers/fleetd/RoomCollector.ts"
import * as SynapseMatrix from "../../../src/layers/matrix/SynapseMatrix.ts"
import { Acknowledgments } from "../../../src/services/Acknowledgments.ts"
import { Collector } from "../../../src/services/Collector.ts"
import { CrossfireUnavailable } from "../../../src/services/CrossfireClient.ts"
import { CrossfireDb } from "../../../src/services/Database.ts"
import { FleetLeases } from "../../../src/services/FleetLeases.ts"
import { Levels } from "../../../src/services/Levels.ts"
import { Matrix } from "../../../src/services/Matrix.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { ReadState, type RoomCursor } from "../../../src/services/ReadState.ts"
import { RoomPages } from "../../../src/services/RoomPages.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import * as FakeClient from "../../support/FakeClient.ts"
import { smallFleet } from "../../support/FleetFile.ts"
import { alice, bot, make as makeWorld, message, still } from "../crossfire/World.ts"
import * as TestSynapse from "../homeserver/TestSynapse.ts"

/** What waits in the largest room. Writing 5,000 takes a homeserver one to three minutes: `BACKLOG_MESSAGES=5000`. */
const largest = Config.withDefault(Config.integer("BACKLOG_MESSAGES"), 1_000)
/** Messages that are on their way at the same time. */
const writers = 16

const timed = <A, E, R>(what: string, work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = yield* Clock.currentTimeMillis
    const value = yield* work
    console.info(`${what}: ${(((yield* Clock.currentTimeMillis) - before) / 1000).toFixed(1)} s`)
    return value
  })

it.scopedLive(
  "[M-02] [M-03] a large backlog, 12, 1 and 0 unread messages on a real homeserver: fair batches, every message once",
  () =>
    Effect.gen(function*() {
      const backlogs = [yield* largest, 12, 1, 0]
      const { people, prepared } = yield* TestSynapse.make
      const matrix = yield* SynapseMatrix.make(prepared.access)
      const world = yield* makeWorld()
      const writer = yield* world.agent("writer", alice)
      yield* matrix.ensureUser(writer.userId, "writer")
      yield* matrix.ensureUser(bot, "crossfire")
      yield* people.register(alice)
      const outside = Layer.merge(Layer.succeed(Matrix, matrix), Layer.succeed(CrossfireDb, world.db))

      yield* Effect.gen(function*() {
        const sweep = yield* RoomSweep
        const levels = yield* Levels
        const pages = yield* RoomPages
        const acknowledgments = yield* Acknowledgments
        const stamp = yield* (yield* FleetLeases).acquire({
          fleetId: writer.fleetId,
          root: randomUUID(),
          holder: "test",
          takeOver: false
        })

        const rooms = yield* Effect.forEach(
          backlogs,
          (unread) => people.createRoom(alice, { name: `${unread}`, invite: [writer.userId] })
        )
        yield* (yield* Participation).look(writer.userId)

        const cursors = new Map<RoomId, RoomCursor>()
        const given = new Set<EventId>()
        const state = Layer.succeed(
          ReadState,
          ReadState.of({
            cursors: () => Effect.sync(() => [...cursors.values()]),
            deliveredAmong: (_agentId, events) => Effect.sync(() => new Set(events.filter((each) => given.has(each))))
          })
        )
        let pagesRead = 0
        const failed = (error: { readonly message: string }) =>
          Effect.fail(new CrossfireUnavailable({ operation: "test", reason: error.message }))
        const client = FakeClient.layer({
          boundary: () => Effect.catchAll(matrix.boundary, failed),
          page: (_stamp, agentId, request) =>
            Effect.suspend(() => {
              pagesRead += 1
              return Effect.catchAll(pages.read({ agentId, ...request }), failed)
            })
        })
        const collector = yield* Effect.provide(
          Collector,
          RoomCollector.layer.pipe(Layer.provide(Layer.merge(client, state)))
        )
        const [enrolled] = smallFleet().agents
        if (enrolled === undefined) return
        const agent = new FleetAgent({
          ...enrolled.agent,
          agentId: writer.agentId,
          name: RegisteredName.make("writer"),
          enabled: true,
          paused: false,
          problem: null,
          retired: false,
          credentialRefused: false
        })

        /** One collection, received: what it holds, by room. */
        const collect = Effect.gen(function*() {
          const level = yield* levels.of(writer.agentId)
          const { failedRooms, moves, records } = yield* collector.collect(stamp, agent, level)
          expect(failedRooms).toStrictEqual([])
          for (const { eventId } of records) {
            expect(given.has(eventId)).toBe(false)
            given.add(eventId)
          }
          for (const { base, next, roomId, seenLatest } of moves) {
            const known = cursors.get(roomId)
            expect(sameCursor(known?.cursor ?? null, base)).toBe(true)
            cursors.set(roomId, { roomId, cursor: next, seenLatest: seenLatest ?? known?.seenLatest ?? 0 })
          }
          yield* acknowledgments.accept({ agentId: writer.agentId, fleetId: writer.fleetId, stamp }, {
            deliveryId: DeliveryId.make(randomUUID()),
            cursors: moves.map(({ next, roomId }) => ({ roomId, cursor: next })),
            delivered: records.map(({ eventId, roomId }) => ({ roomId, eventId })),
            redactionNumber: 0
          })
          return rooms.map((roomId) =>
            records.filter((record) => record.roomId === roomId).map(({ eventId }) => eventId)
          )
        })

        // The rooms as they were before: recent history, and one message each.
        yield* Effect.forEach(rooms, (roomId) => people.send(alice, roomId, message("hello")), { discard: true })
        yield* Effect.forEach(rooms, (roomId) => sweep.room(roomId), { discard: true })
        expect((yield* collect).every((records) => records.length > 0)).toBe(true)

        const written = yield* timed(
          `writing ${backlogs.join(" + ")} messages`,
          Effect.forEach(rooms, (roomId, index) =>
            Effect.forEach(
              Array.from({ length: backlogs[index] ?? 0 }),
              (_, count) => people.send(alice, roomId, message(`message ${count}`)),
              { concurrency: index === 0 ? writers : 1 }
            ))
        )
        yield* timed("sweeping them", Effect.forEach(rooms, (roomId) => sweep.room(roomId), { discard: true }))

        pagesRead = 0
        const batches: Array<ReadonlyArray<ReadonlyArray<EventId>>> = []
        yield* timed(
          "collecting them",
          Effect.gen(function*() {
            for (;;) {
              const batch = yield* collect
              if (batch.every((records) => records.length === 0)) break
              batches.push(batch)
            }
          })
        )
        const sizes = batches.map((batch) => batch.map((records) => records.length))
        console.info(`${batches.length} batches of ${pagesRead} pages, the first of ${sizes[0]?.join(" + ")}`)
        expect(sizes[0]).toStrictEqual([87, 12, 1, 0])
        expect(sizes.slice(1, -1).every(([first, ...others]) => first === 100 && others.every((size) => size === 0)))
          .toBe(
            true
          )
        expect(sizes).toHaveLength(1 + Math.ceil(((backlogs[0] ?? 0) - 87) / 100))
        for (const [index, events] of written.entries()) {
          const read = batches.flatMap((batch) => batch[index] ?? [])
          expect(read.toSorted()).toStrictEqual(events.toSorted())
          if (index > 0) expect(read).toStrictEqual(events)
        }
        expect((yield* levels.of(writer.agentId)).wakes).toStrictEqual([])
      }).pipe(Effect.provide(still({ ...world, outside })))
    }),
  240_000
)
