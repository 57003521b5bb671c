// Finds and ends what a run left behind: every process whose environment carries the run's marker.
// Tool shells of both engines leave their process group, and children survive `kill -9` of their engine (seen).
import { Effect } from "effect"
import { readdir, readFile } from "node:fs/promises"

/** Rounds of looking and killing: a process may fork between the two. */
const maxRounds = 10

const carriesMarker = (pid: string, marker: string) =>
  Effect.tryPromise(() => readFile(`/proc/${pid}/environ`, "latin1")).pipe(
    Effect.map((environment) => environment.split("\0").includes(marker)),
    // Gone meanwhile, or another user's process: not ours either way.
    Effect.orElseSucceed(() => false)
  )

const isZombie = (pid: string) =>
  Effect.tryPromise(() => readFile(`/proc/${pid}/stat`, "latin1")).pipe(
    Effect.map((stat) => stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z")),
    Effect.orElseSucceed(() => true)
  )

/** The live processes (process IDs) that carry the marker, this process excluded. */
export const findMarked = ([name, value]: readonly [name: string, value: string]) =>
  Effect.gen(function*() {
    const entries = yield* Effect.tryPromise(() => readdir("/proc")).pipe(
      Effect.orElseSucceed(() => [] as Array<string>)
    )
    const pids = entries.filter((entry) => /^\d+$/u.test(entry) && Number(entry) !== process.pid)
    const marked = yield* Effect.filter(pids, (pid) => carriesMarker(pid, `${name}=${value}`), { concurrency: 16 })
    const live = yield* Effect.filter(marked, (pid) => isZombie(pid).pipe(Effect.map((zombie) => !zombie)))
    return live.map(Number)
  })

/** Kills what carries the marker. Returns the process IDs that could not be ended (empty: the run is over for sure). */
export const sweepMarked = (marker: readonly [name: string, value: string]) =>
  Effect.gen(function*() {
    let left = yield* findMarked(marker)
    for (let round = 0; left.length > 0 && round < maxRounds; round++) {
      // One that ended by itself meanwhile is what was wanted.
      yield* Effect.forEach(left, (pid) => Effect.ignore(Effect.try(() => process.kill(pid, "SIGKILL"))))
      yield* Effect.sleep("50 millis")
      left = yield* findMarked(marker)
    }
    return left
  })
