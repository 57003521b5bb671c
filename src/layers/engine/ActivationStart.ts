// What every activation's start has in common, whichever engine: its version, its work folder, and that nothing of a start
// that failed is left. How an engine is started is its adapter's.
import { Effect, Exit, Scope } from "effect"
import { realpath } from "node:fs/promises"
import { type EngineKind, supportedVersions } from "../../domain/Engine.ts"
import { EngineUnavailable } from "../../services/NativeEngine.ts"

/** Refuses by name a version that was not verified. */
export const checkVersion = (engine: EngineKind, version: string): Effect.Effect<void, EngineUnavailable> => {
  if (supportedVersions[engine].includes(version)) return Effect.void
  const supported = supportedVersions[engine].join(", ")
  return new EngineUnavailable({ engine, reason: `version ${version} is installed, and ${supported} is supported` })
}

/** The folder's real path: engines compare it with their own idea of the folder. */
export const workFolder = (engine: EngineKind, path: string): Effect.Effect<string, EngineUnavailable> =>
  Effect.tryPromise({
    try: () => realpath(path),
    catch: () => new EngineUnavailable({ engine, reason: `its work folder does not exist: ${path}` })
  })

/** What `start` holds is let go of at once where it fails, and otherwise when the caller's scope closes. */
export const holding = <A, E, R>(start: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const outer = yield* Effect.scope
      const inner = yield* Scope.fork(outer, outer.strategy)
      return yield* restore(Scope.extend(start, inner)).pipe(
        Effect.onError((cause) => Scope.close(inner, Exit.failCause(cause)))
      )
    })
  )
