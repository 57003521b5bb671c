// An agent's private folder for Pi: the link to the host's login, provider settings and standing instructions.
// It owns no session file, and copies no login: a copied one would be used up by the first refresh.
import { Effect } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { chmod, lstat, mkdir, readFile, readlink, rename, stat, symlink, unlink, writeFile } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import type { ContextKey } from "../../domain/Ids.ts"
import { fileFailed } from "./FileLines.ts"
import { unavailable } from "./PiInstall.ts"

export interface PiHome {
  /** `PI_CODING_AGENT_DIR`. */
  readonly folder: string
  readonly sessionFolder: string
}

const attempt = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: fileFailed }).pipe(
    Effect.mapError((error) => unavailable(`${what} failed: the system says ${error.code}`))
  )

/** Writes beside the target and renames over it: another process of this agent sees the old or the new, never a part. */
const replace = (path: string, make: (temporary: string) => Promise<void>) =>
  attempt(`writing ${path}`, async () => {
    const temporary = `${path}.${randomUUID()}`
    try {
      await make(temporary)
      await rename(temporary, path)
    } catch (cause) {
      await unlink(temporary).catch(() => undefined)
      throw cause
    }
  })

const writePrivately = (path: string, contents: string) =>
  Effect.gen(function*() {
    const present = yield* Effect.option(Effect.tryPromise(() => readFile(path, "utf8")))
    if (present._tag === "Some" && present.value === contents) return
    yield* replace(path, (temporary) => writeFile(temporary, contents, { mode: 0o600 }))
  })

/** Pi creates the target of a dangling link, in the host's folder: so the target is looked at first. */
const linkLogin = (folder: string, loginFile: string | null) =>
  Effect.gen(function*() {
    const link = join(folder, "auth.json")
    if (loginFile === null) {
      const present = yield* Effect.option(Effect.tryPromise(() => lstat(link)))
      // What an earlier activation linked is no longer authorized. Pi's own file stays.
      if (present._tag === "Some" && present.value.isSymbolicLink()) {
        yield* attempt(`removing ${link}`, () => unlink(link))
      }
      return
    }
    if (!isAbsolute(loginFile)) return yield* unavailable(`the path of the login file is not absolute: ${loginFile}`)
    const target = yield* Effect.option(Effect.tryPromise(() => stat(loginFile)))
    if (target._tag === "None" || !target.value.isFile()) {
      return yield* unavailable(`there is no login at ${loginFile}. Log in with \`pi auth login\` on this machine`)
    }
    const present = yield* Effect.option(Effect.tryPromise(() => readlink(link)))
    if (present._tag === "Some" && present.value === loginFile) return
    yield* replace(link, (temporary) => symlink(loginFile, temporary))
  })

/** Makes the folder (0700) and what Pi reads from it. */
export const prepare = (
  home: string,
  config: { readonly loginFile: string | null; readonly modelsFile: string | null }
) =>
  Effect.gen(function*() {
    const folder = join(home, "pi")
    yield* attempt(`making ${folder}`, async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
    })
    yield* linkLogin(folder, config.loginFile)
    if (config.modelsFile !== null) yield* writePrivately(join(folder, "models.json"), config.modelsFile)
    return { folder, sessionFolder: join(folder, "sessions") } satisfies PiHome
  })

/**
 * The standing instructions as a file, since an argument is limited to 128 KiB and shows in the process list.
 * One file per context: contexts of one agent run beside each other. `null` where there are none.
 */
export const writeInstructions = (home: PiHome, context: ContextKey, instructions: string) =>
  Effect.gen(function*() {
    if (instructions.trim() === "") return null
    const name = createHash("sha256").update(context).digest("hex").slice(0, 16)
    const path = join(home.folder, `instructions-${name}.md`)
    yield* writePrivately(path, instructions)
    return path
  })

/** Equal wherever Pi reads the same login, provider settings and settings, which decide what it offers. A hash. */
export const offersSignature = (home: PiHome) =>
  Effect.forEach(["models.json", "auth.json", "settings.json"], (name) =>
    // Pi's first start writes an empty object where nothing was.
    Effect.orElseSucceed(Effect.tryPromise(() => readFile(join(home.folder, name), "utf8")), () => "{}")).pipe(
      Effect.map((contents) => createHash("sha256").update(contents.join("\0")).digest("hex"))
    )
