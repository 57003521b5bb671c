import { expect, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Layer, Option, Stream, TestClock } from "effect"
import { StaleGeneration } from "../../../src/domain/api/CrossfireErrors.ts"
import { Generation, Incarnation } from "../../../src/domain/Ids.ts"
import { Level } from "../../../src/domain/Level.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import * as FleetLease from "../../../src/layers/fleetd/FleetLease.ts"
import * as LevelFeed from "../../../src/layers/fleetd/LevelFeed.ts"
import * as MemoryAgentLevels from "../../../src/layers/fleetd/MemoryAgentLevels.ts"
import * as MemorySignals from "../../../src/layers/fleetd/MemorySignals.ts"
import { AgentLevels } from "../../../src/services/AgentLevels.ts"
import { type CrossfireClient, CrossfireUnavailable } from "../../../src/services/CrossfireClient.ts"
import { FleetOutbox } from "../../../src/services/FleetOutbox.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { Lease } from "../../../src/services/Lease.ts"
import { Redactions } from "../../../src/services/Redactions.ts"
import * as FakeClient from "../../support/FakeClient.ts"
import { editor } from "../../support/FleetFile.ts"

const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
const grant = (generation: number) => ({ generation: Generation.make(generation), incarnation, lastsMillis: 30_000 })
const config = { rootId: "44444444-4444-4444-8444-444444444444", holder: "test", takeOver: false }
const leaseOver = (client: Layer.Layer<CrossfireClient>) => FleetLease.layer(config).pipe(Layer.provideMerge(client))

const board = MemoryAgentLevels.layer.pipe(Layer.provideMerge(MemorySignals.layer))
/** Nothing that a level says of its agent is new. */
const registry = Layer.mergeAll(
  Layer.mock(FleetRegistry, { setStanding: () => Effect.succeed(false) }),
  Layer.mock(FleetOutbox, {}),
  Layer.mock(Redactions, { take: () => Effect.succeed(false) })
)

/** The test's clock with a wall and a monotonic reading that a test can move apart; sleeping follows neither. */
const skewedClock = Effect.map(Effect.clock, (inner) => {
  const skew = { wallMillis: 0, monotonicMillis: 0 }
  const millis = () => inner.unsafeCurrentTimeMillis() + skew.wallMillis
  const nanos = () => inner.unsafeCurrentTimeNanos() + BigInt(skew.monotonicMillis) * 1_000_000n
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: millis,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) => inner.sleep(duration)
  }
  return { clock, skew }
})

/** The daemon's parts live by that clock; the test moves the one below it. */
const built = <A, E>(layer: Layer.Layer<A, E>, clock: Clock.Clock) => Effect.withClock(Layer.build(layer), clock)

const states = Effect.map(Effect.flatMap(Lease, (lease) => lease.state), (state) => state._tag)

const held = FakeClient.layer({
  acquireLease: () => Effect.succeed(grant(1)),
  renewLease: () => Effect.succeed(grant(1))
})

for (const clockName of ["wallMillis", "monotonicMillis"] as const) {
  it.scoped(`[C-03] a lease is over at once when the clock jumps (${clockName}), until crossfire renews it`, () =>
    Effect.gen(function*() {
      const { clock, skew } = yield* skewedClock
      const context = yield* built(leaseOver(held), clock)
      const now = states.pipe(Effect.provide(context), Effect.withClock(clock))
      yield* TestClock.adjust("1 seconds")
      expect(yield* now).toBe("Held")
      skew[clockName] += 3 * 60 * 60 * 1_000
      expect(yield* now).toBe("NotHeld")
      yield* TestClock.adjust("11 seconds")
      expect(yield* now).toBe("Held")
    }))
}

it.scoped("[C-03] a wall clock that was set back makes no lease last longer", () =>
  Effect.gen(function*() {
    const { clock, skew } = yield* skewedClock
    let acquisitions = 0
    const down = FakeClient.layer({
      acquireLease: () => ++acquisitions === 1 ? Effect.succeed(grant(1)) : Effect.never,
      renewLease: () => new CrossfireUnavailable({ operation: "renew", reason: "down" })
    })
    const context = yield* built(leaseOver(down), clock)
    const now = states.pipe(Effect.provide(context), Effect.withClock(clock))
    yield* TestClock.adjust("1 seconds")
    skew.wallMillis -= 3 * 60 * 60 * 1_000
    yield* TestClock.adjust("25 seconds")
    expect(yield* now).toBe("Held")
    yield* TestClock.adjust("1500 millis")
    expect(yield* now).toBe("NotHeld")
  }))

