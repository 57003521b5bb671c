// Finds out that a person's account on the homeserver was deactivated, and says so to `People`. Nobody calls it: the
// homeserver tells nobody of it, so it is asked.
import { Duration, Effect, Layer, Schema } from "effect"
import { UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { People } from "../../../services/People.ts"

const periodMillis = 2 * 60_000
const lookConcurrency = 4

const decodePeople = Schema.decodeUnknown(Schema.Array(Schema.Struct({ user_id: UserId })))

export const make = Effect.gen(function*() {
  const { read, sql } = yield* CrossfireDb
  const matrix = yield* Matrix
  const people = yield* People

  const active = read(
    Effect.flatMap(sql`SELECT user_id FROM person WHERE deactivated_at IS NULL ORDER BY user_id`, decodePeople)
  )

  /** An account that is not known proves nothing: it may be made later, or the homeserver was restored. */
  const look = (userId: UserId) =>
    Effect.gen(function*() {
      if ((yield* matrix.accountState(userId)) !== "deactivated") return
      yield* people.accountGone(userId)
      yield* Effect.annotateLogs(Effect.logInfo("a person's account was deactivated on the homeserver"), { userId })
    })

  /** Without a homeserver the rest is not asked either. */
  const round = Effect.flatMap(
    active,
    (found) => Effect.forEach(found, ({ user_id }) => look(user_id), { concurrency: lookConcurrency, discard: true })
  )

  yield* round.pipe(
    Effect.catchAll((error) =>
      Effect.annotateLogs(Effect.logDebug("people's accounts could not be looked at"), { reason: error._tag })
    ),
    Effect.zipRight(Effect.sleep(Duration.millis(periodMillis))),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
