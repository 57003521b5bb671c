// Files that only their owner can read (0600, in folders of 0700), written beside and put in place in one step: another
// process sees the old one or the new one and never a part, and so does the next start after a power cut.
import { Clock, Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { chmod, link, mkdir, open, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { attempt, type FileFailed, syncFolderNow } from "./FileCall.ts"
import { systemCode } from "./SystemCode.ts"

/** A file written beside that is older than this was left by a crash, whoever wrote it. */
const leftoverAfterMillis = 3_600_000
const temporarySuffix = ".tmp"

/** Names of files that are written beside; one that stands there at a start is not whole. */
export const isTemporary = (name: string): boolean => name.startsWith(".") && name.endsWith(temporarySuffix)

/** What is missing of the folder and its parents is made, private and durable; what is there stays as it is. */
const makeFolder = async (path: string) => {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    // A umask takes from the mode as well.
    await chmod(made, 0o700)
    await syncFolderNow(dirname(made))
  }
}

export const folder = (path: string): Effect.Effect<void, FileFailed> => attempt(path, () => makeFolder(path))

/** The same, and a folder that was there already becomes private. */
export const privateFolder = (path: string): Effect.Effect<void, FileFailed> =>
  attempt(path, async () => {
    await makeFolder(path)
    await chmod(path, 0o700)
  })

/** Whatever `make` puts beside goes into place by `place`, or nothing of it stays. */
const inPlace = (
  path: string,
  make: (temporary: string) => Promise<void>,
  place: (temporary: string) => Promise<void>
): Effect.Effect<void, FileFailed> =>
  Effect.gen(function*() {
    const id = yield* Effect.sync(() => randomUUID())
    const temporary = join(dirname(path), `.${basename(path)}.${id}${temporarySuffix}`)
    yield* attempt(path, async () => {
      try {
        await make(temporary)
        await place(temporary)
      } finally {
        await rm(temporary, { force: true })
      }
      await syncFolderNow(dirname(path))
    })
  }).pipe(Effect.uninterruptible)

const writeBeside = (contents: string | Uint8Array) => async (temporary: string) => {
  const file = await open(temporary, "wx", 0o600)
  try {
    await file.writeFile(contents)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Whole, private and on disk when it returns, in the place of whatever stood there. */
export const write = (path: string, contents: string | Uint8Array): Effect.Effect<void, FileFailed> =>
  inPlace(path, writeBeside(contents), (temporary) => rename(temporary, path))

/** `write` where nothing stands there yet; of several at once one writes. What stands there already stays. */
export const writeFirst = (path: string, contents: string | Uint8Array): Effect.Effect<void, FileFailed> =>
  inPlace(path, writeBeside(contents), (temporary) =>
    // Unlike a rename, a link is made only where nothing stands.
    link(temporary, path).catch((cause: unknown) => {
      if (systemCode(cause) !== "EEXIST") throw cause
    }))

/** `write` unless these are its contents already, so that nothing is touched where nothing changed. */
export const writeChanged = (path: string, contents: string): Effect.Effect<void, FileFailed> =>
  Effect.gen(function*() {
    const present = yield* Effect.option(Effect.tryPromise(() => readFile(path, "utf8")))
    if (!Option.contains(present, contents)) yield* write(path, contents)
  })

/** A symbolic link to `target` in the place of whatever stood there. */
export const writeLink = (path: string, target: string): Effect.Effect<void, FileFailed> =>
  inPlace(path, (temporary) => symlink(target, temporary), (temporary) => rename(temporary, path))

/** Removes what crashes left beside this file and is old enough to be nobody's any more. */
export const removeLeftovers = (path: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
    Effect.ignore(attempt(path, async () => {
      for (const name of await readdir(dirname(path))) {
        if (!name.startsWith(`.${basename(path)}.`) || !isTemporary(name)) continue
        const leftover = join(dirname(path), name)
        if ((await stat(leftover)).mtimeMs < nowMillis - leftoverAfterMillis) await rm(leftover, { force: true })
      }
    })))
