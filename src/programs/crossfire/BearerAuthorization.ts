// Who asks, by bearer credential: the contract's two security middlewares, and the same check for routes outside of the
// contract. Looking one up is the service's.
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Layer, Option, Redacted } from "effect"
import { AgentAuthorization, FleetAuthorization } from "../../domain/api/Crossfire.ts"
import { ServerBusy } from "../../domain/api/CrossfireErrors.ts"
import { Credentials } from "../../services/Credentials.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { lasting } from "./LastingProof.ts"

/** Whose request it is for the counting of attempts, as the doors found it out. */
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
      FleetAuthorization.of({ bearer: () => Effect.provideService(lasting(authorizedFleet), Credentials, credentials) })
  )
)

export const agentAuthorization: Layer.Layer<AgentAuthorization, never, Credentials> = Layer.effect(
  AgentAuthorization,
  Effect.map(
    Credentials,
    (credentials) =>
      AgentAuthorization.of({ bearer: () => Effect.provideService(lasting(authorizedAgent), Credentials, credentials) })
  )
)
