// A campaign of seeded runs of both programs' own code over the twins, with real SQLite, and what it must show.
// One seed again, with both programs' logs: SIMULATION_SEED=7. More of them: SIMULATION_SEEDS=5000.
import { expect } from "@effect/vitest"
import { Config, Effect, Exit, Logger, Option, Random } from "effect"
import { crossfireMigrations } from "../../migrations/crossfire/all.ts"
import { fleetdMigrations } from "../../migrations/fleetd/all.ts"
import { type Migrated, migrateMemory } from "../../src/layers/sqlite/Migrations.ts"
import { open } from "../../src/layers/sqlite/SqliteDatabase.ts"
import { type Outcome, run } from "./Scenario.ts"
import { makeRandom, makeWorld } from "./VirtualTime.ts"

const settings = Config.all({
  seeds: Config.withDefault(Config.integer("SIMULATION_SEEDS"), 200),
  only: Config.option(Config.integer("SIMULATION_SEED"))
})
const startMillis = 1_790_000_000_000
const longestVirtualMillis = 2 * 60 * 60_000

/** Seeds that showed a hole once. */
const regressions: ReadonlyArray<number> = []

const simulate = (
  seed: number,
  schemas: { readonly crossfire: Migrated; readonly fleetd: Migrated },
  quiet: boolean
) => {
  const random = makeRandom(seed)
  const world = makeWorld(random, startMillis)
  const program = Effect.gen(function*() {
    const databases = { crossfire: yield* open(schemas.crossfire), fleet: yield* open(schemas.fleetd) }
    return yield* run(random, databases, world.now)
  }).pipe(
    Effect.scoped,
    Effect.withRandom(Random.make(seed)),
    Effect.provide(quiet ? Logger.remove(Logger.defaultLogger) : Logger.pretty)
  )
  const fiber = Effect.runFork(world.inside(program), { scheduler: world.scheduler })
  const exit = world.runUntilDone(fiber, startMillis + longestVirtualMillis)
  if (exit === undefined) {
    throw new Error(`seed ${seed}: nothing can happen any more after ${world.now() - startMillis} ms`)
  }
  if (Exit.isFailure(exit)) throw new Error(`seed ${seed}: ${String(exit.cause)}`)
  return exit.value
}

/** One half of the seeds: the even or the odd ones, so that both cores have work. */
export const campaign = (half: 0 | 1) =>
  Effect.gen(function*() {
    const schemas = {
      crossfire: yield* migrateMemory("crossfire", crossfireMigrations),
      fleetd: yield* migrateMemory("fleetd", fleetdMigrations)
    }
    const { only, seeds: wanted } = yield* settings
    const seeds = Option.match(only, {
      onNone: () =>
        [...regressions, ...Array.from({ length: wanted }, (_, index) => index + 1)].filter((seed) =>
          seed % 2 === half
        ),
      onSome: (seed) => seed % 2 === half ? [seed] : []
    })
    const outcomes: Array<Outcome> = []
    const failed: Array<string> = []
    for (const seed of seeds) {
      const outcome = yield* Effect.try({
        try: () => simulate(seed, schemas, Option.isNone(only)),
        catch: (cause) => String(cause)
      })
        .pipe(
          Effect.catchAll((reason) => {
            failed.push(reason)
            return Effect.void
          })
        )
      if (outcome === undefined) continue
      outcomes.push(outcome)
      if (outcome.problems.length > 0) failed.push(`seed ${seed}: ${outcome.problems.slice(0, 5).join("; ")}`)
    }
    const total = (of: (outcome: Outcome) => number) => outcomes.reduce((sum, outcome) => sum + of(outcome), 0)
    const kills = (what: string) => total((outcome) => outcome.kills[what] ?? 0)
    process.stdout.write(
      `simulation: ${outcomes.length} seeds, ${total((o) => o.messages)} messages, ${
        total((o) => o.deliveries)
      } deliveries, ` +
        `${total((o) => o.answers)} answers, ${total((o) => o.told)} told as unknown, kills: crossfire ${
          kills("crossfire")
        }, fleetd ${kills("fleetd")}, both ${kills("both")}, engines ${kills("engines")}, power ${kills("power")}, ${
          Math.round(total((o) => o.virtualSeconds) / 3600)
        } virtual hours\n`
    )
    expect(failed).toStrictEqual([])
    // A run in which nothing happens proves nothing.
    if (Option.isNone(only)) {
      expect(total((o) => o.deliveries)).toBeGreaterThan(seeds.length * 20)
      if (seeds.length >= 50) expect(total((o) => o.told)).toBeGreaterThan(0)
      for (const what of ["crossfire", "fleetd", "engines", "power", "both"]) {
        expect(kills(what)).toBeGreaterThan(seeds.length / 10)
      }
    }
  })

export const claim =
  "[D-01] [D-02] [D-03] [D-04] [D-05] [M-01] [M-09] [C-03] none lost, none doubled, order kept, no cursor ahead of proof, " +
  "no input past an unknown one, everything answered, and quiet in the end"
/** The runner's limit, in milliseconds; the campaign itself waits for nothing. */
export const campaignTimeout = 900_000
