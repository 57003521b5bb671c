import { expect, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { Incarnation } from "../../../src/domain/Ids.ts"
import { FleetLeases } from "../../../src/services/FleetLeases.ts"
import { alice, make, still } from "./World.ts"

const one = randomUUID()
const two = randomUUID()

it.scoped("[C-03] one root holds the lease; another waits, is told by whom, and takes it when it is over", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const fleetId = yield* world.fleet(alice)
    yield* Effect.gen(function*() {
      const leases = yield* FleetLeases
      const first = yield* leases.acquire({ fleetId, root: one, holder: "desk", takeOver: false })
      yield* TestClock.adjust("20 seconds")
      const held = yield* Effect.flip(leases.acquire({ fleetId, root: two, holder: "laptop", takeOver: false }))
      expect(held).toMatchObject({ _tag: "LeaseHeld", holder: "desk", remainingMillis: 10_000 })
      yield* leases.renew(fleetId, first)
      yield* TestClock.adjust("20 seconds")
      expect((yield* Effect.flip(leases.acquire({ fleetId, root: two, holder: "laptop", takeOver: false })))._tag)
        .toBe("LeaseHeld")
      // The same root comes back after a crash: at once, under a new number.
      const again = yield* leases.acquire({ fleetId, root: one, holder: "desk", takeOver: false })
      expect(again.generation).toBe(first.generation + 1)
      yield* TestClock.adjust("30 seconds")
      const other = yield* leases.acquire({ fleetId, root: two, holder: "laptop", takeOver: false })
      expect(other.generation).toBe(again.generation + 1)
      for (const stale of [first, again]) {
        expect(yield* Effect.flip(leases.renew(fleetId, stale))).toMatchObject({
          _tag: "StaleGeneration",
          given: stale.generation,
          current: other.generation
        })
        expect((yield* Effect.flip(leases.require(fleetId, stale)))._tag).toBe("StaleGeneration")
        expect(yield* leases.release(fleetId, stale)).toBe(false)
      }
      yield* leases.require(fleetId, other)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[C-04] the number fences, not the clock: an expired lease that nobody took is renewed", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const fleetId = yield* world.fleet(alice)
    yield* Effect.gen(function*() {
      const leases = yield* FleetLeases
      const lease = yield* leases.acquire({ fleetId, root: one, holder: "desk", takeOver: false })
      yield* TestClock.adjust("1 hour")
      yield* leases.require(fleetId, lease)
      yield* leases.renew(fleetId, lease)
      expect((yield* Effect.flip(leases.acquire({ fleetId, root: two, holder: "laptop", takeOver: false })))._tag)
        .toBe("LeaseHeld")
      expect(yield* leases.release(fleetId, lease)).toBe(true)
      expect((yield* Effect.flip(leases.require(fleetId, lease)))._tag).toBe("StaleGeneration")
      yield* leases.acquire({ fleetId, root: two, holder: "laptop", takeOver: false })
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[F32] a stamp of another life of the database is stale", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const fleetId = yield* world.fleet(alice)
    yield* Effect.gen(function*() {
      const leases = yield* FleetLeases
      const lease = yield* leases.acquire({ fleetId, root: one, holder: "desk", takeOver: false })
      const foreign = { ...lease, incarnation: Incarnation.make(randomUUID()) }
      expect((yield* Effect.flip(leases.require(fleetId, foreign)))._tag).toBe("StaleGeneration")
      expect((yield* Effect.flip(leases.renew(fleetId, foreign)))._tag).toBe("StaleGeneration")
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("after a restart of crossfire a held lease runs for one full duration, under the same number", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const fleetId = yield* world.fleet(alice)
    const acquire = (root: string) =>
      Effect.flatMap(FleetLeases, (leases) => leases.acquire({ fleetId, root, holder: "x", takeOver: false }))
    const lease = yield* acquire(one).pipe(Effect.provide(still(world)))
    yield* TestClock.adjust("29 seconds")
    yield* Effect.gen(function*() {
      yield* TestClock.adjust("29 seconds")
      expect((yield* Effect.flip(acquire(two)))._tag).toBe("LeaseHeld")
      const leases = yield* FleetLeases
      const over = yield* Effect.fork(leases.over(fleetId, lease))
      yield* TestClock.adjust("500 millis")
      expect(yield* Fiber.poll(over)).toMatchObject({ _tag: "None" })
      yield* leases.renew(fleetId, lease)
      yield* TestClock.adjust("29 seconds")
      expect(yield* Fiber.poll(over)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(over)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("whoever waits for a lease's end is told when it is replaced", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const fleetId = yield* world.fleet(alice)
    yield* Effect.gen(function*() {
      const leases = yield* FleetLeases
      const lease = yield* leases.acquire({ fleetId, root: one, holder: "desk", takeOver: false })
      const over = yield* Effect.fork(leases.over(fleetId, lease))
      yield* Effect.yieldNow()
      const next = yield* leases.acquire({ fleetId, root: two, holder: "laptop", takeOver: true })
      yield* Fiber.join(over)
      yield* leases.over(fleetId, lease)
      const later = yield* Effect.fork(leases.over(fleetId, next))
      yield* Effect.yieldNow()
      yield* leases.release(fleetId, next)
      yield* Fiber.join(later)
    }).pipe(Effect.provide(still(world)))
  }))
