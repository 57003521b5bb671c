// The installed program: whether it is there, and whether its version is one that was verified.
import { Chunk, Effect, Ref, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { stat } from "node:fs/promises"
import type { EngineUnavailable } from "../../services/NativeEngine.ts"
import { checkVersion } from "../engine/ActivationStart.ts"
import { spawn } from "../process/ManagedProcess.ts"
import { runMarker } from "../process/RunMarker.ts"
import { unavailable } from "./CodexHome.ts"
import { type CodexSettings, environmentOf } from "./CodexSettings.ts"

const deadline = "20 seconds"
const grace = "2 seconds"
const maxOutputBytes = 4096

const identityOf = (binary: string) =>
  Effect.tryPromise({
    try: () => stat(binary),
    catch: () => unavailable(`it is not installed at ${binary}`)
  }).pipe(Effect.map((found) => `${found.dev}:${found.ino}:${found.mtimeMs}:${found.size}`))

const versionOf = (settings: CodexSettings, codexHome: string) =>
  Effect.gen(function*() {
    const process = yield* spawn({
      command: settings.binary,
      args: ["--version"],
      cwd: codexHome,
      env: environmentOf(settings, codexHome),
      marker: runMarker(yield* Effect.sync(() => randomUUID())),
      grace,
      stopBy: "signal"
    }).pipe(Effect.mapError((error) => unavailable(error.message)))
    const output = yield* process.stdout.pipe(
      Stream.mapConcat((bytes) => bytes),
      Stream.take(maxOutputBytes),
      Stream.runCollect
    )
    return /^codex-cli (\S+)$/mu.exec(Buffer.from(Chunk.toReadonlyArray(output)).toString("utf8"))?.[1] ?? null
  }).pipe(
    Effect.scoped,
    Effect.timeoutFail({ duration: deadline, onTimeout: () => unavailable("it does not tell its version") })
  )

/** The check of the version, which must come before a home is given to the program: asked once for the same file. */
export const makeVersionCheck = (
  settings: CodexSettings
): Effect.Effect<(codexHome: string) => Effect.Effect<void, EngineUnavailable>> =>
  Effect.gen(function*() {
    const verified = yield* Ref.make<string | null>(null)
    const one = yield* Effect.makeSemaphore(1)
    return (codexHome) =>
      Effect.gen(function*() {
        const identity = yield* identityOf(settings.binary)
        if ((yield* Ref.get(verified)) === identity) return
        const version = yield* versionOf(settings, codexHome)
        if (version === null) return yield* unavailable(`${settings.binary} is not the program that was expected`)
        yield* checkVersion("codex", version)
        yield* Ref.set(verified, identity)
      }).pipe(one.withPermits(1))
  })
