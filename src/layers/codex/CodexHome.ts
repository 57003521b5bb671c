// An agent's private CODEX_HOME: its settings, standing instructions and the link to the host's login, made anew at every
// activation. It owns no history: what Codex keeps in this folder is Codex's.
import { Effect, Option, Predicate } from "effect"
import { randomUUID } from "node:crypto"
import { chmod, lstat, mkdir, readFile, readlink, rename, rm, stat, symlink, unlink, writeFile } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { EngineUnavailable } from "../../services/NativeEngine.ts"
import { type CodexSettings, configToml, instructionsFile } from "./CodexSettings.ts"

export const unavailable = (reason: string) => new EngineUnavailable({ engine: "codex", reason })

const attempt = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => {
      const code = Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : "unknown error"
      return unavailable(`${what} failed: ${code}`)
    }
  })

/** Puts what `make` writes in the place of `path` in one step: a running process of this agent never sees half of it. */
const replace = (path: string, make: (temporary: string) => Promise<void>) =>
  attempt(`writing ${path}`, async () => {
    const temporary = `${path}.${randomUUID()}`
    try {
      await make(temporary)
      await rename(temporary, path)
    } catch (cause) {
      await rm(temporary, { force: true })
      throw cause
    }
  })

const writePrivately = (path: string, content: string) =>
  Effect.gen(function*() {
    const present = yield* Effect.option(Effect.tryPromise(() => readFile(path, "utf8")))
    if (Option.contains(present, content)) return
    yield* replace(path, (temporary) => writeFile(temporary, content, { mode: 0o600 }))
  })

const privateFolder = (path: string) =>
  attempt(`making ${path}`, async () => {
    await mkdir(path, { recursive: true, mode: 0o700 })
    await chmod(path, 0o700)
  })

/** Codex reads and refreshes the login through the link, so the host and all agents share one that stays valid. */
const linkLogin = (codexHome: string, hostLogin: string | null) =>
  Effect.gen(function*() {
    const link = join(codexHome, "auth.json")
    if (hostLogin === null) {
      const present = yield* Effect.option(Effect.tryPromise(() => lstat(link)))
      // What an earlier activation linked is not authorized any more. A file of the agent's own stays.
      if (Option.exists(present, (found) => found.isSymbolicLink())) {
        yield* attempt(`removing ${link}`, () => unlink(link))
      }
      return
    }
    if (!isAbsolute(hostLogin)) return yield* unavailable(`the path of the login is not absolute: ${hostLogin}`)
    const target = yield* Effect.option(Effect.tryPromise(() => stat(hostLogin)))
    if (!Option.exists(target, (found) => found.isFile())) {
      return yield* unavailable(
        `there is no login at ${hostLogin}. Run \`codex login\` on this machine; one kept in a keyring cannot be shared`
      )
    }
    const present = yield* Effect.option(Effect.tryPromise(() => readlink(link)))
    if (Option.contains(present, hostLogin)) return
    yield* replace(link, (temporary) => symlink(hostLogin, temporary))
  })

/** Makes the folder of this agent's Codex under its private home; returns its path. */
export const prepare = (settings: CodexSettings, home: string) =>
  Effect.gen(function*() {
    const codexHome = join(home, "codex")
    yield* privateFolder(home)
    yield* privateFolder(codexHome)
    yield* writePrivately(join(codexHome, "config.toml"), configToml(settings))
    yield* linkLogin(codexHome, settings.hostLogin)
    return codexHome
  })

/** All contexts of an agent share its instructions, so one file serves them. */
export const writeInstructions = (settings: CodexSettings, codexHome: string, instructions: string) =>
  writePrivately(join(codexHome, "AGENTS.md"), instructionsFile(settings, instructions))
