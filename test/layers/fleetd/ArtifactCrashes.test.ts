// Random lives of inputs with files, cut off at any step: what may never be left over, and what may never be gone.
import { expect, it } from "@effect/vitest"
import { Clock, Effect, Exit, FastCheck as fc, Layer, Option, Ref, Runtime, TestClock, TestContext } from "effect"
import { fleetdMigrations } from "../../../migrations/fleetd/all.ts"
import { DeliveryId } from "../../../src/domain/Ids.ts"
import type { ArtifactDisk } from "../../../src/layers/fleetd/ArtifactDisk.ts"
import * as FileArtifacts from "../../../src/layers/fleetd/FileArtifacts.ts"
import { migrateMemory } from "../../../src/layers/sqlite/Migrations.ts"
import { open } from "../../../src/layers/sqlite/SqliteDatabase.ts"
import { type Database, FleetDb } from "../../../src/services/Database.ts"
import { editor } from "../../support/FleetFile.ts"

const inputs = Array.from(
  { length: 4 },
  (_, at) => DeliveryId.make(`${String(at + 1).repeat(8)}-0000-4000-8000-000000000000`)
)
const dayMillis = 24 * 3_600_000

const step = fc.record({
  act: fc.constantFrom(
    "write",
    "write",
    "prepare",
    "unknown",
    "confirm",
    "tell",
    "wait",
    "expire",
    "expire",
    "restart"
  ),
  deliveryId: fc.constantFrom(...inputs),
  hours: fc.integer({ min: 1, max: 30 }),
  /** After so many effects on disk and registry everything ends; null: it does not. */
  crashAfter: fc.option(fc.integer({ min: 0, max: 7 }), { freq: 2 })
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const life = (database: Database) =>
  Effect.gen(function*() {
    const { sql } = database
    const files = new Map<string, string>()
    const left = yield* Ref.make<number | null>(null)
    /** A place where a life can end: nothing later of it happens. */
    const point = Effect.flatMap(
      Ref.modify(left, (now) => [now === 0, now === null || now === 0 ? now : now - 1]),
      (over) => over ? Effect.dieMessage("crash") : Effect.void
    )
    const around = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.zipLeft(Effect.zipRight(point, effect), point)
    const disk: ArtifactDisk = {
      write: (path) => around(Effect.sync(() => files.set(path, "whole"))),
      read: (path) => Effect.sync(() => Option.fromNullable(files.get(path))),
      remove: (path) => around(Effect.sync(() => files.delete(path))),
      removeFolder: () => point,
      begin: () => point
    }
    const mortal: Database = { ...database, transaction: (body) => around(database.transaction(body)) }
    const begin = FileArtifacts.make("/root", disk).pipe(Effect.provide(Layer.succeed(FleetDb, mortal)))
    let artifacts = yield* begin
    /** Inputs that point to files: these were written whole before. */
    const written = new Set<DeliveryId>()

    const states = Effect.map(
      sql<{ readonly id: string; readonly settled: number | null }>`SELECT delivery_id AS id, settled_at AS settled
        FROM publication`,
      (rows) => new Map(rows.map((row) => [row.id, row.settled]))
    )
    const change = (deliveryId: DeliveryId, to: string, settledAt: number | null) =>
      sql`UPDATE publication SET state = ${to}, settled_at = ${settledAt}, told_by = ${to === "unknown" ? "n" : null}
        WHERE delivery_id = ${deliveryId} AND settled_at IS NULL
          AND (state = 'prepared' OR (state = 'unknown' AND ${to} = 'unknown'))`

    const act = ({ act, deliveryId, hours }: Step) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const known = (yield* states).has(deliveryId)
        switch (act) {
          case "write":
            if (known) return
            for (const name of ["one.json", "two.json"]) {
              yield* artifacts.write({ agentId: editor, deliveryId, name, text: name })
            }
            return written.add(deliveryId)
          case "prepare":
            if (known || !written.has(deliveryId)) return
            return yield* sql`INSERT INTO publication (delivery_id, agent_id, context, kind, state, text,
              authority_revision, position, prepared_at)
              VALUES (${deliveryId}, ${editor}, ${deliveryId}, 'batch', 'prepared', '', 1, '{}', ${now})`
          case "unknown":
            return yield* change(deliveryId, "unknown", null)
          case "confirm":
            return yield* change(deliveryId, "confirmed", now)
          case "tell":
            return yield* change(deliveryId, "unknown", now)
          case "wait":
            return yield* TestClock.adjust(`${hours} hours`)
          case "expire":
            return yield* artifacts.expire(editor, now - dayMillis, 2)
          case "restart":
            return yield* Effect.dieMessage("crash")
        }
      })

    const check = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const known = yield* states
      const rows = new Set(
        (yield* sql<{ readonly path: string }>`SELECT path FROM artifact`).map(({ path }) => path)
      )
      for (const path of files.keys()) if (!rows.has(path)) throw new Error(`${path} is in no row`)
      for (const [id, settled] of known) {
        const there = [...files.keys()].filter((path) => path.includes(id)).length
        const pinned = settled === null || settled >= now - dayMillis
        if (pinned && there < 2) throw new Error(`of pinned ${id} are ${there} files`)
      }
    })

    const take = (one: Step) =>
      Effect.gen(function*() {
        yield* Ref.set(left, one.crashAfter)
        const exit = yield* Effect.exit(act(one))
        yield* check
        yield* Ref.set(left, null)
        if (Exit.isSuccess(exit)) return
        // The next start can be cut off too; the one after it is not.
        yield* Ref.set(left, one.crashAfter)
        yield* Effect.exit(begin)
        yield* Ref.set(left, null)
        artifacts = yield* begin
        const known = yield* states
        for (const id of written) if (!known.has(id)) written.delete(id)
        for (const path of files.keys()) {
          if (![...known.keys()].some((id) => path.includes(id))) throw new Error(`${path} is an orphan`)
        }
        yield* check
      })

    const end = Effect.gen(function*() {
      yield* sql`UPDATE publication SET state = 'confirmed', settled_at = ${yield* Clock.currentTimeMillis}
        WHERE settled_at IS NULL`
      yield* TestClock.adjust("25 hours")
      yield* artifacts.expire(editor, (yield* Clock.currentTimeMillis) - dayMillis, 100)
      const rows = yield* sql`SELECT path FROM artifact`
      return files.size + rows.length
    })
    return { take, end }
  })

it.live(
  "[F-05] whatever is cut off where, no file is in no row, no pinned one is gone, and in the end none is left",
  () =>
    Effect.gen(function*() {
      const schema = yield* migrateMemory("fleetd", fleetdMigrations)
      const runtime = yield* Effect.runtime<never>()
      const run = (steps: ReadonlyArray<Step>) =>
        Effect.gen(function*() {
          const database = yield* open(schema)
          yield* database
            .sql`INSERT INTO agent (agent_id, instance_key, name, user_id, token, engine, model, work_folder,
            history_mode, created_at)
          VALUES (${editor}, 'editor', 'editor', '@e:test', 't', 'pi', 'm', '/tmp', 'shared', 1)`
          const { end, take } = yield* life(database)
          for (const one of steps) yield* take(one)
          return yield* end
        }).pipe(Effect.scoped, Effect.provide(TestContext.TestContext), Effect.orDie)
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
            expect(await Runtime.runPromise(runtime)(run(steps))).toBe(0)
          }),
          { numRuns: 60 }
        )
      )
    }),
  60_000
)
