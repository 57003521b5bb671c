// Removes what no promise needs any more: old decisions that are not open, old messages that were sent, old enrollment
// requests that came to nothing. Hourly, in small bites. Nobody calls it.
import { Clock, Duration, Effect, Layer } from "effect"
import { CrossfireDb, type StoreFailed } from "../../services/Database.ts"
import { Decisions } from "../../services/store/Decisions.ts"
import { OutboundMessages } from "../../services/store/OutboundMessages.ts"
import * as EnrollmentRows from "./enrollment/EnrollmentRows.ts"

const keptDays = 30
const rowsAtOnce = 1_000
const periodHours = 1

export const make = Effect.gen(function*() {
  const decisions = yield* Decisions
  const messages = yield* OutboundMessages
  const database = yield* CrossfireDb
  const requests = EnrollmentRows.make(database)

  const expired = (remove: (beforeMillis: number, limit: number) => Effect.Effect<number, StoreFailed>) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (now) =>
        remove(now - Duration.toMillis(Duration.days(keptDays)), rowsAtOnce).pipe(
          // Others use the database in between.
          Effect.tap(Effect.yieldNow()),
          Effect.repeat({ while: (removed) => removed === rowsAtOnce })
        )
    )

  yield* Effect.all([
    expired(decisions.expire),
    expired(messages.expire),
    expired((beforeMillis, limit) => database.transaction(requests.expire(beforeMillis, limit)))
  ], { discard: true }).pipe(
    Effect.catchAll((failed) =>
      Effect.annotateLogs(Effect.logWarning("old rows could not be removed"), { reason: failed.reason })
    ),
    Effect.delay(Duration.hours(periodHours)),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
