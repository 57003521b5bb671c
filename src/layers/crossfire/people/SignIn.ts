// `SignIn`: asks are answered at once and looked into afterwards, by a few fibers over a bounded queue; a link is made and its
// message recorded in one transaction, and used in one. Who is admitted and what a session is, others decide.
import { Clock, Effect, Layer, Option, Queue, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { SignInRefused } from "../../../domain/api/AccessErrors.ts"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import { readAskedUser } from "../../../domain/AskedUser.ts"
import type { UserId } from "../../../domain/Ids.ts"
import { linkLifeMillis, linkWindowMillis, maxLinksPerPerson } from "../../../domain/Session.ts"
import { botUser } from "../../../domain/SystemUsers.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Instance } from "../../../services/Instance.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { Outbound } from "../../../services/Outbound.ts"
import { People } from "../../../services/People.ts"
import { Sessions } from "../../../services/Sessions.ts"
import { SignIn } from "../../../services/SignIn.ts"
import type { BotRooms } from "../../../services/store/BotRooms.ts"
import { WebAddress } from "../../../services/WebAddress.ts"
import { hashOf, isSame, newSecret } from "../../crypto/Secret.ts"
import * as SignInChats from "./SignInChats.ts"
import * as SignInExpiry from "./SignInExpiry.ts"
import * as SignInMessage from "./SignInMessage.ts"
import * as SignInRows from "./SignInRows.ts"

/** Links within the window, of everybody. */
export const maxLinks = 200
/** Asks that wait to be looked into; more are dropped. */
const maxAsks = 500
const lookConcurrency = 4

interface Ask {
  readonly userId: UserId
  readonly browserHash: SecretHash
}

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const matrix = yield* Matrix
  const outbound = yield* Outbound
  const people = yield* People
  const sessions = yield* Sessions
  const { origin } = yield* WebAddress
  const { serverName } = yield* Instance
  const { read, transaction } = database
  const rows = SignInRows.make(database)
  const bot = botUser(serverName)
  const asks = yield* Queue.dropping<Option.Option<Ask>>(maxAsks)
  const chats = yield* SignInChats.make

  const mayHaveLink = (userId: UserId) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (now) =>
        Effect.map(
          rows.madeSince(userId, now - linkWindowMillis),
          ({ all, own }) => own < maxLinksPerPerson && all < maxLinks
        )
    )

  const sendLink = ({ browserHash, userId }: Ask) =>
    Effect.gen(function*() {
      const secret = yield* newSecret()
      const signInId = randomUUID()
      const operationId = `sign-in:${signInId}`
      yield* transaction(Effect.gen(function*() {
        // Asked again: several asks of one person may be under way.
        if (!(yield* mayHaveLink(userId))) return
        const nowMillis = yield* Clock.currentTimeMillis
        yield* rows.insert({
          signInId,
          userId,
          browserHash,
          linkHash: hashOf(secret),
          operationId,
          nowMillis,
          expiresAtMillis: nowMillis + linkLifeMillis
        })
        yield* outbound.enqueue({
          sender: bot,
          to: { recipient: userId },
          operationId,
          content: SignInMessage.make({ userId, origin, secret })
        })
      }))
    })

  const look = (ask: Ask) =>
    Effect.gen(function*() {
      if (!(yield* read(mayHaveLink(ask.userId)))) return
      if (!(yield* people.wouldAdmit(ask.userId))) return
      if ((yield* matrix.accountState(ask.userId)) !== "stands") return
      if (!(yield* chats.mayWriteTo(ask.userId))) return
      yield* sendLink(ask)
    })

  const work = Queue.take(asks).pipe(
    Effect.flatMap(Option.match({ onNone: () => Effect.void, onSome: look })),
    // Whoever asked has an answer already and asks again.
    Effect.catchAll((error) =>
      Effect.annotateLogs(Effect.logWarning("a sign-in link could not be sent"), { reason: error._tag })
    ),
    Effect.catchAllDefect((defect) =>
      Effect.annotateLogs(Effect.logError("a sign-in link could not be sent"), {
        defect: defect instanceof Error ? defect.name : "unknown"
      })
    ),
    Effect.forever
  )
  yield* Effect.forEach(Array.from({ length: lookConcurrency }), () => Effect.forkScoped(work), { discard: true })

  const over = new SignInRefused({ problem: "over" })

  return SignIn.of({
    ask: (user) =>
      Effect.gen(function*() {
        const browserSecret = yield* newSecret()
        const browserHash = hashOf(browserSecret)
        // A name that is nobody's takes the same way.
        yield* Queue.offer(
          asks,
          Option.map(readAskedUser(user, serverName), (userId): Ask => ({ userId, browserHash }))
        )
        return { browserSecret }
      }),
    complete: ({ browser, browserSecrets, link }) =>
      transaction(Effect.gen(function*() {
        const found = yield* rows.byLink(hashOf(Redacted.make(link)))
        const nowMillis = yield* Clock.currentTimeMillis
        if (Option.isNone(found)) return yield* over
        const { browserHash, expiresAtMillis, operationId, signInId, usedAtMillis, userId } = found.value
        if (usedAtMillis !== null || nowMillis >= expiresAtMillis) return yield* over
        if (!browserSecrets.some((secret) => isSame(hashOf(secret), browserHash))) {
          return yield* new SignInRefused({ problem: "another-browser" })
        }
        const person = yield* people.admit(userId)
        if (!Option.exists(person, ({ active }) => active)) return yield* over
        yield* rows.use(signInId, nowMillis)
        const begun = yield* Effect.catchTag(sessions.begin(userId, browser), "Unauthorized", () => Effect.fail(over))
        if (operationId !== null) {
          yield* outbound.retract(bot, operationId)
          yield* rows.takenBack(signInId)
        }
        return begun
      }))
  })
})

export const layer: Layer.Layer<
  SignIn,
  never,
  CrossfireDb | Instance | Matrix | Outbound | People | Sessions | BotRooms | WebAddress
> = Layer.merge(Layer.scoped(SignIn, make), SignInExpiry.layer)
