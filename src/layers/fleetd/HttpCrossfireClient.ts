// CrossfireClient over HTTP, derived from crossfire's contract: credentials from the registry, a deadline on every
// exchange, errors in the port's words. It keeps no state, retries nothing and follows no redirect.
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import type { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as HttpClient from "@effect/platform/HttpClient"
import { type HttpClientError, ResponseError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Context, Duration, Effect, Layer, Option, type ParseResult, Redacted } from "effect"
import type { BodyTooLarge, DoorError } from "../../domain/api/AccessErrors.ts"
import { CrossfireApi } from "../../domain/api/Crossfire.ts"
import type {
  CredentialMisplaced,
  HomeserverDown,
  ServerBusy,
  TooManyAttempts,
  Unauthorized
} from "../../domain/api/CrossfireErrors.ts"
import { checkServerUrl, type ServerUrlRefused } from "../../domain/ServerUrl.ts"
import {
  AcknowledgmentRefused,
  type CallFailed,
  CredentialRefused,
  CrossfireClient,
  CrossfireUnavailable,
  type LeaseStamp,
  ReadRefused,
  RoomPageFailed,
  RotationRefused
} from "../../services/CrossfireClient.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { SendRefused } from "../../services/FleetOutbox.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import * as BoundedHttpClient from "../http/BoundedHttpClient.ts"
import { levelStream } from "./LevelStream.ts"

/** One event may have 64 MiB, and JSON escapes some of it; an answer beyond this is no usable one. */
const maxAnswerBytes = 96 * 1024 * 1024

/** The whole exchange, the answer's last byte included. */
const leaseDeadline = Duration.seconds(10)
const writeDeadline = Duration.seconds(30)
/** crossfire itself gives the homeserver up to 60 s. */
const readDeadline = Duration.seconds(75)

/** Whose credential an exchange carries; chosen for each call, never a default. */
class Bearer extends Context.Tag("crossfire/layers/fleetd/HttpCrossfireClient/Bearer")<Bearer, Redacted.Redacted>() {}

type WireError =
  | DoorError
  | Unauthorized
  | TooManyAttempts
  | ServerBusy
  | HomeserverDown
  | CredentialMisplaced
  | HttpApiDecodeError
  | HttpClientError
  | ParseResult.ParseError
  | StoreFailed
  | CrossfireUnavailable

/** What went wrong, without address, header or body. */
export const reasonOf = (error: Exclude<WireError, Unauthorized | CrossfireUnavailable>): string => {
  switch (error._tag) {
    case "RequestError":
      return "it could not be reached"
    case "ResponseError":
      return error.response.status >= 300 && error.response.status < 400
        ? `it answered with a redirect (${error.response.status}), which is never followed: check its address`
        : `it answered ${error.response.status} in a form that is not crossfire's`
    case "ParseError":
      return "the answer or the request is not in the contract's form; are both of the same version?"
    case "HttpApiDecodeError":
      return "it did not understand the request; are both of the same version?"
    case "HostUnknown":
      return `it serves no fleets under this address, only web pages at ${error.open}; check the address that follows --server`
    case "OriginRefused":
      return "it took the request for a browser's; is a proxy between that adds headers of its own?"
    case "MediaTypeRefused":
      return "it took the request for no JSON; is a proxy between that changes headers?"
    default:
      return error.message
  }
}

const failed = (operation: string, error: WireError): CallFailed => {
  if (error._tag === "Unauthorized") return new CredentialRefused({ operation })
  if (error._tag === "CrossfireUnavailable") return error
  return new CrossfireUnavailable({ operation, reason: reasonOf(error) })
}

/** The same request would be refused again: by crossfire, or by a proxy before it that has a bound of its own. */
const isFinal = (error: { readonly _tag: string }): error is BodyTooLarge | HttpApiDecodeError | ResponseError =>
  error._tag === "BodyTooLarge" || error._tag === "HttpApiDecodeError" ||
  (error._tag === "ResponseError" && error instanceof ResponseError && error.response.status === 413)

const leaseHeaders = ({ generation, incarnation }: LeaseStamp) => ({
  "x-crossfire-generation": generation,
  "x-crossfire-incarnation": incarnation
})

export const make = (serverUrl: string) =>
  Effect.gen(function*() {
    const baseUrl = yield* checkServerUrl(serverUrl)
    const registry = yield* FleetRegistry
    const http = yield* BoundedHttpClient.make(maxAnswerBytes)
    const api = yield* HttpApiClient.makeWith(CrossfireApi, {
      baseUrl,
      httpClient: HttpClient.mapRequestEffect(
        // A proxy's own words would be told as an unreadable answer, which may pass.
        HttpClient.filterOrFail(
          http.whole,
          ({ headers, status }) => status !== 413 || (headers["content-type"] ?? "").startsWith("application/json"),
          (response) => new ResponseError({ request: response.request, response, reason: "StatusCode" })
        ),
        (request) => Effect.map(Bearer, (token) => HttpClientRequest.bearerToken(request, token))
      )
    })

    const within = <A, E>(operation: string, deadline: Duration.Duration, exchange: Effect.Effect<A, E>) =>
      Effect.timeoutFail(exchange, {
        duration: deadline,
        onTimeout: () =>
          new CrossfireUnavailable({ operation, reason: `no answer within ${Duration.toSeconds(deadline)} s` })
      })

    /**
     * A credential that was refused while credentials are being replaced says nothing: the same request is good under the
     * new one, as soon as that is known. The order of the two questions leaves no gap between them.
     */
    const isReplaced = (token: Effect.Effect<Redacted.Redacted, StoreFailed>, used: Redacted.Redacted) =>
      Effect.gen(function*() {
        const pending = yield* registry.pendingCredentials
        return Option.isSome(pending) || Redacted.value(yield* token) !== Redacted.value(used)
      })
    const replaced = (operation: string) =>
      new CrossfireUnavailable({ operation, reason: "this fleet's credentials are being replaced" })

    /** One exchange under one credential: it ends within the deadline. */
    const call = <A, E extends { readonly _tag: string }>(
      operation: string,
      token: Effect.Effect<Redacted.Redacted, StoreFailed>,
      deadline: Duration.Duration,
      exchange: Effect.Effect<A, E, Bearer>
    ): Effect.Effect<A, E | StoreFailed | CrossfireUnavailable> =>
      within(
        operation,
        deadline,
        Effect.flatMap(token, (used) =>
          Effect.catchIf(
            Effect.provideService(exchange, Bearer, used),
            (error) => error._tag === "Unauthorized",
            (error) =>
              Effect.flatMap(isReplaced(token, used), (so): Effect.Effect<never, E | CrossfireUnavailable> =>
                Effect.fail(so ? replaced(operation) : error))
          ))
      )

    return CrossfireClient.of({
      acquireLease: (request) => {
        const operation = "acquire the lease"
        return call(operation, registry.fleetToken, leaseDeadline, api.fleet.acquireLease({ payload: request })).pipe(
          Effect.mapError((error) =>
            error._tag === "LeaseHeld" ? error : failed(operation, error)
          )
        )
      },
      renewLease: (stamp) => {
        const operation = "renew the lease"
        const request = api.fleet.renewLease({ headers: leaseHeaders(stamp) })
        return call(operation, registry.fleetToken, leaseDeadline, request).pipe(
          Effect.mapError((error) => error._tag === "StaleGeneration" ? error : failed(operation, error))
        )
      },
      releaseLease: (stamp) => {
        const operation = "release the lease"
        const request = api.fleet.releaseLease({ headers: leaseHeaders(stamp) })
        return call(operation, registry.fleetToken, leaseDeadline, request).pipe(
          Effect.mapError((error) => failed(operation, error)),
          Effect.asVoid
        )
      },
      levels: (stamp) =>
        levelStream({
          baseUrl,
          client: http.streaming,
          token: registry.fleetToken,
          isReplaced: (used) => isReplaced(registry.fleetToken, used),
          stamp
        }),
      boundary: (stamp) => {
        const operation = "take a boundary"
        const request = api.fleet.boundary({ headers: leaseHeaders(stamp) })
        return call(operation, registry.fleetToken, readDeadline, request).pipe(
          Effect.mapError((error) => error._tag === "StaleGeneration" ? error : failed(operation, error)),
          Effect.map(({ boundary }) => boundary)
        )
      },
      page: (stamp, agentId, payload) => {
        const operation = "read a page"
        const request = api.agent.page({ headers: leaseHeaders(stamp), payload })
        return call(operation, registry.agentToken(agentId), readDeadline, request).pipe(
          Effect.mapError((error) => {
            if (error._tag === "StaleGeneration") return error
            if (error._tag === "NotAllowed") return new ReadRefused({ reason: error.message })
            if (error._tag === "PageUnusable") return new RoomPageFailed({ reason: error.message })
            return failed(operation, error)
          })
        )
      },
      acknowledge: (stamp, agentId, payload) => {
        const operation = "acknowledge a delivery"
        const request = api.agent.acknowledge({ headers: leaseHeaders(stamp), payload })
        return call(operation, registry.agentToken(agentId), writeDeadline, request).pipe(
          Effect.mapError((error) => {
            if (error._tag === "StaleGeneration") return error
            if (isFinal(error)) {
              return new AcknowledgmentRefused({ reason: reasonOf(error) })
            }
            return failed(operation, error)
          }),
          Effect.map(({ levelNumber }) => levelNumber)
        )
      },
      send: (stamp, agentId, payload) => {
        const operation = "send a message"
        const request = api.agent.send({ headers: leaseHeaders(stamp), payload })
        return call(operation, registry.agentToken(agentId), writeDeadline, request).pipe(
          Effect.mapError((error) => {
            if (error._tag === "StaleGeneration") return error
            if (error._tag === "NotAllowed" || error._tag === "MessageRefused") {
              return new SendRefused({ reason: error.message })
            }
            // It would be misunderstood again and again, and hold up what stands behind it.
            if (isFinal(error)) {
              return new SendRefused({ reason: `crossfire: ${reasonOf(error)}` })
            }
            return failed(operation, error)
          })
        )
      },
      rotateCredentials: (stamp, under, tokens) => {
        const operation = "replace the credentials"
        const agentTokens = [...tokens.agentTokens].map(([agentId, token]) => ({ agentId, token }))
        const request = api.fleet.rotateCredentials({
          headers: leaseHeaders(stamp),
          payload: { fleetToken: tokens.fleetToken, agentTokens }
        })
        // Not by `call`: here a refused credential is the answer that is asked for.
        const exchange = Effect.flatMap(under === null ? registry.fleetToken : Effect.succeed(under), (used) =>
          Effect.provideService(request, Bearer, used))
        return within(operation, writeDeadline, exchange).pipe(
          Effect.mapError((error) => {
            if (error._tag === "StaleGeneration") {
              return error
            }
            return error._tag === "NotAllowed"
              ? new RotationRefused({ reason: error.message })
              : failed(operation, error)
          }),
          Effect.map(({ rotated }) =>
            rotated
          )
        )
      },
      notice: (stamp, operationId, text) => {
        const operation = "tell the owner"
        const request = api.fleet.notice({ headers: leaseHeaders(stamp), payload: { operationId, text } })
        return call(operation, registry.fleetToken, writeDeadline, request).pipe(
          Effect.mapError((error) => error._tag === "StaleGeneration" ? error : failed(operation, error)),
          Effect.asVoid
        )
      }
    })
  })

export const layer = (serverUrl: string): Layer.Layer<CrossfireClient, ServerUrlRefused, FleetRegistry> =>
  Layer.scoped(CrossfireClient, make(serverUrl))