it.scoped("[C-03] [C-04] a renewal that is answered after the lease was lost does not bring it back", () =>
  Effect.gen(function*() {
    const answer = yield* Deferred.make<void>()
    let acquisitions = 0
    const client = FakeClient.layer({
      acquireLease: () => ++acquisitions === 1 ? Effect.succeed(grant(1)) : Effect.never,
      renewLease: () => Effect.as(Deferred.await(answer), grant(1))
    })
    yield* Effect.gen(function*() {
      const lease = yield* Lease
      yield* TestClock.adjust("11 seconds")
      yield* lease.lost(grant(1), "replaced")
      expect(yield* states).toBe("NotHeld")
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust("1 seconds")
      expect(yield* states).toBe("NotHeld")
      expect(acquisitions).toBe(2)
    }).pipe(Effect.provide(leaseOver(client)))
  }))

it.scoped("[C-04] the level stream that breaks while the machine sleeps is opened again under the same lease", () =>
  Effect.gen(function*() {
    const { clock, skew } = yield* skewedClock
    const broken = yield* Deferred.make<never, CrossfireUnavailable>()
    let opened = 0
    const client = FakeClient.layer({
      acquireLease: () => Effect.succeed(grant(1)),
      renewLease: () => Effect.succeed(grant(1)),
      levels: () => {
        opened++
        return opened === 1 ? Stream.fromEffect(Deferred.await(broken)) : Stream.never
      }
    })
    const feed = LevelFeed.layer.pipe(
      Layer.provideMerge(leaseOver(client)),
      Layer.provideMerge(board),
      Layer.provide(registry)
    )
    const context = yield* built(feed, clock)
    const now = states.pipe(Effect.provide(context), Effect.withClock(clock))
    yield* TestClock.adjust("1 seconds")
    expect(opened).toBe(1)
    skew.wallMillis += 60 * 60 * 1_000
    yield* Deferred.fail(broken, new CrossfireUnavailable({ operation: "levels", reason: "connection reset" }))
    yield* TestClock.adjust("5 seconds")
    expect(yield* now).toBe("NotHeld")
    yield* TestClock.adjust("30 seconds")
    expect(yield* now).toBe("Held")
    expect(opened).toBe(2)
  }))

it.scoped("[C-04] a refused page or level ends the lease; it is taken again under a new number", () =>
  Effect.gen(function*() {
    let generation = 0
    let opened: Array<number> = []
    const client = FakeClient.layer({
      acquireLease: () => Effect.sync(() => grant(++generation)),
      renewLease: ({ generation: given }) => Effect.succeed(grant(given)),
      levels: (stamp) => {
        opened = [...opened, stamp.generation]
        return stamp.generation === 1
          ? Stream.fail(new StaleGeneration({ given: stamp.generation, current: Generation.make(2) }))
          : Stream.never
      }
    })
    const feed = LevelFeed.layer.pipe(
      Layer.provideMerge(leaseOver(client)),
      Layer.provideMerge(board),
      Layer.provide(registry)
    )
    yield* Effect.gen(function*() {
      yield* TestClock.adjust("5 seconds")
      expect([...new Set(opened)]).toStrictEqual([1, 2])
      expect(yield* states).toBe("Held")
    }).pipe(Effect.provide(feed))
  }))

it.scoped("[C-04] after a new connection the levels count from where crossfire's database stands, a restored one too", () =>
  Effect.gen(function*() {
    const level = (number: number) =>
      new Level({
        agentId: editor,
        name: RegisteredName.make("editor"),
        standing: "active",
        incarnation,
        number,
        authorityRevision: number,
        wakes: [],
        rooms: [],
        redactions: []
      })
    const broken = yield* Deferred.make<never, CrossfireUnavailable>()
    let opened = 0
    const client = FakeClient.layer({
      acquireLease: () => Effect.succeed(grant(1)),
      renewLease: () => Effect.succeed(grant(1)),
      levels: () => {
        opened++
        return opened === 1
          ? Stream.concat(Stream.make(level(10), level(9)), Stream.fromEffect(Deferred.await(broken)))
          : Stream.concat(Stream.make(level(3)), Stream.never)
      }
    })
    const feed = LevelFeed.layer.pipe(
      Layer.provideMerge(leaseOver(client)),
      Layer.provideMerge(board),
      Layer.provide(registry)
    )
    yield* Effect.gen(function*() {
      const levels = yield* AgentLevels
      const number = Effect.map(levels.get(editor), (known) => Option.getOrThrow(known).number)
      yield* TestClock.adjust("1 seconds")
      expect(yield* number).toBe(10)
      yield* levels.acknowledged(editor, 12)
      yield* Deferred.fail(broken, new CrossfireUnavailable({ operation: "levels", reason: "restarted" }))
      yield* TestClock.adjust("5 seconds")
      expect(opened).toBe(2)
      expect(yield* number).toBe(3)
    }).pipe(Effect.provide(feed))
  }))
