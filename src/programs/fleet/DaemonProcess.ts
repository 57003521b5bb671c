// Starts fleetd on its own, apart from this terminal, and waits for its end. Nothing global is installed.
import { Duration, Effect, Option, Schedule, Schema } from "effect"
import { spawn } from "node:child_process"
import { closeSync, openSync, readSync, renameSync, statSync } from "node:fs"
import * as FleetSocketClient from "../../layers/fleetd/FleetSocketClient.ts"
import { logPath } from "../../layers/fleetd/RootFolder.ts"
import { exitCodes } from "../CommandLine.ts"
import { hostEnvironment } from "../HostEnvironment.ts"

/** fleetd said why it does not start, and what the owner can do about it. */
export class FleetdRefused extends Schema.TaggedError<FleetdRefused>()("FleetdRefused", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** It did not come up for another reason. */
export class FleetdFailed extends Schema.TaggedError<FleetdFailed>()("FleetdFailed", {
  root: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `fleetd did not start: ${this.reason}\nIts log is ${logPath(this.root)}`
  }
}

export class FleetdLingers extends Schema.TaggedError<FleetdLingers>()("FleetdLingers", {
  processId: Schema.Int
}) {
  override get message(): string {
    return `fleetd (process ${this.processId}) was asked to end and still runs. Look into its log, then end it with: kill ${this.processId}`
  }
}

/** A log that is larger at a start begins anew; the one before is kept. */
const maxLogBytes = 10 * 1024 * 1024
/** How much of the log's end is looked through for the reason of a failed start. */
const maxTailBytes = 64 * 1024
const startWithin = Duration.seconds(60)
const endWithin = Duration.seconds(60)
const look = Duration.millis(50)

const openLog = (path: string): { readonly file: number; readonly from: number } => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > maxLogBytes) renameSync(path, `${path}.1`)
  return { file: openSync(path, "a", 0o600), from: size > maxLogBytes ? 0 : size }
}

const LogLine = Schema.parseJson(Schema.Struct({
  logLevel: Schema.String,
  message: Schema.Union(Schema.String, Schema.Array(Schema.Unknown)),
  annotations: Schema.optional(Schema.Struct({
    tag: Schema.optional(Schema.String),
    holder: Schema.optional(Schema.String)
  }))
}))
const readLine = Schema.decodeUnknownOption(LogLine)

/** The last thing that the new daemon called fatal; else its last line, whatever that is. */
const failureIn = (root: string, from: number): {
  readonly reason: string
  /** Another fleetd has the root; not so for a command that works there for a while. */
  readonly daemonHolds: boolean
} => {
  const path = logPath(root)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const start = Math.max(from, size - maxTailBytes)
  const buffer = Buffer.alloc(Math.max(0, size - start))
  const file = openSync(path, "r")
  try {
    readSync(file, buffer, 0, buffer.length, start)
  } finally {
    closeSync(file)
  }
  const lines = buffer.toString("utf8").split("\n").filter((line) => line.trim() !== "")
  for (const line of lines.toReversed()) {
    const read = readLine(line)
    if (Option.isNone(read) || read.value.logLevel !== "FATAL") continue
    const { annotations, message } = read.value
    return {
      reason: typeof message === "string" ? message : message.join(" "),
      daemonHolds: annotations?.tag === "AlreadyRunning" && annotations.holder === "fleetd"
    }
  }
  return { reason: lines.at(-1) ?? "it said nothing", daemonHolds: false }
}

/** Whether that process is there. Another user's would answer with an error of permission, and is not fleetd. */
const isAlive = (processId: number): boolean => {
  try {
    process.kill(processId, 0)
    return true
  } catch {
    return false
  }
}

/** Starts fleetd detached, its log in the root, and waits until its socket answers or it ended. */
export const start = (root: string, launcher: string, takeOver: boolean) =>
  Effect.gen(function*() {
    const { file, from } = yield* Effect.try({
      try: () => openLog(logPath(root)),
      catch: () => new FleetdFailed({ root, reason: "its log cannot be written" })
    })
    const child = yield* Effect.sync(() => {
      const options = ["--root", root, ...(takeOver ? ["--take-over"] : [])]
      const child = spawn(process.execPath, [launcher, ...options], {
        cwd: root,
        detached: true,
        stdio: ["ignore", file, file],
        env: hostEnvironment
      })
      closeSync(file)
      child.on("error", () => {})
      child.unref()
      return child
    })
    const answers = Effect.scoped(Effect.flatMap(FleetSocketClient.connect(root), (client) => client.status))
    return yield* Effect.gen(function*() {
      while (true) {
        const status = yield* Effect.option(answers)
        if (Option.isSome(status)) return status.value
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
          const { daemonHolds, reason } = failureIn(root, from)
          // It was started at the same time: its socket will answer.
          if (!daemonHolds) {
            return yield* child.exitCode === exitCodes.refused
              ? new FleetdRefused({ reason })
              : new FleetdFailed({ root, reason })
          }
        }
        yield* Effect.sleep(look)
      }
    }).pipe(
      Effect.timeoutFail({
        duration: startWithin,
        onTimeout: () =>
          new FleetdFailed({
            root,
            reason: `its socket does not answer after ${Duration.toSeconds(startWithin)} s (process ${child.pid ?? 0})`
          })
      })
    )
  })

/** Waits until that process is gone. */
export const awaitEnd = (processId: number) =>
  Effect.sync(() => isAlive(processId)).pipe(
    Effect.repeat({ while: (alive) => alive, schedule: Schedule.spaced(look) }),
    Effect.timeoutFail({ duration: endWithin, onTimeout: () => new FleetdLingers({ processId }) }),
    Effect.asVoid
  )
