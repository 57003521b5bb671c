// Whether a Unix socket is this user's own, closed to everybody else, and served. Looked at before a word is said to it: who
// listens there may be anybody.
import { Duration, Effect } from "effect"
import { lstat } from "node:fs/promises"
import { createConnection } from "node:net"
import { systemCode } from "./SystemCode.ts"

/** `absent`: there is none. `stale`: whoever listened was killed. */
export type SocketProblem = "absent" | "stale" | "not-a-socket" | "foreign" | "not-private" | "unreachable"

const connectDeadline = Duration.seconds(5)

/** Whether someone listens. A connection that is only opened and closed asks for nothing. */
const probe = (path: string) =>
  Effect.async<void, SocketProblem>((resume) => {
    const connection = createConnection({ path })
    connection.once("connect", () => {
      connection.destroy()
      resume(Effect.void)
    })
    connection.once("error", (cause) => {
      const code = systemCode(cause)
      resume(Effect.fail(code === "ECONNREFUSED" ? "stale" : code === "ENOENT" ? "absent" : "unreachable"))
    })
    return Effect.sync(() => connection.destroy())
  }).pipe(Effect.timeoutFail({ duration: connectDeadline, onTimeout: (): SocketProblem => "unreachable" }))

export const checked = (path: string): Effect.Effect<void, SocketProblem> =>
  Effect.gen(function*() {
    const found = yield* Effect.tryPromise({
      try: () => lstat(path),
      catch: (cause): SocketProblem => systemCode(cause) === "ENOENT" ? "absent" : "unreachable"
    })
    if (!found.isSocket()) return yield* Effect.fail("not-a-socket" as const)
    if (found.uid !== process.getuid?.()) return yield* Effect.fail("foreign" as const)
    if ((found.mode & 0o077) !== 0) return yield* Effect.fail("not-private" as const)
    yield* probe(path)
  })
