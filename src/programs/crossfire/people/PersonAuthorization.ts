// Which person asks, by the session's cookie: the contract's middleware, and the same check for the stream outside of the
// contract. What changes something needs the session's second secret, too. Who holds a session is the service's to know.
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Layer, Redacted } from "effect"
import { Actor } from "../../../domain/Actor.ts"
import { OriginRefused } from "../../../domain/api/AccessErrors.ts"
import { Unauthorized } from "../../../domain/api/CrossfireErrors.ts"
import { csrfHeader, PersonAuthorization, PersonPrincipal } from "../../../domain/api/People.ts"
import { sessionCookie } from "../../../domain/Session.ts"
import { isSame } from "../../../layers/crypto/Secret.ts"
import { Sessions } from "../../../services/Sessions.ts"
import { peerOf, storeBusy } from "../BearerAuthorization.ts"
import { lasting } from "../LastingProof.ts"
import { csrfOf, secretOf } from "./SessionCookies.ts"

const isReading = (method: string): boolean => method === "GET" || method === "HEAD"

/** The session of this request. A browser without a cookie guesses nothing and is not counted. */
export const authorizedSession = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const sessions = yield* Sessions
  const secret = secretOf(request, sessionCookie)
  if (Redacted.value(secret) === "") return yield* new Unauthorized()
  const found = yield* sessions.find(secret, peerOf(request))
  if (!isReading(request.method) && !isSame(request.headers[csrfHeader] ?? "", csrfOf(secret))) {
    return yield* new OriginRefused({ problem: "no-proof" })
  }
  return { ...found, secret }
}).pipe(Effect.catchTag("StoreFailed", storeBusy))

/** The token that the framework read is passed over: it is the same cookie, read by the same rules. */
export const personAuthorization: Layer.Layer<PersonAuthorization, never, Sessions> = Layer.effect(
  PersonAuthorization,
  Effect.map(Sessions, (sessions) =>
    PersonAuthorization.of({
      session: () =>
        lasting(authorizedSession).pipe(
          Effect.map(({ principal }) => principal),
          Effect.provideService(Sessions, sessions)
        )
    }))
)

/** Whoever the cookie says, whatever the payload says. */
export const personActor: Effect.Effect<Actor, never, PersonPrincipal> = Effect.map(
  PersonPrincipal,
  ({ role, userId }) => Actor.Person({ userId, role })
)
