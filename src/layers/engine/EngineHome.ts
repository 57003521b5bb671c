// An engine's private folder in its agent's home: made, its files written, the host's login linked. It knows no engine's
// formats and owns no history: what an engine keeps in there is the engine's.
import { Effect, Option } from "effect"
import { lstat, readlink, rm, stat } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import type { EngineKind } from "../../domain/Engine.ts"
import { EngineUnavailable } from "../../services/NativeEngine.ts"
import { attempt, type FileFailed } from "../files/FileCall.ts"
import * as PrivateFile from "../files/PrivateFile.ts"

/** How the host gets a login that can be shared. */
const advice: Record<EngineKind, string> = {
  codex: "Run `codex login` on this machine; one kept in a keyring cannot be shared",
  pi: "Log in with `pi auth login` on this machine"
}

const failed = (engine: EngineKind, what: string) => ({ path, reason }: FileFailed) =>
  new EngineUnavailable({ engine, reason: `${what} ${path} failed: ${reason}` })

/** The folder of this engine below `home`, which becomes private with it; its path. */
export const make = (engine: EngineKind, home: string): Effect.Effect<string, EngineUnavailable> =>
  Effect.gen(function*() {
    const folder = join(home, engine)
    yield* PrivateFile.privateFolder(home)
    yield* PrivateFile.privateFolder(folder)
    return folder
  }).pipe(Effect.mapError(failed(engine, "making")))

/** Touches nothing where these are the file's contents already: a process of the same agent may be reading it. */
export const write = (engine: EngineKind, path: string, contents: string): Effect.Effect<void, EngineUnavailable> =>
  PrivateFile.removeLeftovers(path).pipe(
    Effect.zipRight(PrivateFile.writeChanged(path, contents)),
    Effect.mapError(failed(engine, "writing"))
  )

/**
 * Links the host's login (an absolute path) as `auth.json`, so that the host and all agents share one that stays valid: a
 * copy would be used up by the first refresh. The target is looked at first, since an engine makes what a dangling link
 * names. `null`: no login is authorized, and an earlier link goes; a file of the agent's own stays.
 */
export const linkLogin = (
  engine: EngineKind,
  folder: string,
  hostLogin: string | null
): Effect.Effect<void, EngineUnavailable> =>
  Effect.gen(function*() {
    const link = join(folder, "auth.json")
    if (hostLogin === null) {
      const present = yield* Effect.option(Effect.tryPromise(() => lstat(link)))
      if (!Option.exists(present, (found) => found.isSymbolicLink())) return
      return yield* Effect.mapError(attempt(link, () => rm(link)), failed(engine, "removing"))
    }
    const refuse = (reason: string) => new EngineUnavailable({ engine, reason })
    if (!isAbsolute(hostLogin)) return yield* refuse(`the path of the login is not absolute: ${hostLogin}`)
    const target = yield* Effect.option(Effect.tryPromise(() => stat(hostLogin)))
    if (!Option.exists(target, (found) => found.isFile())) {
      return yield* refuse(`there is no login at ${hostLogin}. ${advice[engine]}`)
    }
    const present = yield* Effect.option(Effect.tryPromise(() => readlink(link)))
    if (Option.contains(present, hostLogin)) return
    yield* Effect.mapError(PrivateFile.writeLink(link, hostLogin), failed(engine, "linking"))
  })
