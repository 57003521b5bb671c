// How many pages are read at the same time, in which order, and when one request serves several agents.
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import type { ServerResponse } from "node:http"
import type { RoomId } from "../../../src/domain/Ids.ts"
import type { StoreFailed } from "../../../src/services/Database.ts"
import { Rooms } from "../../../src/services/store/Rooms.ts"
import { SweepPositions } from "../../../src/services/store/SweepPositions.ts"
import { answer, event, type PageScript, timeline } from "../../support/HostileHomeserver.ts"
import * as HostileWorld from "./HostileWorld.ts"
import { alice, still } from "./World.ts"

/** What the agents of these tests ask for, which no sweep does. */
const asked = 7

const eventually = (what: string, holds: () => boolean) =>
  Effect.sync(holds).pipe(
    Effect.repeat({ until: (held) => held, schedule: Schedule.spaced("2 millis") }),
    Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => `waited in vain: ${what}` }),
    Effect.orDie
  )

/** Holds the agents' pages back until they are let go, one after another, with this answer; sweeps get theirs at once. */
const gate = (body: string) => {
  const held: Array<ServerResponse> = []
  const script: PageScript = (page, response, request) => {
    if (page.limit !== asked) return answer(200, body)(page, response, request)
    held.push(response)
  }
  const release = () => {
    const response = held.shift()
    response?.writeHead(200, { "content-type": "application/json" }).end(body)
  }
  return { script, held, release }
}

it.scopedLive("[M-03] the same page of a shared room, asked for at the same time, is one request, and nothing is kept", () =>
  Effect.gen(function*() {
    const { homeserver, page, room, world } = yield* HostileWorld.make
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", alice)
    yield* Effect.gen(function*() {
      const { held, release, script } = gate(`{"chunk":[${event("$one")}]}`)
      const shared = yield* room(script, writer, editor)
      const readers = () => homeserver.asked(shared).filter(({ limit }) => limit === asked).map(({ as }) => as)
      const both = [writer, editor].map((agent) => Effect.fork(page(agent, shared, "s0", asked)))
      const [first, second] = yield* Effect.all(both)
      yield* eventually("the request", () => held.length === 1)
      // The one who asked goes away; the other one still gets the page.
      if (first !== undefined) yield* Fiber.interrupt(first)
      release()
      const got = second === undefined ? null : yield* Fiber.join(second)
      expect(got?.records.map(({ eventId }) => eventId)).toStrictEqual(["$one"])
      expect(readers()).toStrictEqual([writer.userId])

      const anew = yield* Effect.fork(page(editor, shared, "s0", asked))
      yield* eventually("a request of its own", () => held.length === 1)
      expect(readers()).toStrictEqual([writer.userId, editor.userId])
      // Nobody waits any more: the request ends too.
      yield* Fiber.interrupt(anew)
      yield* eventually("its end", () => homeserver.open() === 0)
    }).pipe(Effect.provide(still(world)))
  }))

