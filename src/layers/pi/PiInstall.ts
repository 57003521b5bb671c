// The installed Pi: where its program and our extension lie, and whether its version is one that was verified.
import { Effect, Either, Ref, Schema } from "effect"
import { readFile, realpath, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { EngineUnavailable } from "../../services/NativeEngine.ts"
import { checkVersion } from "../engine/ActivationStart.ts"

export const unavailable = (reason: string) => new EngineUnavailable({ engine: "pi", reason })

/** Run by Pi itself. A bundled release keeps the file beside the bundle under the same relative path. */
export const extensionPath = fileURLToPath(new URL("./extension/fleet.ts", import.meta.url))

const decodeManifest = Schema.decodeUnknownEither(
  Schema.parseJson(Schema.Struct({ name: Schema.String, version: Schema.String }))
)

const packageName = "@earendil-works/pi-coding-agent"
/** How many folders up from the program its manifest may lie. */
const maxFoldersUp = 5

const manifestOf = (cliPath: string) =>
  Effect.gen(function*() {
    const notFound = unavailable(`it is not installed at ${cliPath}`)
    let folder = yield* Effect.tryPromise({ try: () => realpath(cliPath), catch: () => notFound })
    for (let up = 0; up < maxFoldersUp; up++) {
      folder = dirname(folder)
      const path = join(folder, "package.json")
      const text = yield* Effect.orElseSucceed(Effect.tryPromise(() => readFile(path, "utf8")), () => "")
      const manifest = decodeManifest(text)
      if (Either.isRight(manifest) && manifest.right.name === packageName) {
        return { path, version: manifest.right.version }
      }
    }
    return yield* notFound
  })

const signatureOf = (path: string) =>
  Effect.tryPromise(() => stat(path)).pipe(
    Effect.map((found) => `${found.mtimeMs}:${found.size}`),
    Effect.orElseSucceed(() => null)
  )

/** Fails for a version that was not verified. Read once, and again only when its manifest changed. */
export const makeVersionCheck = (cliPath: string) =>
  Effect.map(
    Ref.make<{ readonly path: string; readonly signature: string } | null>(null),
    (cache) =>
      Effect.gen(function*() {
        const cached = yield* Ref.get(cache)
        if (cached !== null && (yield* signatureOf(cached.path)) === cached.signature) return
        yield* Ref.set(cache, null)
        const { path, version } = yield* manifestOf(cliPath)
        yield* checkVersion("pi", version)
        const signature = yield* signatureOf(path)
        if (signature !== null) yield* Ref.set(cache, { path, signature })
      })
  )
