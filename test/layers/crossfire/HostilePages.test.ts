// What a homeserver can answer wrongly to a page: for each, what the agent is told, that nothing of that room is decided past
// the fault, that other rooms go on, and that it costs neither memory nor for ever.
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import { maxEventBytes } from "../../../src/layers/crossfire/BoundedPage.ts"
import { answer, event, type PageScript, timeline } from "../../support/HostileHomeserver.ts"
import * as HostileWorld from "./HostileWorld.ts"
import { alice, running, still } from "./World.ts"

const mebibyte = 1024 * 1024
/** An event has one room: each good room's has its own name. */
const good = (name: string) => timeline([{ id: `$good-${name}` }])

const small = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `$small-${index}` }))

it.scopedLive(
  "[M-06] [F28] an 80 MB page is cut at its bound and read in smaller ones, all of it",
  () =>
    Effect.gen(function*() {
      const { decided, homeserver, page, room, stopped, sweep, world } = yield* HostileWorld.make
      const writer = yield* world.agent("writer", alice)
      yield* Effect.gen(function*() {
        const events = small(100).map((each) => ({ ...each, bodyBytes: 800_000 }))
        const big = yield* room(timeline(events), writer)
        const read = yield* HostileWorld.peakMemory(sweep(big))
        console.info(`sweeping an 80 MB room: peak ${read.peakMiB} MiB, ${read.risenMiB} above the start`)
        expect(yield* decided(big)).toStrictEqual(events.map(({ id }) => id))
        const first = yield* HostileWorld.peakMemory(page(writer, big))
        console.info(`an agent's page of it: peak ${first.peakMiB} MiB, ${first.risenMiB} above the start`)
        expect(first.value.records.length).toBeGreaterThan(4)
        expect(first.value.end).toBe(`t${first.value.records.length}`)
        expect(homeserver.asked(big).slice(0, 5).map(({ from, limit }) => [from, limit])).toStrictEqual(
          [100, 50, 25, 12, 6].map((limit) => ["s0", limit])
        )
        expect(read.risenMiB).toBeLessThan(400)
        expect(yield* stopped(writer, big)).toBeNull()
      }).pipe(Effect.provide(still(world)))
    }),
  60_000
)

it.scopedLive(
  "[M-06] [F28] an event over 64 MiB stops its room alone, by name; one below it is read",
  () =>
    Effect.gen(function*() {
      const { decided, page, position, room, stopped, sweep, told, world } = yield* HostileWorld.make
      const writer = yield* world.agent("writer", alice)
      yield* Effect.gen(function*() {
        const huge = { id: "$huge", bodyBytes: 70 * mebibyte }
        const alone = yield* room(timeline([huge]), writer)
        const among = yield* room(timeline([{ id: "$one" }, { id: "$two" }, huge, { id: "$three" }]), writer)
        const below = yield* room(timeline([{ id: "$below", bodyBytes: maxEventBytes - 1000 }]), writer)
        const other = yield* room(good("other"), writer)

        const measured = yield* HostileWorld.peakMemory(Effect.gen(function*() {
          const unusable = { _tag: "PageUnusable", reason: "too-large", eventId: "$huge" }
          expect(yield* Effect.flip(page(writer, alone))).toMatchObject(unusable)
          for (const each of [alone, among]) {
            expect(yield* Effect.flip(sweep(each))).toMatchObject({ _tag: "PageFailed", eventId: "$huge", limit: 1 })
            expect(yield* stopped(writer, each)).toStrictEqual({ reason: "too-large", eventId: "$huge" })
          }
          // What stands before it is read and decided, by the sweep and by the agent; nothing behind it is.
          expect(yield* decided(alone)).toStrictEqual([])
          expect(yield* decided(among)).toStrictEqual(["$one", "$two"])
          expect(yield* position(among)).toStrictEqual(["t2"])
          const { end, records } = yield* page(writer, among)
          expect([end, records.map(({ eventId }) => eventId)]).toStrictEqual(["t1", ["$one"]])
          expect(yield* Effect.flip(page(writer, among, "t2"))).toMatchObject(unusable)
        }))
        console.info(`70 MiB events, cut: peak ${measured.peakMiB} MiB, ${measured.risenMiB} above the start`)
        expect(measured.risenMiB).toBeLessThan(400)
        // Each owner once for each event, however often it is met.
        yield* Effect.ignore(sweep(among))
        expect(yield* told(among)).toHaveLength(1)
        expect((yield* told(among))[0]).toContain("larger than 64 MiB. The event is `$huge`")
        expect(yield* told(alone)).toHaveLength(1)

        const largest = yield* HostileWorld.peakMemory(sweep(below))
        console.info(`an event of 64 MiB, read: peak ${largest.peakMiB} MiB, ${largest.risenMiB} above the start`)
        expect(yield* decided(below)).toStrictEqual(["$below"])
        yield* sweep(other)
        expect(yield* decided(other)).toStrictEqual(["$good-other"])
        expect(yield* stopped(writer, other)).toBeNull()
      }).pipe(Effect.provide(still(world)))
    }),
  60_000
)

