// `Claim` as `claim.json` in the root folder: readable by its owner alone, written beside and put in place whole.
import { Effect, Layer, Option, Schema } from "effect"
import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { join } from "node:path"
import { Claim, ClaimMaterial, ClaimUnusable } from "../../services/Claim.ts"
import type { FileFailed } from "../files/FileCall.ts"
import * as PrivateFile from "../files/PrivateFile.ts"
import { systemCode } from "../files/SystemCode.ts"

const fileName = "claim.json"
const maxFileBytes = 4 * 1024 * 1024

const ClaimText = Schema.parseJson(ClaimMaterial)
const encode = Schema.encode(ClaimText)
const decode = Schema.decode(ClaimText)

export const make = (rootFolder: string): typeof Claim.Service => {
  const path = join(rootFolder, fileName)
  const unusable = (problem: ClaimUnusable["problem"], code: string | null = null) =>
    new ClaimUnusable({ path, problem, code })
  const reading = <A>(run: () => Promise<A>) =>
    Effect.tryPromise({ try: run, catch: (cause) => unusable("unreadable", systemCode(cause)) })

  const readWhole = Effect.gen(function*() {
    const handle = yield* Effect.acquireRelease(
      // Never through a link: what is read is the file that stands here.
      reading(() => open(path, constants.O_RDONLY | constants.O_NOFOLLOW)),
      (opened: FileHandle) => Effect.promise(() => opened.close())
    )
    const found = yield* reading(() => handle.stat())
    if (!found.isFile() || found.size > maxFileBytes) return yield* unusable("not-a-file")
    if ((found.mode & 0o077) !== 0 || found.uid !== process.getuid?.()) return yield* unusable("not-private")
    const text = yield* reading(() => handle.readFile("utf8"))
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

  const save = (material: ClaimMaterial, write: (text: string) => Effect.Effect<void, FileFailed>) =>
    Effect.gen(function*() {
      const text = yield* Effect.mapError(encode(material), () => unusable("malformed"))
      yield* PrivateFile.removeLeftovers(path)
      yield* Effect.mapError(write(text), ({ code }) => unusable("not-saved", code))
    })

  return Claim.of({
    load,
    // Of two that save at once, one fails to and reads the other's.
    saveFirst: (material) =>
      save(material, (text) => PrivateFile.writeFirst(path, text)).pipe(
        Effect.zipRight(load),
        Effect.map(Option.getOrElse(() => material)),
        Effect.uninterruptible
      ),
    replace: (material) => Effect.uninterruptible(save(material, (text) => PrivateFile.write(path, text)))
  })
}

/** `rootFolder` exists and is private; its owner sees to that. */
export const layer = (rootFolder: string): Layer.Layer<Claim> => Layer.succeed(Claim, make(rootFolder))