it.scopedLive("[M-03] where members may see different things everybody reads alone", () =>
  Effect.gen(function*() {
    const { homeserver, page, room, world } = yield* HostileWorld.make
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", alice)
    yield* Effect.gen(function*() {
      const rooms = yield* Rooms
      const positions = yield* SweepPositions
      const plain = `{"chunk":[${event("$one")}]}`
      const state = (type: string, key: string, content: string) =>
        `{"chunk":[${event("$first")},{"event_id":"$state","type":"${type}","state_key":"${key}",` +
        `"sender":"@alice:cf.test","content":${content}}]}`
      const cases: ReadonlyArray<
        readonly [what: string, body: string, before: (roomId: RoomId) => Effect.Effect<void, StoreFailed>]
      > = [
        ["hidden history", plain, (roomId) => rooms.amend(roomId, { visibility: "joined" })],
        [
          "history that was hidden before",
          plain,
          (roomId) =>
            Effect.zipRight(
              rooms.amend(roomId, { visibility: "invited" }),
              rooms.amend(roomId, { visibility: "shared" })
            )
        ],
        [
          "a reader of its own",
          plain,
          (roomId) => positions.split(roomId, editor.userId, null)
        ],
        // Both are seen on the page only, after it was read together.
        [
          "a change on the page",
          state("m.room.history_visibility", "", `{"history_visibility":"shared"}`),
          () => Effect.void
        ],
        [
          "its own return on the page",
          state("m.room.member", editor.userId, `{"membership":"join"}`),
          () => Effect.void
        ]
      ]
      for (const [what, body, before] of cases) {
        const { held, release, script } = gate(body)
        const each = yield* room(script, writer, editor)
        yield* Effect.orDie(before(each))
        const first = yield* Effect.fork(page(writer, each, "s0", asked))
        yield* eventually(what, () => held.length === 1)
        const second = yield* Effect.fork(page(editor, each, "s0", asked))
        yield* Effect.sleep("30 millis")
        release()
        yield* Fiber.join(first)
        yield* eventually(what, () => held.length === 1)
        release()
        expect((yield* Fiber.join(second)).records.length, what).toBeGreaterThan(0)
        const readers = homeserver.asked(each).filter(({ limit }) => limit === asked).map(({ as }) => as)
        expect(readers, what).toStrictEqual([writer.userId, editor.userId])
      }
    }).pipe(Effect.provide(still(world)))
  }))

it.scopedLive(
  "[M-06] four pages at the same time, in the order of arrival, one of a room; too many are refused",
  () =>
    Effect.gen(function*() {
      const { homeserver, page, room, world } = yield* HostileWorld.make
      const writer = yield* world.agent("writer", alice)
      yield* Effect.gen(function*() {
        const gates = Array.from({ length: 7 }, () => gate(`{"chunk":[]}`))
        const rooms = yield* Effect.forEach(gates, ({ script }) => room(script, writer))
        const [firstRoom, secondRoom] = rooms
        const lastRoom = rooms.at(-1)
        if (firstRoom === undefined || secondRoom === undefined || lastRoom === undefined) return
        const waiting = () => gates.map(({ held }) => held.length)
        const pages: Array<Fiber.RuntimeFiber<unknown, unknown>> = []
        for (const [index, roomId] of rooms.entries()) {
          pages.push(yield* Effect.fork(page(writer, roomId, "s0", asked)))
          // The first room is asked for twice: its second page takes no place from the others.
          if (index === 0) pages.push(yield* Effect.fork(page(writer, roomId, "s1", asked)))
          const open = Math.min(index + 1, 4)
          yield* eventually(`${open} requests`, () => homeserver.open() === open)
          yield* Effect.sleep("10 millis")
        }
        expect(waiting()).toStrictEqual([1, 1, 1, 1, 0, 0, 0])
        gates[2]?.release()
        yield* eventually("the fifth", () => gates[4]?.held.length === 1)
        expect(waiting()).toStrictEqual([1, 1, 0, 1, 1, 0, 0])
        gates[0]?.release()
        yield* eventually("the sixth", () => gates[5]?.held.length === 1)
        expect(waiting()).toStrictEqual([0, 1, 0, 1, 1, 1, 0])

        // 2 of the 8 are answered; 250 more are the 256 that may wait.
        const more = yield* Effect.forEach(
          Array.from({ length: 250 }),
          (_, index) => Effect.fork(page(writer, secondRoom, `s${index + 10}`, asked))
        )
        yield* Effect.sleep("100 millis")
        expect(yield* Effect.flip(page(writer, lastRoom, "s5", asked))).toMatchObject({ _tag: "ServerBusy" })
        yield* Fiber.interruptAll([...pages, ...more])
        yield* eventually("the end of all", () => homeserver.open() === 0)
        homeserver.script(lastRoom, timeline([{ id: "$after" }]))
        expect((yield* page(writer, lastRoom, "s0", asked)).records).toHaveLength(1)
      }).pipe(Effect.provide(still(world)))
    }),
  30_000
)