const wrong: ReadonlyArray<
  readonly [what: string, script: PageScript, agent: object, sweep: object, stop: object | null]
> = [
  ...([
    ["truncated JSON", answer(200, `{"chunk":[${event("$one")},{"event_id":"$tw`), "malformed", null],
    ["a chunk that is no array", answer(200, `{"chunk":{"0":${event("$one")}},"end":"t1"}`), "malformed", null],
    ["an end that is no token", answer(200, `{"chunk":[${event("$one")}],"end":7}`), "malformed", null],
    [
      "an event with wrong types",
      answer(200, `{"chunk":[${event("$one")},{"event_id":"$bad","type":7}]}`),
      "malformed",
      "$bad"
    ],
    [
      "an ID with a line break",
      answer(200, `{"chunk":[{"event_id":"$b\\nad\\u202e","type":7}]}`),
      "malformed",
      "$b?ad?"
    ],
    [
      "an event of another room",
      answer(200, `{"chunk":[${event("$away", `,"room_id":"!other"`)}]}`),
      "malformed",
      "$away"
    ],
    ["an end that is the start", answer(200, `{"chunk":[${event("$one")}],"end":"s0"}`), "not-advancing", null]
  ] as const).map(([what, script, reason, eventId]) =>
    [
      what,
      script,
      { _tag: "PageUnusable", reason, eventId },
      { _tag: "PageFailed", reason, eventId },
      { reason, eventId }
    ] as const
  ),
  ...([
    ["a proxy's 502", answer(502, "<html>bad gateway</html>", { "content-type": "text/html" }), 2000],
    ["a 200 with HTML", answer(200, "<html>sign in here</html>", { "content-type": "text/html" }), 2000],
    ["an empty body", answer(200, "", { "content-type": "text/plain" }), 2000]
  ] as const).map(([what, script, retryAfterMillis]) =>
    [
      what,
      script,
      { _tag: "HomeserverDown", retryAfterMillis },
      { _tag: "HomeserverUnavailable" },
      null
    ] as const
  ),
  ...([
    ["a 429 with its time", answer(429, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1234}`), 1234],
    ["a 429 without", answer(429, `{"errcode":"M_LIMIT_EXCEEDED"}`), 5000],
    ["a 429 with a year", answer(429, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":31536000000}`), 300_000]
  ] as const).map(([what, script, retryAfterMillis]) =>
    [
      what,
      script,
      { _tag: "HomeserverDown", retryAfterMillis },
      { _tag: "HomeserverBusy", retryAfterMillis },
      null
    ] as const
  )
]

it.scopedLive(
  "[M-06] [F24] [F25] [F26] a page that is none fails its room, acknowledges nothing of it, and is tried again at its place",
  () =>
    Effect.gen(function*() {
      const { decided, homeserver, page, position, room, stopped, sweep, told, world } = yield* HostileWorld.make
      const writer = yield* world.agent("writer", alice)
      yield* Effect.gen(function*() {
        for (const [what, script, toAgent, toSweep, stop] of wrong) {
          const bad = yield* room(script, writer)
          expect(yield* Effect.flip(page(writer, bad)), what).toMatchObject(toAgent)
          expect(yield* Effect.flip(sweep(bad)), what).toMatchObject(toSweep)
          expect([yield* decided(bad), yield* position(bad)], what).toStrictEqual([[], ["s0"]])
          expect(yield* stopped(writer, bad), what).toStrictEqual(stop)
          // Once may be a spoilt answer. The same again is told, and only once.
          expect(yield* told(bad), what).toHaveLength(0)
          yield* Effect.ignore(sweep(bad))
          yield* Effect.ignore(sweep(bad))
          expect(yield* told(bad), what).toHaveLength(stop === null ? 0 : 1)
          homeserver.script(bad, good(bad))
          yield* sweep(bad)
          expect(yield* decided(bad), what).toStrictEqual([`$good-${bad}`])
          expect(yield* stopped(writer, bad), what).toBeNull()
          expect((yield* page(writer, bad)).records.map(({ eventId }) => eventId), what).toStrictEqual([`$good-${bad}`])
          expect(new Set(homeserver.asked(bad).map(({ from }) => from)), what).toStrictEqual(new Set(["s0"]))
        }
      }).pipe(Effect.provide(still(world)))
    }),
  30_000
)

