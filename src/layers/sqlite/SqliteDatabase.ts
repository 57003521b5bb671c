// Opens one SQLite file as a `Database`: durable settings, own transaction tag, typed failures. Migrates nothing itself:
// it takes the proof that the file was migrated.
import * as Reactivity from "@effect/experimental/Reactivity"
import { SqliteClient } from "@effect/sql-sqlite-node"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import { Context, Effect, Exit, Option, ParseResult } from "effect"
import { type Database, StoreFailed } from "../../services/Database.ts"
import type { Migrated } from "./Migrations.ts"

/** Set while a transaction runs: which database it belongs to, and its connection. */
class RunningTransaction extends Context.Tag("crossfire/layers/sqlite/SqliteDatabase/RunningTransaction")<
  RunningTransaction,
  { readonly database: symbol; readonly name: string; readonly connection: Connection }
>() {}

const failures: ReadonlyArray<readonly [prefix: string, reason: StoreFailed["reason"]]> = [
  ["SQLITE_FULL", "full"],
  ["SQLITE_IOERR", "io"],
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_READONLY", "read-only"],
  ["SQLITE_CANTOPEN", "io"],
  ["SQLITE_CORRUPT", "corrupt"],
  ["SQLITE_NOTADB", "corrupt"]
]

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

/** A statement's own errors taken out of an operation's, and `StoreFailed` put in. */
type Stored<E> = Exclude<E, SqlError | ParseResult.ParseError> | StoreFailed

const storeFailure = (database: string, error: SqlError): StoreFailed | undefined => {
  const code = codeOf(error.cause)
  const reason = failures.find(([prefix]) => code.startsWith(prefix))?.[1]
  return reason === undefined ? undefined : new StoreFailed({ database, reason })
}

/** The database over an open connection. `symbol` identities keep two files of one process apart. */
const fromConnection = (name: string, connection: Connection) =>
  Effect.gen(function*() {
    const database = Symbol(name)
    const turn = yield* Effect.makeSemaphore(1)

    const joined = Effect.serviceOption(RunningTransaction).pipe(
      Effect.filterOrDieMessage(
        (running) => Option.isNone(running) || running.value.database === database,
        `a statement on ${name} was run inside another database's transaction`
      )
    )
    const acquirer = Effect.flatMap(joined, (running) =>
      Option.isSome(running)
        ? Effect.succeed(running.value.connection)
        : turn.withPermits(1)(Effect.succeed(connection)))
    const sql = yield* SqlClient.make({
      acquirer,
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    })

    const typed = <A, E, R>(body: Effect.Effect<A, E | SqlError | ParseResult.ParseError, R>) =>
      Effect.catchAll(body, (error): Effect.Effect<never, Stored<E>> => {
        if (error instanceof SqlError) {
          const failed = storeFailure(name, error)
          return failed === undefined ? Effect.die(error) : Effect.fail(failed)
        }
        if (ParseResult.isParseError(error)) return Effect.die(error)
        return Effect.fail(error as Stored<E>)
      })

    const statement = (text: string) => connection.executeUnprepared(text, [], undefined)

    /** COMMIT can fail (a full disk is noticed there): the transaction is then rolled back and the failure stays typed. */
    const enclose = <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
      Effect.uninterruptibleMask((restore) =>
        statement("BEGIN IMMEDIATE").pipe(
          Effect.zipRight(Effect.exit(restore(body))),
          Effect.flatMap((exit) =>
            Exit.isSuccess(exit)
              ? statement("COMMIT").pipe(
                Effect.catchAllCause((cause) =>
                  Effect.zipRight(Effect.ignore(statement("ROLLBACK")), Effect.failCause(cause))
                ),
                Effect.as(exit.value)
              )
              : Effect.zipRight(Effect.ignore(statement("ROLLBACK")), Effect.failCause<E | SqlError>(exit.cause))
          )
        )
      )

    const transaction = <A, E, R>(
      body: Effect.Effect<A, E | SqlError | ParseResult.ParseError, R>
    ): Effect.Effect<A, Stored<E>, R> => {
      const alone = turn.withPermits(1)(
        enclose(Effect.provideService(body, RunningTransaction, { database, name, connection }))
      ) as Effect.Effect<A, E | SqlError | ParseResult.ParseError, R>
      return typed<A, E, R>(Effect.flatMap(joined, (running) => Option.isSome(running) ? body : alone))
    }

    const opened: Database = { name, sql, transaction, read: typed }
    return opened
  })

const wanted: ReadonlyArray<readonly [pragma: string, value: string, shown: string | number]> = [
  ["synchronous", "FULL", 2],
  // The client is the only writer, under the program's own lock. Waiting would block the event loop.
  ["busy_timeout", "0", 0],
  ["foreign_keys", "ON", 1]
]

const applySettings = (connection: Connection) =>
  Effect.forEach(wanted, ([pragma, value, shown]) =>
    Effect.gen(function*() {
      yield* connection.executeUnprepared(`PRAGMA ${pragma} = ${value}`, [], undefined)
      const [row] = yield* connection.executeUnprepared(`PRAGMA ${pragma}`, [], undefined)
      const actual: unknown = Object.values(Object(row))[0]
      if (actual !== shown) return yield* Effect.dieMessage(`SQLite kept ${pragma} at ${String(actual)}`)
    }), { discard: true })

const openClient = (name: string, filename: string) =>
  Effect.catchAllDefect(SqliteClient.make({ filename, disableWAL: filename === ":memory:" }), (defect) => {
    const failed = storeFailure(name, new SqlError({ cause: defect, message: "open" }))
    return failed === undefined ? Effect.die(defect) : Effect.fail(failed)
  }).pipe(Effect.provide(Reactivity.layer))

/** Opens the migrated file; it is closed with the scope. */
export const open = (migrated: Migrated) =>
  Effect.gen(function*() {
    const client = yield* openClient(migrated.name, migrated.filename)
    const connection = yield* client.reserve
    yield* applySettings(connection)
    for (const definition of migrated.schema) yield* connection.executeUnprepared(definition, [], undefined)
    return yield* fromConnection(migrated.name, connection).pipe(Effect.provide(Reactivity.layer))
  }).pipe(
    Effect.catchTag("SqlError", (error) => {
      const failed = storeFailure(migrated.name, error)
      return failed === undefined ? Effect.die(error) : Effect.fail(failed)
    })
  )
