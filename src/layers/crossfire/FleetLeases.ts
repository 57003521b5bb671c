// `FleetLeases`: the number and the holder in crossfire's database, the time left in memory by the monotonic clock. After
// a restart a lease that was held counts as running for one full duration.
import { Clock, Deferred, Effect, Layer, Option, Schema } from "effect"
import { LeaseHeld, StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import { type FleetId, Generation } from "../../domain/Ids.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { FleetLeases, type FleetStamp } from "../../services/FleetLeases.ts"
import { Instance } from "../../services/Instance.ts"

export const leaseDurationMillis = 30_000

const decodeFleets = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  generation: Generation,
  lease_root: Schema.NullOr(Schema.String),
  lease_holder: Schema.NullOr(Schema.String)
})))

/** One generation's time. `ended` is done when it is replaced or released. */
interface Running {
  readonly generation: Generation
  untilMillis: number
  readonly ended: Deferred.Deferred<void>
}

const monotonicMillis = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / 1_000_000n))

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb
  const { incarnation } = yield* Instance
  const startedMillis = yield* monotonicMillis
  const running = new Map<FleetId, Running>()

  const lease = (fleetId: FleetId) =>
    Effect.flatMap(
      sql`SELECT generation, lease_root, lease_holder FROM fleet WHERE fleet_id = ${fleetId}`,
      decodeFleets
    ).pipe(
      Effect.flatMap((rows) =>
        rows[0] === undefined ? Effect.dieMessage(`no fleet ${fleetId}`) : Effect.succeed(rows[0])
      )
    )

  const stands = (row: { readonly generation: Generation; readonly lease_root: string | null }, stamp: FleetStamp) =>
    row.lease_root !== null && row.generation === stamp.generation && stamp.incarnation === incarnation

  const remainingMillis = (fleetId: FleetId, generation: Generation) =>
    Effect.map(monotonicMillis, (now) => {
      const known = running.get(fleetId)
      const until = known?.generation === generation ? known.untilMillis : startedMillis + leaseDurationMillis
      return Math.max(0, until - now)
    })

  const end = (fleetId: FleetId) =>
    Effect.suspend(() => {
      const known = running.get(fleetId)
      running.delete(fleetId)
      return known === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(known.ended, undefined))
    })

  const grant = (generation: Generation) => ({ generation, incarnation, lastsMillis: leaseDurationMillis })

  /** Begins the generation's time, or begins it again. A newer one that came meanwhile stays. */
  const start = (fleetId: FleetId, generation: Generation) =>
    Effect.gen(function*() {
      const untilMillis = (yield* monotonicMillis) + leaseDurationMillis
      const known = running.get(fleetId)
      if (known !== undefined && known.generation > generation) return grant(generation)
      if (known?.generation === generation) {
        known.untilMillis = untilMillis
      } else {
        yield* end(fleetId)
        running.set(fleetId, { generation, untilMillis, ended: yield* Deferred.make<void>() })
      }
      return grant(generation)
    })

  /** The time of a generation that stands; after a restart of crossfire it is not known yet. */
  const timeOf = (fleetId: FleetId, stamp: FleetStamp) =>
    Effect.gen(function*() {
      if (!stands(yield* lease(fleetId), stamp)) return Option.none<Running>()
      const known = running.get(fleetId)
      if (known?.generation === stamp.generation) return Option.some(known)
      const found: Running = {
        generation: stamp.generation,
        untilMillis: startedMillis + leaseDurationMillis,
        ended: yield* Deferred.make<void>()
      }
      running.set(fleetId, found)
      return Option.some(found)
    })

  const required = (fleetId: FleetId, stamp: FleetStamp) =>
    Effect.flatMap(lease(fleetId), (row) =>
      stands(row, stamp)
        ? Effect.void
        : Effect.fail(new StaleGeneration({ given: stamp.generation, current: row.generation })))

  const acquire: FleetLeases["Type"]["acquire"] = ({ fleetId, holder, root, takeOver }) =>
    transaction(Effect.gen(function*() {
      const row = yield* lease(fleetId)
      const remaining = yield* remainingMillis(fleetId, row.generation)
      if (row.lease_root !== null && row.lease_root !== root && remaining > 0 && !takeOver) {
        return yield* new LeaseHeld({
          holder: row.lease_holder ?? "another controller",
          remainingMillis: Math.ceil(remaining)
        })
      }
      const generation = Generation.make(row.generation + 1)
      yield* sql`UPDATE fleet SET generation = ${generation}, lease_root = ${root}, lease_holder = ${holder}
        WHERE fleet_id = ${fleetId}`
      return generation
    })).pipe(Effect.flatMap((generation) => start(fleetId, generation)))

  const expired = (time: Running): Effect.Effect<void> =>
    Effect.flatMap(monotonicMillis, (now) =>
      time.untilMillis <= now
        ? Effect.void
        : Effect.zipRight(Effect.sleep(time.untilMillis - now), expired(time)))

  const over: FleetLeases["Type"]["over"] = (fleetId, stamp) =>
    read(timeOf(fleetId, stamp)).pipe(
      // Without its database crossfire cannot vouch for any lease.
      Effect.orElseSucceed(() => Option.none<Running>()),
      Effect.flatMap(Option.match({
        onNone: () => Effect.void,
        onSome: (time) => Effect.raceFirst(Deferred.await(time.ended), expired(time))
      }))
    )

  return FleetLeases.of({
    incarnation,
    acquire,
    renew: (fleetId, stamp) => Effect.zipRight(read(required(fleetId, stamp)), start(fleetId, stamp.generation)),
    release: (fleetId, stamp) =>
      transaction(Effect.gen(function*() {
        if (Option.isNone(yield* Effect.option(required(fleetId, stamp)))) return false
        yield* sql`UPDATE fleet SET lease_root = NULL, lease_holder = NULL WHERE fleet_id = ${fleetId}`
        return true
      })).pipe(Effect.tap((released) => released ? end(fleetId) : Effect.void)),
    holder: (fleetId) =>
      read(Effect.gen(function*() {
        const row = yield* lease(fleetId)
        const remaining = row.lease_root === null ? 0 : yield* remainingMillis(fleetId, row.generation)
        return remaining > 0 ? Option.fromNullable(row.lease_holder) : Option.none()
      })),
    require: (fleetId, stamp) => read(required(fleetId, stamp)),
    over
  })
})

export const layer = Layer.effect(FleetLeases, make)