it.scopedLive("[M-06] an empty page with an end goes on, and an event that comes twice is one", () =>
  Effect.gen(function*() {
    const { decided, page, position, room, sweep, world } = yield* HostileWorld.make
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const script: PageScript = ({ from, ...asked }, response, request) => {
        const twice = `{"chunk":[${event("$one")},${event("$one")}],"end":"t2"}`
        const rest = `{"chunk":[${event("$one")},${event("$two")}]}`
        const body = from === "s0" ? `{"chunk":[],"end":"t1"}` : from === "t1" ? twice : rest
        answer(200, body)({ from, ...asked }, response, request)
      }
      const each = yield* room(script, writer)
      yield* sweep(each)
      expect(yield* decided(each)).toStrictEqual(["$one", "$two"])
      expect(yield* position(each)).not.toStrictEqual(["t2"])
      expect(yield* page(writer, each)).toStrictEqual({ records: [], end: "t1" })
      expect((yield* page(writer, each, "t1")).end).toBe("t2")
      expect((yield* page(writer, each, "t2")).end).toBeNull()
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped(
  "[F23] a page that never ends, and one that trickles, are given up after 60 s; other rooms are read meanwhile",
  () =>
    Effect.gen(function*() {
      const { decided, homeserver, page, position, room, sweep, world } = yield* HostileWorld.make
      const writer = yield* world.agent("writer", alice)
      yield* Effect.gen(function*() {
        const other = yield* room(good("other"), writer)
        for (const trickles of [false, true]) {
          const arrived = yield* Deferred.make<void>()
          const bad = yield* room(({ index }, response) => {
            response.writeHead(200, { "content-type": "application/json" })
            response.write(`{"chunk":[`)
            if (trickles) {
              const trickle = (): void => {
                if (!response.destroyed) response.write(" ", () => setImmediate(trickle))
              }
              trickle()
            }
            if (index === 1) Deferred.unsafeDone(arrived, Effect.void)
          }, writer)
          const reading = yield* Effect.fork(Effect.flip(page(writer, bad)))
          const sweeping = yield* Effect.fork(Effect.flip(sweep(bad)))
          yield* Deferred.await(arrived)
          yield* sweep(other)
          expect((yield* page(writer, other)).records).toHaveLength(1)
          yield* TestClock.adjust("59 seconds")
          expect([reading.unsafePoll(), sweeping.unsafePoll()]).toStrictEqual([null, null])
          yield* TestClock.adjust("1 second")
          expect(yield* Fiber.join(reading)).toMatchObject({ _tag: "HomeserverDown" })
          expect(yield* Fiber.join(sweeping)).toMatchObject({ _tag: "HomeserverUnavailable", status: null })
          expect([yield* decided(bad), yield* position(bad)]).toStrictEqual([[], ["s0"]])
        }
        expect(yield* decided(other)).toStrictEqual(["$good-other"])
        expect(homeserver.asked(other).length).toBeGreaterThan(0)
      }).pipe(Effect.provide(still(world)))
    }),
  20_000
)

it.scopedLive("[M-06] [F23] as it runs, rooms that fail or hang hold up no other one", () =>
  Effect.gen(function*() {
    const { decided, room, world } = yield* HostileWorld.make
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const bad = wrong.map(([, script]) => script)
      const hanging: PageScript = (_asked, response) => void response.writeHead(200).write("{")
      const rooms = yield* Effect.forEach([hanging, ...bad, hanging], (script) => room(script, writer))
      const others = yield* Effect.forEach(small(5), ({ id }) => room(good(id), writer))
      return { rooms, others }
    }).pipe(
      Effect.provide(still(world)),
      Effect.flatMap(({ others, rooms }) =>
        Effect.gen(function*() {
          for (const other of others) {
            while ((yield* decided(other)).length === 0) yield* Effect.sleep("20 millis")
          }
          for (const each of rooms) expect(yield* decided(each)).toStrictEqual([])
        }).pipe(Effect.provide(running(world)), Effect.timeout("20 seconds"))
      )
    )
  }), 30_000)
