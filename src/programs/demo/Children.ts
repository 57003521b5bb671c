// crossfire and fleetd as processes of their own, and `fleet` as a command: the demo uses the product as a user does.
// Each child has its log in a file, and ends with the scope.
import { Duration, Effect, Schema } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { openSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const projectRoot = fileURLToPath(new URL("../../..", import.meta.url))

export class ChildFailed extends Schema.TaggedError<ChildFailed>()("ChildFailed", {
  command: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.command}: ${this.reason}`
  }
}

export interface Child {
  readonly processId: number
  readonly running: () => boolean
  /** `kill -9`, and the end awaited. */
  readonly kill: Effect.Effect<void>
  /** SIGTERM, bounded, then SIGKILL. */
  readonly stop: Effect.Effect<void>
}

const stopWithin = Duration.seconds(30)

/** Starts one of the launchers in `bin`; its standard error goes to `log`. */
export const start = (program: "crossfire" | "fleetd", args: ReadonlyArray<string>, log: string) =>
  Effect.acquireRelease(
    Effect.sync((): Child => {
      const file = openSync(log, "a", 0o600)
      const child = spawn(process.execPath, [`${projectRoot}/bin/${program}`, ...args], {
        stdio: ["ignore", file, file],
        // An own group: Ctrl-C at the terminal is the demo's to pass on, in the right order.
        detached: true
      })
      const running = () => child.exitCode === null && child.signalCode === null
      const ended = Effect.async<void>((resume) => {
        if (!running()) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
      })
      const signal = (name: NodeJS.Signals) => Effect.sync(() => running() && child.kill(name))
      return {
        processId: child.pid ?? 0,
        running,
        kill: Effect.zipRight(signal("SIGKILL"), ended),
        stop: signal("SIGTERM").pipe(
          Effect.zipRight(ended),
          Effect.interruptible,
          Effect.timeout(stopWithin),
          Effect.catchAll(() => Effect.zipRight(signal("SIGKILL"), ended))
        )
      }
    }),
    (child) => child.stop
  )

/** Runs one of the commands to its end and gives its standard output. */
export const command = (
  program: "crossfire" | "fleet",
  args: ReadonlyArray<string>
): Effect.Effect<string, ChildFailed> =>
  Effect.async<string, ChildFailed>((resume) => {
    const child = spawn(process.execPath, [`${projectRoot}/bin/${program}`, ...args], {
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    let errors = ""
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8")
    })
    child.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString("utf8")
    })
    child.once("error", (cause) => resume(Effect.fail(new ChildFailed({ command: program, reason: cause.message }))))
    child.once("close", (code) => {
      if (code === 0) return resume(Effect.succeed(output))
      const told = `${errors}${output}`.trim().slice(-2_000)
      resume(
        Effect.fail(new ChildFailed({ command: `${program} ${args.join(" ")}`, reason: `ended with ${code}: ${told}` }))
      )
    })
    return Effect.sync(() => child.kill("SIGTERM"))
  })

/** The last lines of a log, for an error message. */
export const tail = (log: string): string => spawnSync("tail", ["-n", "8", log], { encoding: "utf8" }).stdout
