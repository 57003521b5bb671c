// Runs a program's Knex migrations on its SQLite file before anything opens it. The caller holds the program's kernel
// lock, so a lock row that a killed migration left behind is stale and is freed.
import { Effect, Schema } from "effect"
import type { Knex } from "knex"
import knexClient from "knex"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makePrivateSync } from "./PrivateFiles.ts"

/** Proof that a file stands at its program's newest schema. Opening a database takes one. */
export interface Migrated {
  readonly name: string
  readonly filename: string
  /** Statements still to be run at opening: only for a database in memory. */
  readonly schema: ReadonlyArray<string>
}

/** A numbered change. The name has no extension, so that compiled and source forms are the same migration. */
export interface Migration {
  readonly name: string
  readonly up: (knex: Knex) => Promise<void>
}

export class MigrationFailed extends Schema.TaggedError<MigrationFailed>()("MigrationFailed", {
  database: Schema.String,
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.database} was not started: its database ${this.path} could not be brought to the newest schema (${this.reason})`
  }
}

const source = (migrations: ReadonlyArray<Migration>): Knex.MigrationSource<Migration> => ({
  getMigrations: () => Promise.resolve([...migrations]),
  getMigrationName: (migration) => migration.name,
  // Nothing is ever rolled back: an upgrade keeps data, and going back is a restore.
  getMigration: (migration) => Promise.resolve({ up: migration.up, down: () => Promise.resolve() })
})

const connect = (name: string, filename: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      knexClient({
        client: "better-sqlite3",
        connection: { filename },
        useNullAsDefault: true,
        pool: { min: 1, max: 1 },
        log: { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} }
      })
    ),
    (knex) => Effect.promise(() => knex.destroy())
  ).pipe(Effect.annotateLogs({ database: name }))

const run = (name: string, filename: string, migrations: ReadonlyArray<Migration>) =>
  Effect.gen(function*() {
    const knex = yield* connect(name, filename)
    const settings = { migrationSource: source(migrations), tableName: "schema_migration" }
    yield* Effect.tryPromise({
      try: async () => {
        makePrivateSync(filename)
        await knex.raw("PRAGMA journal_mode = WAL")
        await knex.raw("PRAGMA synchronous = FULL")
        await knex.migrate.forceFreeMigrationsLock(settings)
        await knex.migrate.latest(settings)
      },
      catch: (cause) =>
        new MigrationFailed({
          database: name,
          path: filename,
          reason: cause instanceof Error ? cause.message : "unknown"
        })
    })
    return knex
  })

/** Brings the file to the newest schema; each migration is one transaction with its version row. */
export const migrate = (name: string, filename: string, migrations: ReadonlyArray<Migration>) =>
  Effect.scoped(run(name, filename, migrations)).pipe(Effect.as<Migrated>({ name, filename, schema: [] }))

/** The newest schema for a database in memory: migrated in a scratch file by the same migrations, then read off it. */
export const migrateMemory = (name: string, migrations: ReadonlyArray<Migration>) =>
  Effect.gen(function*() {
    const folder = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "migrations-"))),
      (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
    )
    const knex = yield* run(name, join(folder, "schema.sqlite"), migrations)
    const rows: ReadonlyArray<{ readonly sql: string }> = yield* Effect.promise(() =>
      knex("sqlite_master").select("sql").whereNotNull("sql").andWhere("name", "not like", "sqlite_%").orderBy(
        "rootpage"
      )
    )
    const migrated: Migrated = { name, filename: ":memory:", schema: rows.map((row) => row.sql) }
    return migrated
  }).pipe(Effect.scoped)
