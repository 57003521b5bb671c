// Removes sessions that ended by themselves, every minute, and ends the streams that are still open under them. Nobody
// calls it.
import { Clock, Duration, Effect, Layer } from "effect"
import { CrossfireDb } from "../../../services/Database.ts"
import * as EndedSessions from "./EndedSessions.ts"
import * as SessionRows from "./SessionRows.ts"

const periodMillis = 60_000
const maxRowsAtOnce = 1_000

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const rows = SessionRows.make(database)
  const tell = yield* EndedSessions.make

  const remove = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.uninterruptible(
      Effect.tap(database.transaction(rows.endOver(now, maxRowsAtOnce)), tell)
    ))

  yield* remove.pipe(
    Effect.tap(Effect.yieldNow()),
    Effect.repeat({ while: (ended) => ended.length === maxRowsAtOnce }),
    Effect.catchAll((failed) =>
      Effect.annotateLogs(Effect.logWarning("ended sessions could not be removed"), { reason: failed.reason })
    ),
    Effect.delay(Duration.millis(periodMillis)),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
