// `fleetd [--root DIR] [--take-over]`: arguments, the root's lock, then the daemon until it is asked to end. Only what is
// needed to refuse is loaded first, so that a second fleetd on the same root ends at once.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Deferred, Effect, Exit, Layer, Logger, Predicate } from "effect"
import { homedir } from "node:os"
import { parseArgs } from "node:util"
import * as RootFolder from "../../layers/fleetd/RootFolder.ts"
import { acquire, AlreadyRunning } from "../../layers/sqlite/KernelLock.ts"
import { hostEnvironment } from "../HostEnvironment.ts"
import { rootPath } from "../RootPath.ts"
import { settingsDefaults } from "../SettingsDefaults.ts"

const exitCodes = { ok: 0, failed: 1, usage: 2, refused: 4 } as const
/** Failures that the owner can act on, as opposed to those of the machine. */
const refusals: ReadonlySet<string> = new Set([
  "AlreadyRunning",
  "NotEnrolled",
  "RootMoved",
  "RootUnusable",
  "ServerUrlRefused",
  "SettingsInvalid"
])

const usage = "usage: fleetd [--root DIR] [--take-over]\n"

const run = (root: string, takeOver: boolean) =>
  Effect.gen(function*() {
    yield* RootFolder.closeFiles(root)
    yield* acquire("fleetd", root, { stopWith: `fleet down --root ${root}` })
    const { FleetSettings, main } = yield* Effect.promise(async () => ({
      main: await import("./main.ts"),
      FleetSettings: await import("../../layers/fleetd/FleetSettings.ts")
    }))
    const settings = yield* FleetSettings.read(root, settingsDefaults)
    const asked = yield* Deferred.make<void>()
    const shutdown = Effect.asVoid(Deferred.succeed(asked, undefined))
    yield* Layer.build(main.daemon({ root, settings, takeOver, shutdown }))
    yield* Effect.logInfo("fleetd is ready").pipe(Effect.annotateLogs({ root }))
    yield* Deferred.await(asked)
    yield* Effect.logInfo("fleetd was asked to end")
  }).pipe(Effect.scoped)

const isFailure = (error: unknown): error is { readonly _tag: string; readonly message: string } =>
  Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" &&
  Predicate.hasProperty(error, "message") && typeof error.message === "string"

/** Tells why in one structured line, and gives the exit code. Details of a broken invariant go with it. */
const report = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  const known = Cause.isFailType(cause) && isFailure(error)
  return known
    ? Effect.as(
      Effect.logFatal(error.message).pipe(Effect.annotateLogs({
        tag: error._tag,
        ...(error instanceof AlreadyRunning ? { holder: error.holder } : {})
      })),
      refusals.has(error._tag) ? exitCodes.refused : exitCodes.failed
    )
    : Effect.as(Effect.logFatal("an internal error", cause), exitCodes.failed)
}

const readArguments = () => {
  try {
    return parseArgs({ options: { root: { type: "string" }, "take-over": { type: "boolean", default: false } } }).values
  } catch {
    return null
  }
}

const given = readArguments()
if (given === null) {
  process.stderr.write(usage)
  process.exitCode = exitCodes.usage
} else {
  RootFolder.open(rootPath(given.root ?? null, hostEnvironment, homedir())).pipe(
    Effect.flatMap((root) => run(root, given["take-over"])),
    Effect.as<number>(exitCodes.ok),
    Effect.catchAllCause((cause) => Cause.isInterruptedOnly(cause) ? Effect.succeed(exitCodes.ok) : report(cause)),
    Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.jsonLogger))),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      disablePrettyLogger: true,
      // Whatever still holds the process open (a connection that is being closed) does not hold up its end.
      teardown: (exit, onExit) =>
        onExit(Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : exitCodes.ok)
    })
  )
}
