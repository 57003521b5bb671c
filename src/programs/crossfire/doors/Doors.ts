// What every request passes before a handler, in this order: the host, misplaced credentials, the route, how often and how
// much, the origin, the body's type. Each rule is its own file; here is their order alone.
import type { Default as HttpApp } from "@effect/platform/HttpApp"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Cause, Duration, Effect, Option } from "effect"
import { AnswerTooSlow, MethodRefused } from "../../../domain/api/AccessErrors.ts"
import { NotFound } from "../../../domain/api/CrossfireErrors.ts"
import { guarded } from "./AnswerHeaders.ts"
import * as BoundedBody from "./BoundedBody.ts"
import * as Budgets from "./Budgets.ts"
import { misplaced } from "./CredentialPlacement.ts"
import * as Hosts from "./Hosts.ts"
import * as MediaTypes from "./MediaTypes.ts"
import * as Origins from "./Origins.ts"
import { peerOf, trustedOf } from "./PeerAddress.ts"
import { type Refusal, refuse, refuseInWords } from "./Refusal.ts"
import { make as makeTable, type Route } from "./RouteTable.ts"

export interface DoorConfig extends Hosts.HostConfig {
  readonly routes: ReadonlyArray<Route>
  /** Addresses whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: ReadonlyArray<string>
}

/** Fails where the rule has something against it. */
const pass = <E>(found: Option.Option<E>): Effect.Effect<void, E> =>
  Option.match(found, { onNone: () => Effect.void, onSome: Effect.fail })

/** A broken rule of the program's own: the operator's log says so, the caller is told nothing of it. */
const failed = (cause: Cause.Cause<unknown>, route: Route) =>
  Effect.flatMap(
    HttpServerError.causeResponse(cause),
    ([response]) =>
      response.status < 500 || Cause.isInterruptedOnly(cause)
        ? Effect.succeed(response)
        : Effect.as(
          Effect.annotateLogs(Effect.logError("a request could not be answered", cause), {
            method: route.method,
            path: route.path
          }),
          response
        )
  )

export const make = (config: DoorConfig) => {
  const table = makeTable(config.routes)
  const hosts = Hosts.make(config)
  const budgets = Budgets.make()
  const held: BoundedBody.HeldBytes = new Map()
  const trusted = trustedOf(config.trustedProxies)

  return <E, R>(app: HttpApp<E, R>): HttpApp<never, R> =>
    Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const route = table.find(request.method, request.url)
      const door = Option.getOrNull(Option.map(route, (found) => found.door))

      const answer = Effect.gen(function*() {
        yield* pass(hosts.check(Hosts.hostNamed(request), Option.map(route, (found) => found.door)))
        const wrong = misplaced(request)
        // The address holds a secret now: it must not stand in a log of requests as well.
        if (Option.isSome(wrong)) return yield* HttpMiddleware.withLoggerDisabled(Effect.fail(wrong.value))
        if (Option.isNone(route)) {
          const allowed = table.methodsOf(request.url)
          if (allowed.length === 0) return yield* new NotFound({ what: "address" })
          return request.method === "OPTIONS"
            ? HttpServerResponse.empty({ status: 204, headers: { allow: allowed.join(", ") } })
            : yield* new MethodRefused({ allowed })
        }
        const { bounds } = route.value
        const peer = peerOf(trusted, {
          connection: Option.getOrUndefined(request.remoteAddress),
          forwarded: request.headers["x-forwarded-for"]
        })
        yield* budgets.spend(bounds, peer)
        yield* pass(BoundedBody.declaredTooLarge(request, bounds.maxBodyBytes))
        yield* pass(Origins.check(request, route.value.door, config.origin))
        yield* pass(MediaTypes.check(request, route.value))
        const known = request.modify({ remoteAddress: peer })
        return yield* app.pipe(
          Effect.provideService(
            HttpServerRequest.HttpServerRequest,
            route.value.door === "homeserver" ? known : BoundedBody.bounded(known, bounds, held)
          ),
          Effect.catchAllCause((cause) => failed(cause, route.value)),
          Effect.timeoutFail({
            duration: Duration.millis(bounds.withinMillis),
            onTimeout: () => new AnswerTooSlow({ withinMillis: bounds.withinMillis })
          })
        )
      }).pipe(
        Effect.catchAll((error: Refusal) => door === "pages" ? Effect.succeed(refuseInWords(error)) : refuse(error))
      )
      return guarded(yield* answer, door)
    })
}
