// An exclusive lock that the kernel drops when its process dies: an open exclusive transaction on a small SQLite file.
// Held for a program's whole life; a second program in the same folder fails at once.
import Sqlite from "better-sqlite3"
import { Effect, Schema } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { makePrivateSync } from "./PrivateFiles.ts"

export class AlreadyRunning extends Schema.TaggedError<AlreadyRunning>()("AlreadyRunning", {
  program: Schema.String,
  folder: Schema.String,
  holderPid: Schema.NullOr(Schema.Int),
  /** The command that holds it, in the program's place or as the program itself. */
  holder: Schema.String,
  stopWith: Schema.NullOr(Schema.String)
}) {
  override get message(): string {
    const { folder, holder, program, stopWith } = this
    const process = this.holderPid === null ? "another process" : `process ${this.holderPid}`
    return holder === program
      ? `${program} already runs in ${folder} (${process}). Stop that one first${
        stopWith === null ? "" : ` (${stopWith})`
      }, or use another folder`
      : `\`${holder}\` is at work in ${folder} (${process}), and nothing else works there meanwhile. Wait until it has ended, ` +
        "or end it with Ctrl-C where it runs, and run this again"
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

/** A process ID, and in the second line the command that wrote it. */
const holderIn = (pidFile: string): { readonly pid: number | null; readonly command: string | undefined } => {
  try {
    const [first = "", second] = readFileSync(pidFile, "utf8").split("\n")
    const pid = Number.parseInt(first, 10)
    return { pid: Number.isInteger(pid) ? pid : null, command: second === "" ? undefined : second }
  } catch {
    return { pid: null, command: undefined }
  }
}

/**
 * Takes `<folder>/<program>.lock` or fails at once. The process ID beside it is a courtesy for messages, never trusted.
 * `command`: what holds it, where that is not the program itself. `stopWith`: how the program is stopped there.
 */
export const acquire = (
  program: string,
  folder: string,
  { command = program, stopWith }: { readonly command?: string; readonly stopWith?: string } = {}
) =>
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
        writeFileSync(`${folder}/${program}.pid`, `${process.pid}\n${command}\n`, { mode: 0o600 })
        return database
      },
      catch: (cause) => {
        const busy = cause instanceof Sqlite.SqliteError && cause.code.startsWith("SQLITE_BUSY")
        const held = holderIn(`${folder}/${program}.pid`)
        return busy
          ? new AlreadyRunning({
            program,
            folder,
            holderPid: held.pid,
            holder: held.command ?? program,
            stopWith: stopWith ?? null
          })
          : new LockUnusable({
            path: `${folder}/${program}.lock`,
            reason: cause instanceof Error ? cause.message : String(cause)
          })
      }
    }),
    (database) => Effect.sync(() => database.close())
  )
