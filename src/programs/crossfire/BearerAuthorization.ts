// Who asks, by bearer credential: the contract's two security middlewares, the same check for routes outside of the
// contract, and the refusal of credentials that stand where they must not. Looking one up is the service's.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Layer, Option, Redacted } from "effect"
import { AgentAuthorization, CrossfireApi, FleetAuthorization } from "../../domain/api/Crossfire.ts"
import { CredentialMisplaced, ServerBusy } from "../../domain/api/CrossfireErrors.ts"
import { holdsToken } from "../../domain/Credential.ts"
import { Credentials } from "../../services/Credentials.ts"
import type { StoreFailed } from "../../services/Database.ts"

/** Whose request it is for the counting of attempts. A proxy's headers are dealt with before this, or not at all. */
export const peerOf = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.getOrElse(request.remoteAddress, () => "unknown")

export const storeBusy = (error: StoreFailed) => Effect.fail(new ServerBusy({ reason: error.message }))

const scheme = /^bearer +/iu

/** The bearer credential of the request; empty where there is none, which no credential is. */
const bearerOf = (request: HttpServerRequest.HttpServerRequest): Redacted.Redacted => {
  const header = request.headers["authorization"] ?? ""
  return Redacted.make(scheme.test(header) ? header.replace(scheme, "") : "")
}

/** The fleet that asks. For routes outside of the contract; those inside have it from their middleware. */
export const authorizedFleet = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const credentials = yield* Credentials
  return yield* credentials.fleet(bearerOf(request), peerOf(request))
}).pipe(Effect.catchTag("StoreFailed", storeBusy))

export const authorizedAgent = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const credentials = yield* Credentials
  return yield* credentials.agent(bearerOf(request), peerOf(request))
}).pipe(Effect.catchTag("StoreFailed", storeBusy))

// The token that the framework cut out of the header is passed over: it cuts whatever scheme the header names.
export const fleetAuthorization: Layer.Layer<FleetAuthorization, never, Credentials> = Layer.effect(
  FleetAuthorization,
  Effect.map(
    Credentials,
    (credentials) =>
      FleetAuthorization.of({ bearer: () => Effect.provideService(authorizedFleet, Credentials, credentials) })
  )
)

export const agentAuthorization: Layer.Layer<AgentAuthorization, never, Credentials> = Layer.effect(
  AgentAuthorization,
  Effect.map(
    Credentials,
    (credentials) =>
      AgentAuthorization.of({ bearer: () => Effect.provideService(authorizedAgent, Credentials, credentials) })
  )
)

const credentialParameters: ReadonlySet<string> = new Set([
  "access_token",
  "token",
  "bearer",
  "authorization",
  "claim",
  "api_key",
  "apikey"
])

/** The address with every layer of percent-encoding that matters taken off. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const misplaced = (request: HttpServerRequest.HttpServerRequest): Option.Option<CredentialMisplaced> => {
  const query = request.url.split("?").slice(1).join("?")
  const named = query.split(/[&;]/u).some((pair) =>
    credentialParameters.has(decoded(pair.split("=")[0] ?? "").toLowerCase())
  )
  if (named || holdsToken(decoded(request.url))) {
    return Option.some(new CredentialMisplaced({ problem: "in-the-address" }))
  }
  return request.headers["cookie"] !== undefined && request.headers["authorization"] !== undefined
    ? Option.some(new CredentialMisplaced({ problem: "cookie-and-bearer" }))
    : Option.none()
}

/**
 * Before any route and any check of a credential. A refused address is left out of the request log: it would keep there
 * what the answer asks to replace.
 */
export const credentialPlacement: Layer.Layer<never> = HttpApiBuilder.middleware(
  CrossfireApi,
  (app) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Option.match(misplaced(request), {
        onNone: () => app,
        onSome: (error) => HttpMiddleware.withLoggerDisabled(Effect.fail(error))
      })),
  { withContext: false }
)
