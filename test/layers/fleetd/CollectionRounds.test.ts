// Collections over several rooms, on a client whose rooms hold numbered events: shares, failures in the middle, long
// stretches of what is left out.
import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { cursorAt } from "../../../src/domain/Cursor.ts"
import { RoomId, StreamToken } from "../../../src/domain/Ids.ts"
import type { RoomRecord } from "../../../src/domain/Level.ts"
import * as RoomCollector from "../../../src/layers/fleetd/RoomCollector.ts"
import { Collector } from "../../../src/services/Collector.ts"
import { RoomPageFailed } from "../../../src/services/CrossfireClient.ts"
import { ReadState } from "../../../src/services/ReadState.ts"
import * as FakeClient from "../../support/FakeClient.ts"
import { agent, levelOf, recordOf, stamp } from "./CollectionFixture.ts"

const token = (at: number) => StreamToken.make(`s${at}`)

interface RoomOf {
  /** Kinds of its events, oldest first. */
  readonly events: ReadonlyArray<RoomRecord["kind"]>
  /** Reading on from this event fails. */
  readonly brokenAt?: number
}

const roomId = (index: number) => RoomId.make(`!room-${index}`)

/** One collection over these rooms, each read from its beginning. */
const collect = (rooms: ReadonlyArray<RoomOf>) => {
  const limits: Array<number> = []
  const client = FakeClient.layer({
    boundary: () => Effect.succeed(token(1_000_000)),
    page: (_stamp, _agentId, { from, limit, roomId: asked }) =>
      Effect.suspend(() => {
        limits.push(limit)
        const { brokenAt, events } = rooms[Number(asked.slice("!room-".length))] ?? { events: [] }
        const start = Number(from.slice(1))
        const end = Math.min(start + limit, events.length)
        if (brokenAt !== undefined && end > brokenAt) {
          return Effect.fail(new RoomPageFailed({ reason: "malformed" }))
        }
        return Effect.succeed({
          records: events.slice(start, end).map((kind, index) => recordOf(asked, start + index, kind)),
          end: end === events.length ? null : token(end)
        })
      })
  })
  const state = Layer.succeed(
    ReadState,
    ReadState.of({
      cursors: () =>
        Effect.succeed(rooms.map((_, index) => ({ roomId: roomId(index), cursor: cursorAt(token(0)), seenLatest: 0 }))),
      deliveredAmong: () => Effect.succeed(new Set())
    })
  )
  const level = levelOf(rooms.map((_, index) => roomId(index)))
  return Effect.flatMap(Collector, (collector) => collector.collect(stamp, agent, level)).pipe(
    Effect.map(({ failedRooms, moves, records }) => ({
      failedRooms,
      given: rooms.map((_, index) => records.filter((one) => one.roomId === roomId(index)).length),
      order: records.map(({ eventId }) => eventId),
      positions: new Map(moves.map(({ next, roomId: room, seenLatest }) => [room, { next, seenLatest }])),
      limits
    })),
    Effect.provide(RoomCollector.layer.pipe(Layer.provide(client), Layer.provide(state)))
  )
}

const messages = (count: number): RoomOf => ({ events: Array.from({ length: count }, () => "wake" as const) })

it.effect("[M-02] [M-03] an active room takes what quiet ones leave, and none is left out", () =>
  Effect.gen(function*() {
    const { given, order, positions } = yield* collect([messages(5_000), messages(12), messages(1), messages(0)])
    expect(given).toStrictEqual([87, 12, 1, 0])
    expect(positions.get(roomId(0))?.next).toMatchObject({ from: "s0", to: "s1000000", taken: "s87" })
    expect(positions.get(roomId(1))).toMatchObject({ next: { from: "s1000000", to: null }, seenLatest: 7 })
    expect(order.slice(0, 3)).toStrictEqual(["$room-0-0", "$room-0-1", "$room-0-2"])
  }))

it.effect("[M-02] fifty rooms give ten each, above the target", () =>
  Effect.gen(function*() {
    const { given } = yield* collect(
      Array.from({ length: 50 }, (_, index) => messages(index === 0 ? 2_000 : 10 + index))
    )
    expect(given).toStrictEqual(Array.from({ length: 50 }, () => 10))
  }))

it.effect("[M-06] a page that fails after others leaves what was read, and the room stands right before it", () =>
  Effect.gen(function*() {
    const broken = { ...messages(500), brokenAt: 60 }
    const { failedRooms, given, positions } = yield* collect([broken, messages(3)])
    // The first round gave both 50; the second asks the active room for 47 more, and that page is broken.
    expect(given).toStrictEqual([50, 3])
    expect(failedRooms).toStrictEqual([{ roomId: roomId(0), reason: "malformed" }])
    expect(positions.get(roomId(0))?.next).toMatchObject({ taken: "s50" })
  }))

it.effect("[M-06] a room whose first page fails moves nowhere, and the others go on", () =>
  Effect.gen(function*() {
    const { failedRooms, given, positions } = yield* collect([{ ...messages(500), brokenAt: 0 }, messages(3)])
    expect(given).toStrictEqual([0, 3])
    expect(failedRooms).toHaveLength(1)
    expect(positions.has(roomId(0))).toBe(false)
  }))

it.effect("[M-03] what stands behind a long stretch of the agent's own events is given within the share", () =>
  Effect.gen(function*() {
    const own = Array.from({ length: 730 }, () => "own" as const)
    const rooms = [{ events: [...own, ...messages(300).events] }, ...Array.from({ length: 9 }, () => messages(300))]
    const { given, limits } = yield* collect(rooms)
    expect(given).toStrictEqual(Array.from({ length: 10 }, () => 10))
    expect(limits.length).toBeLessThan(40)
  }))
