import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { advanced, type Cursor, cursorAt } from "../../../src/domain/Cursor.ts"
import { RoomId, StreamToken } from "../../../src/domain/Ids.ts"
import * as RoomCollector from "../../../src/layers/fleetd/RoomCollector.ts"
import { Collector } from "../../../src/services/Collector.ts"
import { ReadState } from "../../../src/services/ReadState.ts"
import * as FakeClient from "../../support/FakeClient.ts"
import { agent, eventOf, levelOf, recordOf, stamp } from "./CollectionFixture.ts"

const room = RoomId.make("!room")
const event = (at: number) => eventOf(room, at)
const record = (at: number) => recordOf(room, at)
const token = (text: string) => StreamToken.make(text)

/** One collection in a room whose window was read up to `t3` and goes on to `s9`. */
const collect = (cursor: Cursor, delivered: ReadonlyArray<number>, pages: Record<string, ReadonlyArray<number>>) => {
  const asked: Array<string> = []
  const client = FakeClient.layer({
    boundary: () => Effect.succeed(token("s20")),
    page: (_stamp, _agentId, { from, to }) =>
      Effect.sync(() => {
        asked.push(`${from} ${to}`)
        // Pages of one window follow one another by `t` tokens; an `s` token begins another window.
        const next = Object.keys(pages)[Object.keys(pages).indexOf(from) + 1]
        const goesOn = pages[from] !== undefined && next !== undefined && next.startsWith("t")
        return { records: (pages[from] ?? []).map((at) => record(at)), end: goesOn ? token(next) : null }
      })
  })
  const state = Layer.succeed(
    ReadState,
    ReadState.of({
      cursors: () => Effect.succeed([{ roomId: room, cursor, seenLatest: 3 }]),
      deliveredAmong: (_agentId, events) =>
        Effect.succeed(new Set(events.filter((eventId) => delivered.map(event).includes(eventId))))
    })
  )
  const level = levelOf([room])
  return Effect.flatMap(Collector, (collector) => collector.collect(stamp, agent, level)).pipe(
    Effect.map(({ moves, records }) => ({ asked, moves, given: records.map(({ eventId }) => eventId) })),
    Effect.provide(RoomCollector.layer.pipe(Layer.provide(client), Layer.provide(state)))
  )
}

const partly = advanced(cursorAt(token("s1")), token("s9"), token("t3"), event(3))

it.effect("[M-01] what a continued window brings again was given before, and is left out", () =>
  Effect.gen(function*() {
    const { asked, given, moves } = yield* collect(partly, [1, 2, 3], { t3: [2, 3, 4, 5] })
    expect(asked).toStrictEqual(["t3 s9", "s9 s20"])
    expect(given).toStrictEqual([event(4), event(5)])
    expect(moves.map(({ base, next, seenLatest }) => ({ base, next, seenLatest }))).toStrictEqual([
      // The old window ended below what is known now: the next one was read, too.
      { base: partly, next: cursorAt(token("s20"), event(5)), seenLatest: 7 }
    ])
  }))

it.effect("[M-01] the rest of a window that holds nothing more does not stand before what came after it", () =>
  Effect.gen(function*() {
    const { asked, given, moves } = yield* collect(partly, [1, 2, 3], { t3: [2, 3], s9: [4] })
    expect(asked).toStrictEqual(["t3 s9", "s9 s20"])
    expect(given).toStrictEqual([event(4)])
    expect(moves.map(({ next, seenLatest }) => ({ next, seenLatest }))).toStrictEqual([
      { next: cursorAt(token("s20"), event(4)), seenLatest: 7 }
    ])
  }))

it.effect("[M-01] what a later page of the same collection brings again is given once", () =>
  Effect.gen(function*() {
    const { given } = yield* collect(cursorAt(token("s1")), [1], { s1: [2, 3], t3: [1, 2, 3, 4], t4: [3, 4, 5] })
    expect(given).toStrictEqual([event(2), event(3), event(4), event(5)])
  }))
