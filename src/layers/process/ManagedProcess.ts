// Owns child processes: spawn in an own process group, a bounded stop (stdin close, TERM, KILL) and the end of the group.
// Every long-lived child of this product is started here. It restarts nothing and interprets no output.
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Deferred, Duration, Effect, Option, Schema, type Scope, Stream } from "effect"
import { type ChildProcessWithoutNullStreams, spawn as spawnChild } from "node:child_process"
import { sweepMarked } from "./ProcessSweep.ts"

export class SpawnFailed extends Schema.TaggedError<SpawnFailed>()("SpawnFailed", {
  command: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.command} could not be started: ${this.reason}`
  }
}

export class ProcessGone extends Schema.TaggedError<ProcessGone>()("ProcessGone", { command: Schema.String }) {
  override get message(): string {
    return `${this.command} is no longer running`
  }
}

export interface ProcessSpec {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  /** Name and value of the variable that marks this run, so that what it leaves behind can be found and ended. */
  readonly marker: readonly [name: string, value: string]
  /** How long each of stdin close and SIGTERM may take before the next step. */
  readonly grace: Duration.DurationInput
  /** What ends it first: closing its standard input, or SIGTERM at once. */
  readonly stopBy: "stdin" | "signal"
}

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
  /** The last bytes of standard error, for an error message; at most 4 KiB. */
  readonly stderrTail: string
}

export interface ManagedProcess {
  readonly pid: number
  /** Ends with the output, and `drainTime` after the process at the latest, whoever else holds the pipe. */
  readonly stdout: Stream.Stream<Uint8Array>
  /** Writes all bytes or fails; waits while the pipe is full. */
  readonly write: (bytes: string) => Effect.Effect<void, ProcessGone>
  /** Waits for the end; never fails. */
  readonly end: Effect.Effect<ProcessEnd>
}

const stderrTailBytes = 4096
/** How long the last output of a process that has ended may still come. */
const drainTime = "2 seconds"

const signalGroup = (pid: number, signal: NodeJS.Signals) =>
  Effect.sync(() => {
    try {
      process.kill(-pid, signal)
    } catch {
      // The group is gone already: that is what was wanted.
    }
  })

const start = (spec: ProcessSpec) =>
  Effect.async<ChildProcessWithoutNullStreams, SpawnFailed>((resume) => {
    const [name, value] = spec.marker
    const child = spawnChild(spec.command, spec.args, {
      cwd: spec.cwd,
      env: { ...spec.env, [name]: value },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"]
    })
    child.once("spawn", () => resume(Effect.succeed(child)))
    child.once(
      "error",
      (cause) => resume(Effect.fail(new SpawnFailed({ command: spec.command, reason: cause.message })))
    )
    // A dead child's pipe reports EPIPE here; the exit says the same, and without a listener it would end the daemon.
    child.stdin.on("error", () => {})
  })

/** Starts the process; closing the scope stops it, its group and everything that carries its marker. */
export const spawn = (spec: ProcessSpec): Effect.Effect<ManagedProcess, SpawnFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const ended = yield* Deferred.make<ProcessEnd>()
    let stderrTail = Buffer.alloc(0)
    const child = yield* Effect.acquireRelease(
      start(spec).pipe(
        Effect.tap((child) =>
          Effect.sync(() => {
            child.stderr.on("data", (chunk: Buffer) => {
              stderrTail = Buffer.concat([stderrTail, chunk]).subarray(-stderrTailBytes)
            })
            child.once("exit", (code, signal) => {
              const end = { code, signal, stderrTail: stderrTail.toString("utf8") }
              Deferred.unsafeDone(ended, Effect.succeed(end))
            })
          })
        )
      ),
      (child) => stop(spec, child, Deferred.await(ended))
    )
    const pid = child.pid ?? 0
    const write = (bytes: string) =>
      Effect.async<void, ProcessGone>((resume) => {
        const gone = new ProcessGone({ command: spec.command })
        if (child.stdin.destroyed || !child.stdin.writable) return resume(Effect.fail(gone))
        child.stdin.write(bytes, (error) => resume(error == null ? Effect.void : Effect.fail(gone)))
      })
    // A broken pipe ends the stream: what it means is told by `end`. Not from the async iterator, whose end waits for the
    // next chunk: an interrupted reader would hang, and with it the scope that stops the process. What nobody reads any
    // more flows off, or a child with much to say could not end.
    const stdout: Stream.Stream<Uint8Array> = NodeStream.fromReadable(
      () => child.stdout,
      () => new ProcessGone({ command: spec.command }),
      { closeOnDone: false }
    ).pipe(
      Stream.catchAll(() => Stream.empty),
      Stream.interruptWhen(Effect.zipRight(Deferred.await(ended), Effect.sleep(drainTime))),
      Stream.ensuring(Effect.sync(() => child.stdout.resume()))
    )
    return { pid, stdout, write, end: Deferred.await(ended) }
  })

/** Stdin close or TERM, then TERM, then KILL of the group, then the sweep. Each wait is bounded. */
const stop = (spec: ProcessSpec, child: ChildProcessWithoutNullStreams, end: Effect.Effect<ProcessEnd>) =>
  Effect.gen(function*() {
    const pid = child.pid
    if (pid === undefined) return
    const gone = end.pipe(Effect.interruptible, Effect.timeoutOption(spec.grace), Effect.map(Option.isSome))
    const steps = [
      ...(spec.stopBy === "stdin" ? [Effect.sync(() => child.stdin.end())] : []),
      signalGroup(pid, "SIGTERM")
    ]
    let ended = child.exitCode !== null || child.signalCode !== null
    for (const step of steps) {
      if (ended) break
      yield* step
      ended = yield* gone
    }
    yield* signalGroup(pid, "SIGKILL")
    if (!ended) yield* end
    yield* sweepMarked(spec.marker)
  })
