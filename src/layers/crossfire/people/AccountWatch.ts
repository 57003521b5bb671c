// Finds out that a person's account on the homeserver was deactivated, and says so to `People`. Nobody calls it: the
// homeserver tells nobody of it, so it is asked: of everybody now and then, and soon of who leaves a room, as it lets a
// deactivated account leave all of them.
import { Duration, Effect, Layer, Option, Schema } from "effect"
import { UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { MembershipNews } from "../../../services/MembershipNews.ts"
import { People } from "../../../services/People.ts"

const periodMillis = 5 * 60_000
const lookConcurrency = 4

const decodePeople = Schema.decodeUnknown(Schema.Array(Schema.Struct({ user_id: UserId })))

export const make = Effect.gen(function*() {
  const { read, sql } = yield* CrossfireDb
  const matrix = yield* Matrix
  const news = yield* MembershipNews
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

  /** Of one that the homeserver refuses to tell of, the others are asked all the same. */
  const lookUnlessRefused = (userId: UserId) =>
    Effect.catchTag(
      look(userId),
      "MatrixRefused",
      ({ errcode, status }) =>
        Effect.annotateLogs(Effect.logDebug("a person's account could not be looked at"), { userId, errcode, status })
    )

  /** Without a homeserver the rest is not asked either. */
  const round = Effect.flatMap(
    active,
    (found) =>
      Effect.forEach(found, ({ user_id }) => lookUnlessRefused(user_id), {
        concurrency: lookConcurrency,
        discard: true
      })
  )

  const whatever = Effect.catchAll((error: { readonly _tag: string }) =>
    Effect.annotateLogs(Effect.logDebug("people's accounts could not be looked at"), { reason: error._tag })
  )

  yield* news.next.pipe(
    Effect.flatMap((userId) =>
      whatever(
        Effect.flatMap(people.find(userId), (person) =>
          Option.exists(person, ({ active }) => active)
            ? look(userId)
            : Effect.void)
      )
    ),
    Effect.forever,
    Effect.forkScoped
  )
  yield* round.pipe(
    whatever,
    Effect.zipRight(Effect.sleep(Duration.millis(periodMillis))),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
