// One app-server process: started, introduced, and ended in an order that loses no output and leaves nothing behind.
import { Deferred, Effect, ExecutionStrategy, Exit, Scope } from "effect"
import { supportedVersions } from "../../domain/Engine.ts"
import type { EngineGone, EngineUnavailable } from "../../services/NativeEngine.ts"
import { spawn } from "../process/ManagedProcess.ts"
import { runMarker } from "../process/RunMarker.ts"
import { unavailable } from "./CodexHome.ts"
import { InitializeResult, unwantedNotifications } from "./CodexProtocol.ts"
import { type CodexSettings, environmentOf } from "./CodexSettings.ts"
import * as CodexWire from "./CodexWire.ts"

/** For each of stdin close and TERM. The engine itself needs 50 ms. */
const stopGrace = "5 seconds"
const startDeadline = "30 seconds"
const clientName = "fleetd"

export interface CodexProcess {
  readonly pid: number
  readonly wire: CodexWire.CodexWire
  /** Waits until the process and all that carried its marker are gone, with the reason. */
  readonly ended: Effect.Effect<string>
}

export interface Run {
  readonly codexHome: string
  readonly workFolder: string
  /** The value of the run's marker. */
  readonly runId: string
}

/**
 * The process lives in the caller's scope and ends before it does: when the scope closes, when its output makes no sense,
 * or when an answer is overdue. Its output is read until it has ended.
 */
export const start = (
  settings: CodexSettings,
  { codexHome, runId, workFolder }: Run,
  listener: CodexWire.Listener
): Effect.Effect<CodexProcess, EngineUnavailable | EngineGone, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const processScope = yield* Scope.fork(scope, ExecutionStrategy.sequential)
    const process = yield* spawn({
      command: settings.binary,
      // A setting that this version does not know is an error, not a setting without effect.
      args: ["app-server", "--strict-config"],
      cwd: workFolder,
      env: environmentOf(settings, codexHome),
      marker: runMarker(runId),
      grace: stopGrace,
      stopBy: "stdin"
    }).pipe(Scope.extend(processScope), Effect.mapError((error) => unavailable(error.message)))
    const wire = yield* CodexWire.make(process, listener)

    const ended = yield* Deferred.make<string>()
    yield* wire.over.pipe(
      Effect.zipLeft(Scope.close(processScope, Exit.void)),
      Effect.flatMap(({ reason }) => Deferred.succeed(ended, reason)),
      Effect.forkScoped
    )
    // Registered last, so it runs first: reading goes on until the process has ended.
    yield* Effect.addFinalizer(() => Effect.zipRight(wire.cut("it was stopped"), Deferred.await(ended)))

    const { userAgent } = yield* wire.request(
      "initialize",
      {
        clientInfo: { name: clientName, title: clientName, version: "1" },
        capabilities: { experimentalApi: true, optOutNotificationMethods: unwantedNotifications }
      },
      InitializeResult,
      startDeadline
    ).pipe(Effect.catchTags({
      RequestRefused: CodexWire.asUnavailable,
      // Before the first answer the engine has taken nothing, so its own words say why it would not start.
      EngineGone: (gone) =>
        Effect.flatMap(process.end, ({ stderrTail }) => Effect.fail(unavailable(firstError(stderrTail) ?? gone.reason)))
    }))
    if (!supportedVersions.codex.some((version) => userAgent.startsWith(`${clientName}/${version} `))) {
      return yield* unavailable("the program that answered is of another version than the one that was checked")
    }
    yield* wire.notify("initialized")
    return { pid: process.pid, wire, ended: Deferred.await(ended) }
  })

const firstError = (stderr: string): string | null => /^Error: (.{1,300})/mu.exec(stderr)?.[1] ?? null
