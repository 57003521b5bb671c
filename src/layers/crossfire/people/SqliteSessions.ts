// `Sessions` over crossfire's database, and the removal of those that ended by themselves.
import { Clock, Effect, Layer, Option, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { NotFound, Unauthorized } from "../../../domain/api/CrossfireErrors.ts"
import {
  describedBrowser,
  maxSessionsPerPerson,
  seenStepMillis,
  SessionId,
  sessionLifeMillis
} from "../../../domain/Session.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { Revocations } from "../../../services/Revocations.ts"
import { type FoundSession, type NewSession, Sessions } from "../../../services/Sessions.ts"
import { hashOf, newSecret } from "../../crypto/Secret.ts"
import * as RefusedCredentials from "../RefusedCredentials.ts"
import * as EndedSessions from "./EndedSessions.ts"
import * as PersonRows from "./PersonRows.ts"
import * as SessionExpiry from "./SessionExpiry.ts"
import * as SessionRows from "./SessionRows.ts"

const secretForm = /^[A-Za-z0-9_-]{43}$/u

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const { read, transaction } = database
  const { admitted } = yield* RefusedCredentials.RefusedCredentials
  const rows = SessionRows.make(database)
  const people = PersonRows.make(database)
  const changes = yield* Changes
  const tell = yield* EndedSessions.make

  // The hash of 256 random bits is looked up whole: how long that takes tells nothing that can be steered.
  const found = (secret: Redacted.Redacted, nowMillis: number) =>
    secretForm.test(Redacted.value(secret))
      ? read(rows.find({ secretHash: hashOf(secret), nowMillis }))
      : Effect.succeedNone

  /** A full disk keeps nobody from reading: only the time of this request is not kept. */
  const seen = (session: { readonly sessionId: SessionId; readonly seenAtMillis: number }, nowMillis: number) =>
    transaction(rows.seen(session.sessionId, nowMillis)).pipe(
      Effect.catchTag("StoreFailed", () => Effect.void),
      Effect.when(() => nowMillis - session.seenAtMillis >= seenStepMillis)
    )

  return Sessions.of({
    begin: (userId, browser) =>
      transaction(Effect.gen(function*() {
        const person = yield* people.find(userId)
        if (Option.isNone(person) || !person.value.active) return yield* new Unauthorized()
        const nowMillis = yield* Clock.currentTimeMillis
        const sessionId = SessionId.make(randomUUID())
        const secret = yield* newSecret()
        const endsAtMillis = nowMillis + sessionLifeMillis
        yield* rows.insert({
          sessionId,
          userId,
          secretHash: hashOf(secret),
          browser: describedBrowser(browser),
          nowMillis,
          endsAtMillis
        })
        const ended = yield* rows.endOldest(userId, maxSessionsPerPerson)
        const begun: NewSession = { principal: { userId, role: person.value.role, sessionId }, secret, endsAtMillis }
        return { begun, ended }
      })).pipe(
        // Whoever asks again by this waits for the transaction that this may be a part of.
        Effect.tap(({ ended }) => Effect.zipRight(tell(ended), changes.publish("sessions", userId))),
        Effect.map(({ begun }) => begun),
        Effect.uninterruptible
      ),
    find: (secret, peer) =>
      Effect.gen(function*() {
        const nowMillis = yield* Clock.currentTimeMillis
        const session = yield* admitted(found(secret, nowMillis), peer)
        yield* seen(session, nowMillis)
        const { endsAtMillis, role, sessionId, userId } = session
        return { principal: { userId, role, sessionId }, endsAtMillis } satisfies FoundSession
      }),
    list: ({ sessionId, userId }) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (nowMillis) =>
          read(rows.list({ userId, nowMillis, maxRows: maxSessionsPerPerson })).pipe(
            Effect.map((listed) => listed.map((session) => ({ ...session, current: session.sessionId === sessionId })))
          )
      ),
    revoke: (userId, sessionId) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => transaction(rows.endOne(userId, sessionId, nowMillis)))
        .pipe(
          Effect.tap(tell),
          Effect.flatMap((ended) => ended.length === 0 ? Effect.fail(new NotFound({ what: "session" })) : Effect.void),
          Effect.uninterruptible
        ),
    revokeAll: (userId, but) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => transaction(rows.endAll(userId, but, nowMillis))).pipe(
        Effect.tap(tell),
        Effect.map((ended) => ended.length),
        Effect.uninterruptible
      )
  })
})

export const layer: Layer.Layer<Sessions, never, CrossfireDb | Revocations | Changes> = Layer.effect(Sessions, make)
  .pipe(
    Layer.provide(RefusedCredentials.layer),
    Layer.merge(SessionExpiry.layer)
  )
