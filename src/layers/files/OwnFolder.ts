// Whether a folder is this user's own and closed to everybody else. It looks only; what to say about it is the caller's.
import { Effect, Schema } from "effect"
import { lstat, realpath, stat } from "node:fs/promises"
import { systemCode } from "./SystemCode.ts"

export const FolderProblem = Schema.Literal(
  "missing",
  "broken-link",
  "not-a-folder",
  "foreign",
  "not-private",
  "unreadable"
)
export type FolderProblem = typeof FolderProblem.Type

const isLink = (path: string) => Effect.promise(() => lstat(path).then((found) => found.isSymbolicLink(), () => false))

const problemOf = (code: string | null, link: boolean): FolderProblem => {
  if (link && (code === "ENOENT" || code === "ELOOP")) return "broken-link"
  if (code === "ENOENT") return "missing"
  return code === "ENOTDIR" ? "not-a-folder" : "unreadable"
}

/** The folder's real path, after the checks. A link is followed: what it leads to must be this user's own all the same. */
export const checked = (path: string): Effect.Effect<string, FolderProblem> =>
  Effect.gen(function*() {
    const [real, found] = yield* Effect.tryPromise({
      try: async () => {
        const real = await realpath(path)
        return [real, await stat(real)] as const
      },
      catch: (cause) => systemCode(cause)
    }).pipe(
      Effect.catchAll((code) => Effect.flatMap(isLink(path), (link) => Effect.fail(problemOf(code, link))))
    )
    if (!found.isDirectory()) return yield* Effect.fail("not-a-folder" as const)
    if (found.uid !== process.getuid?.()) return yield* Effect.fail("foreign" as const)
    if ((found.mode & 0o077) !== 0) return yield* Effect.fail("not-private" as const)
    return real
  })
