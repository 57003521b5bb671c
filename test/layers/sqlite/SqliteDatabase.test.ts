import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { acquire } from "../../../src/layers/sqlite/KernelLock.ts"
import { migrate, migrateMemory, type Migration, MigrationFailed } from "../../../src/layers/sqlite/Migrations.ts"
import { open } from "../../../src/layers/sqlite/SqliteDatabase.ts"
import { StoreFailed } from "../../../src/services/Database.ts"

const notes: Migration = {
  name: "0001_note",
  up: async (knex) => {
    await knex.raw("CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE) STRICT")
  }
}

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "database-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const openFile = (name: string) =>
  Effect.gen(function*() {
    const path = join(yield* folder, `${name}.sqlite`)
    return yield* open(yield* migrate(name, path, [notes]))
  })

const bodies = (database: Effect.Effect.Success<ReturnType<typeof openFile>>) =>
  database.read(database.sql<{ readonly body: string }>`SELECT body FROM note ORDER BY id`).pipe(
    Effect.map((rows) => rows.map((row) => row.body))
  )

it.scopedLive("a failed transaction leaves nothing, a joined one commits with the outer", () =>
  Effect.gen(function*() {
    const database = yield* openFile("one")
    const { sql, transaction } = database
    const failed = yield* Effect.exit(
      transaction(sql`INSERT INTO note (body) VALUES ('lost')`.pipe(Effect.zipRight(Effect.fail("no" as const))))
    )
    expect(failed).toStrictEqual(Exit.fail("no"))
    yield* transaction(Effect.gen(function*() {
      yield* sql`INSERT INTO note (body) VALUES ('outer')`
      yield* transaction(sql`INSERT INTO note (body) VALUES ('inner')`)
    }))
    expect(yield* bodies(database)).toStrictEqual(["outer", "inner"])
  }))

it.scopedLive("an interrupted transaction leaves nothing and the next one goes on", () =>
  Effect.gen(function*() {
    const database = yield* openFile("one")
    const { sql, transaction } = database
    const fiber = yield* Effect.fork(
      transaction(sql`INSERT INTO note (body) VALUES ('lost')`.pipe(Effect.zipRight(Effect.never)))
    )
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(fiber)
    yield* transaction(sql`INSERT INTO note (body) VALUES ('kept')`)
    expect(yield* bodies(database)).toStrictEqual(["kept"])
  }))

it.scopedLive("a statement on one database inside another's transaction dies", () =>
  Effect.gen(function*() {
    const one = yield* openFile("one")
    const two = yield* openFile("two")
    const exit = yield* Effect.exit(one.transaction(two.sql`INSERT INTO note (body) VALUES ('stray')`))
    expect(Exit.isFailure(exit) && exit.cause._tag).toBe("Die")
    expect(yield* bodies(one)).toStrictEqual([])
    expect(yield* bodies(two)).toStrictEqual([])
  }))

it.scopedLive("[O-02] a full file is a typed failure that rolls back, and work goes on when there is space", () =>
  Effect.gen(function*() {
    const database = yield* openFile("one")
    const { sql, transaction } = database
    const [pages] = yield* sql<{ readonly page_count: number }>`PRAGMA page_count`
    yield* sql.unsafe(`PRAGMA max_page_count = ${pages?.page_count ?? 0}`)
    const large = "x".repeat(200_000)
    const failed = yield* Effect.flip(transaction(sql`INSERT INTO note (body) VALUES (${large})`))
    expect(failed).toStrictEqual(new StoreFailed({ database: "one", reason: "full" }))
    yield* sql.unsafe("PRAGMA max_page_count = 100000")
    yield* transaction(sql`INSERT INTO note (body) VALUES ('kept')`)
    expect(yield* bodies(database)).toStrictEqual(["kept"])
  }))

it.scopedLive("[O-01] a failed migration prevents opening and the next run goes on from the last good step", () =>
  Effect.gen(function*() {
    const path = join(yield* folder, "one.sqlite")
    const broken: Migration = {
      name: "0002_broken",
      up: async (knex) => {
        await knex.raw("CREATE TABLE half (id INTEGER)")
        await knex.raw("CREATE TABLE note (id INTEGER)")
      }
    }
    const failed = yield* Effect.flip(migrate("one", path, [notes, broken]))
    expect(failed).toBeInstanceOf(MigrationFailed)
    expect(failed.message).toContain("one was not started")
    const mended: Migration = {
      name: "0002_broken",
      up: (knex) => knex.schema.createTable("half", (t) => t.increments())
    }
    const database = yield* open(yield* migrate("one", path, [notes, mended]))
    expect(yield* bodies(database)).toStrictEqual([])
  }))

it.scopedLive("a database in memory has the migrated schema", () =>
  Effect.gen(function*() {
    const database = yield* open(yield* migrateMemory("one", [notes]))
    yield* database.transaction(database.sql`INSERT INTO note (body) VALUES ('kept')`)
    expect(yield* bodies(database)).toStrictEqual(["kept"])
  }))

it.scopedLive("a second holder of a kernel lock fails at once and names the first", () =>
  Effect.gen(function*() {
    const path = yield* folder
    const first = yield* Effect.scoped(
      acquire("fleetd", path).pipe(
        Effect.zipRight(Effect.flip(Effect.scoped(acquire("fleetd", path))))
      )
    )
    expect(first._tag).toBe("AlreadyRunning")
    expect(first.message).toContain(`(process ${process.pid})`)
    yield* acquire("fleetd", path, { command: "fleet enroll" })
    const second = yield* Effect.flip(Effect.scoped(acquire("fleetd", path, { stopWith: "fleet down" })))
    expect(second.message).toContain(`\`fleet enroll\` is at work in ${path} (process ${process.pid})`)
    expect(second.message).not.toContain("fleet down")
  }))
