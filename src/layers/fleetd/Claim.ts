// `Claim` as `claim.json` in the root folder: readable by its owner alone, written beside and put in place whole.
import { Effect, Layer, Option, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, link, open, readdir, rename, stat, unlink } from "node:fs/promises"
import { join } from "node:path"
import { Claim, ClaimMaterial, ClaimUnusable } from "../../services/Claim.ts"

const fileName = "claim.json"
const maxFileBytes = 4 * 1024 * 1024
/** A written-beside file older than this was left by a crash. */
const leftoverAfterMillis = 3_600_000

const ClaimText = Schema.parseJson(ClaimMaterial)
const encode = Schema.encode(ClaimText)
const decode = Schema.decode(ClaimText)

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "an unknown error"

export const make = (rootFolder: string): typeof Claim.Service => {
  const path = join(rootFolder, fileName)
  const unusable = (problem: ClaimUnusable["problem"], code: string | null = null) =>
    new ClaimUnusable({ path, problem, code })
  const attempt = <A>(problem: ClaimUnusable["problem"], run: () => Promise<A>) =>
    Effect.tryPromise({ try: run, catch: (cause) => unusable(problem, codeOf(cause)) })

  const opened = (file: string, flags: number) =>
    Effect.acquireRelease(
      attempt("unreadable", () => open(file, flags)),
      (handle: FileHandle) => Effect.promise(() => handle.close())
    )

  const readWhole = Effect.gen(function*() {
    // Never through a link: what is read is the file that stands here.
    const handle = yield* opened(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    const found = yield* attempt("unreadable", () => handle.stat())
    if (!found.isFile() || found.size > maxFileBytes) return yield* unusable("not-a-file")
    if ((found.mode & 0o077) !== 0 || found.uid !== process.getuid?.()) return yield* unusable("not-private")
    const text = yield* attempt("unreadable", () => handle.readFile("utf8"))
    // The reason would repeat what stands in the file.
    return yield* Effect.mapError(decode(text), () => unusable("malformed"))
  }).pipe(Effect.scoped)

  const load = Effect.matchEffect(readWhole, {
    onFailure: (error) => {
      if (error.code === "ENOENT") return Effect.succeedNone
      return Effect.fail(error.code === "ELOOP" ? unusable("not-a-file") : error)
    },
    onSuccess: Effect.succeedSome
  })

  const syncFolder = Effect.scoped(
    Effect.flatMap(opened(rootFolder, constants.O_RDONLY), (handle) => attempt("not-saved", () => handle.sync()))
  )

  const removeLeftovers = (nowMillis: number) =>
    Effect.ignore(attempt("not-saved", async () => {
      for (const name of await readdir(rootFolder)) {
        const file = join(rootFolder, name)
        if (!name.startsWith(`${fileName}.`)) continue
        if ((await stat(file)).mtimeMs < nowMillis - leftoverAfterMillis) await unlink(file)
      }
    }))

  /** The whole file beside, synced; gone at the end unless it was put in place. */
  const beside = (material: ClaimMaterial) =>
    Effect.gen(function*() {
      const text = yield* Effect.mapError(encode(material), () => unusable("malformed"))
      yield* Effect.flatMap(Effect.clock, (clock) => Effect.flatMap(clock.currentTimeMillis, removeLeftovers))
      const temporary = `${path}.${yield* Effect.sync(() => randomUUID())}`
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.tryPromise(() => unlink(temporary))))
      yield* attempt("not-saved", async () => {
        const handle = await open(temporary, "wx", 0o600)
        try {
          await handle.writeFile(text, "utf8")
          await handle.sync()
        } finally {
          await handle.close()
        }
      })
      return temporary
    })

  return Claim.of({
    load,
    saveFirst: (material) =>
      Effect.gen(function*() {
        const temporary = yield* beside(material)
        // A link is made only where nothing stands: of two, one fails and reads the other's.
        yield* Effect.catchIf(
          attempt("not-saved", () => link(temporary, path)),
          (error) => error.code === "EEXIST",
          () => Effect.void
        )
        yield* syncFolder
        return Option.getOrElse(yield* load, () => material)
      }).pipe(Effect.scoped, Effect.uninterruptible),
    replace: (material) =>
      Effect.gen(function*() {
        const temporary = yield* beside(material)
        yield* attempt("not-saved", () => rename(temporary, path))
        yield* syncFolder
      }).pipe(Effect.scoped, Effect.uninterruptible)
  })
}

/** `rootFolder` exists and is private; its owner sees to that. */
export const layer = (rootFolder: string): Layer.Layer<Claim> => Layer.succeed(Claim, make(rootFolder))
