// Takes the messages of links back that ran out unused, at the start too, and removes old rows. Nobody calls it.
import { Clock, Duration, Effect, Layer } from "effect"
import { botUser } from "../../../domain/SystemUsers.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Instance } from "../../../services/Instance.ts"
import { Outbound } from "../../../services/Outbound.ts"
import * as SignInRows from "./SignInRows.ts"

const periodMillis = 30_000
const maxRowsAtOnce = 100
/** For counting what was asked, and for whoever looks into it. */
const keptMillis = 24 * 60 * 60 * 1000

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const outbound = yield* Outbound
  const rows = SignInRows.make(database)
  const bot = botUser((yield* Instance).serverName)

  const takeBack = database.transaction(Effect.gen(function*() {
    const over = yield* rows.toTakeBack({ nowMillis: yield* Clock.currentTimeMillis, maxRows: maxRowsAtOnce })
    for (const { operationId, signInId } of over) {
      yield* outbound.retract(bot, operationId)
      yield* rows.takenBack(signInId)
    }
    return over.length
  }))

  const remove = Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => database.transaction(rows.remove(now - keptMillis, maxRowsAtOnce))
  )

  const whole = <E>(some: Effect.Effect<number, E>) =>
    some.pipe(
      // Others use the database in between.
      Effect.tap(Effect.yieldNow()),
      Effect.repeat({ while: (count) => count === maxRowsAtOnce })
    )

  yield* Effect.zipRight(whole(takeBack), whole(remove)).pipe(
    Effect.catchAll((failed) =>
      Effect.annotateLogs(Effect.logWarning("old sign-in links could not be taken back"), { reason: failed.reason })
    ),
    Effect.zipRight(Effect.sleep(Duration.millis(periodMillis))),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
