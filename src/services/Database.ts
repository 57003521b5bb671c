// One SQLite file as the stores see it: a client, and the only two ways to use it. It knows no table.
// Each program's file has its own tag, so that no statement can land in another file's transaction.
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Context, type Effect, type ParseResult, Schema } from "effect"

/**
 * The file refused an operation for a reason that can pass (full disk, I/O error, locked) or needs the operator
 * (read-only, corrupt). The operation was rolled back whole.
 */
export class StoreFailed extends Schema.TaggedError<StoreFailed>()("StoreFailed", {
  database: Schema.String,
  reason: Schema.Literal("full", "io", "busy", "read-only", "corrupt")
}) {
  override get message(): string {
    const told = {
      full: "the disk is full; nothing was changed, and work goes on when there is space",
      io: "the disk reported an input/output error; nothing was changed",
      busy: "another process holds the file; nothing was changed",
      "read-only": "the file or its folder cannot be written",
      corrupt: "the file is damaged; restore it from a backup"
    }
    return `The database ${this.database} failed: ${told[this.reason]}`
  }
}

export interface Database {
  readonly name: string
  readonly sql: SqlClient
  /**
   * One write transaction (`BEGIN IMMEDIATE`), joined when one of this file already runs. Nothing in it may wait for a
   * network or another program's service. Statement errors that mean a programming error die; the rest is `StoreFailed`.
   */
  readonly transaction: <A, E, R>(
    body: Effect.Effect<A, E | SqlError | ParseResult.ParseError, R>
  ) => Effect.Effect<A, Exclude<E, SqlError | ParseResult.ParseError> | StoreFailed, R>
  /** Reads outside a transaction, with the same error rules. Rows that do not decode die: the file is ours. */
  readonly read: <A, E, R>(
    body: Effect.Effect<A, E | SqlError | ParseResult.ParseError, R>
  ) => Effect.Effect<A, Exclude<E, SqlError | ParseResult.ParseError> | StoreFailed, R>
}

/** crossfire's management database. */
export class CrossfireDb extends Context.Tag("crossfire/services/Database/CrossfireDb")<CrossfireDb, Database>() {}

/** fleetd's private registry. */
export class FleetDb extends Context.Tag("crossfire/services/Database/FleetDb")<FleetDb, Database>() {}
