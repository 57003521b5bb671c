// Removes sessions that ended by themselves, within a minute, and ends the streams that are still open under them. Nobody
// calls it.
import { Clock, Duration, Effect, Layer } from "effect"
import { CrossfireDb } from "../../../services/Database.ts"
import * as EndedSessions from "./EndedSessions.ts"
import * as SessionRows from "./SessionRows.ts"

const minWaitMillis = 60_000
/** Whatever is computed: the wall clock may be turned meanwhile. */
const maxWaitMillis = 60 * 60 * 1000
const maxRowsAtOnce = 1_000

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const rows = SessionRows.make(database)
  const tell = yield* EndedSessions.make

  const remove = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.uninterruptible(
      Effect.tap(database.transaction(rows.endOver(now, maxRowsAtOnce)), tell)
    ))

  /** A session that begins during the wait ends later than what was waited for. */
  const wait = Effect.gen(function*() {
    const next = yield* database.read(rows.nextOver)
    const millis = (next ?? Number.POSITIVE_INFINITY) - (yield* Clock.currentTimeMillis)
    return Math.min(Math.max(millis, minWaitMillis), maxWaitMillis)
  }).pipe(Effect.orElseSucceed(() => minWaitMillis))

  yield* wait.pipe(
    Effect.flatMap((millis) => Effect.sleep(Duration.millis(millis))),
    Effect.zipRight(
      // Others use the database in between.
      Effect.repeat(Effect.tap(remove, Effect.yieldNow()), { while: (ended) => ended.length === maxRowsAtOnce })
    ),
    Effect.catchAll((failed) =>
      Effect.annotateLogs(Effect.logWarning("ended sessions could not be removed"), { reason: failed.reason })
    ),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
