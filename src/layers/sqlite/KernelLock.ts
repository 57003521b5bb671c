// An exclusive lock that the kernel drops when its process dies: an open exclusive transaction on a small SQLite file.
// Held for a program's whole life; a second program in the same folder fails at once.
import Sqlite from "better-sqlite3"
import { Effect, Schema } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { makePrivateSync } from "./PrivateFiles.ts"

export class AlreadyRunning extends Schema.TaggedError<AlreadyRunning>()("AlreadyRunning", {
  program: Schema.String,
  folder: Schema.String,
  holderPid: Schema.NullOr(Schema.Int)
}) {
  override get message(): string {
    const holder = this.holderPid === null ? "another process" : `process ${this.holderPid}`
    return `${this.program} already runs in ${this.folder} (${holder}). Stop that one first, or use another folder`
  }
}

export class LockUnusable extends Schema.TaggedError<LockUnusable>()("LockUnusable", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `The lock file ${this.path} cannot be used: ${this.reason}`
  }
}

const holder = (pidFile: string): number | null => {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, "utf8"), 10)
    return Number.isInteger(pid) ? pid : null
  } catch {
    return null
  }
}

/** Takes `<folder>/<program>.lock` or fails at once. The process ID beside it is a courtesy for messages, never trusted. */
export const acquire = (program: string, folder: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const path = `${folder}/${program}.lock`
        makePrivateSync(path)
        const database = new Sqlite(path, { timeout: 0 })
        try {
          database.exec("BEGIN EXCLUSIVE")
        } catch (cause) {
          database.close()
          throw cause
        }
        writeFileSync(`${folder}/${program}.pid`, `${process.pid}\n`, { mode: 0o600 })
        return database
      },
      catch: (cause) => {
        const busy = cause instanceof Sqlite.SqliteError && cause.code.startsWith("SQLITE_BUSY")
        return busy
          ? new AlreadyRunning({ program, folder, holderPid: holder(`${folder}/${program}.pid`) })
          : new LockUnusable({
            path: `${folder}/${program}.lock`,
            reason: cause instanceof Error ? cause.message : String(cause)
          })
      }
    }),
    (database) => Effect.sync(() => database.close())
  )
