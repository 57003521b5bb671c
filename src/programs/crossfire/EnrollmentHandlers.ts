// The enrollment group of crossfire's contract: requests without a credential, bounded by the address they come from.
// What enrollment does is the service's; this turns requests into calls and failures into the contract's errors.
import { Size } from "@effect/platform/FileSystem"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Layer, Option } from "effect"
import { CrossfireApi } from "../../domain/api/Crossfire.ts"
import { HomeserverDown, TooManyAttempts } from "../../domain/api/CrossfireErrors.ts"
import * as AttemptWindow from "../../layers/crossfire/enrollment/AttemptWindow.ts"
import { Enrollment } from "../../services/Enrollment.ts"
import type { MatrixError } from "../../services/Matrix.ts"
import { peerOf, storeBusy } from "./BearerAuthorization.ts"

/** One address: whoever waits for approval asks for the state about every two seconds. */
const maxRequests = 600
/** Requests filed or introduced, which write. */
const maxWrites = 60
const windowMillis = 60_000
const maxPeersCounted = 10_000

const busyRetryMillis = 2_000
const refusedRetryMillis = 60_000

/** A refusal is the operator's to mend, so it stands in the log; who enrolls can only try again later. */
const homeserverDown = (error: MatrixError) =>
  Effect.logWarning(`An introduction's Matrix users could not be made: ${error._tag}`).pipe(
    Effect.annotateLogs(error._tag === "MatrixRefused" ? { errcode: error.errcode, status: error.status } : {}),
    Effect.zipRight(Effect.fail(
      new HomeserverDown({
        retryAfterMillis: error._tag === "HomeserverBusy"
          ? error.retryAfterMillis
          : error._tag === "MatrixRefused"
          ? refusedRetryMillis
          : busyRetryMillis
      })
    ))
  )

/** Room for the largest roster, escapes and all. Whoever sends more has no credential to be known by. */
const maxBodyBytes = 2 * 1024 * 1024

const boundedBodies = HttpApiBuilder.middleware((app) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    request.url.startsWith("/v1/enrollments")
      ? HttpIncomingMessage.withMaxBodySize(app, Option.some(Size(maxBodyBytes)))
      : app)
)

const group = HttpApiBuilder.group(
  CrossfireApi,
  "enrollment",
  (handlers) =>
    Effect.gen(function*() {
      const enrollment = yield* Enrollment
      const requests = AttemptWindow.make({ maxKeys: maxPeersCounted, windowMillis })
      const writes = AttemptWindow.make({ maxKeys: maxPeersCounted, windowMillis })

      const within = (window: AttemptWindow.AttemptWindow, max: number, request: HttpServerRequest.HttpServerRequest) =>
        Effect.flatMap(
          window.add(peerOf(request)),
          ({ count, endsInMillis }) =>
            count > max ? Effect.fail(new TooManyAttempts({ retryAfterMillis: endsInMillis })) : Effect.void
        )

      const asked = (request: HttpServerRequest.HttpServerRequest) => within(requests, maxRequests, request)
      const written = (request: HttpServerRequest.HttpServerRequest) =>
        Effect.zipRight(asked(request), within(writes, maxWrites, request))

      return handlers
        .handle("preflight", ({ payload, request }) =>
          asked(request).pipe(
            Effect.zipRight(enrollment.preflight(payload.roster)),
            Effect.as({ ok: true as const }),
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("submit", ({ payload, request }) =>
          written(request).pipe(
            Effect.zipRight(enrollment.submit(payload.claim, payload.roster)),
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("state", ({ payload, request }) =>
          asked(request).pipe(
            Effect.zipRight(enrollment.state(payload.claim)),
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("introduce", ({ payload, request }) =>
          written(request).pipe(
            Effect.zipRight(enrollment.introduce(payload)),
            Effect.catchTags({
              StoreFailed: storeBusy,
              HomeserverUnavailable: homeserverDown,
              HomeserverBusy: homeserverDown,
              MatrixRefused: homeserverDown
            })
          ))
    })
)

export const enrollmentHandlers = Layer.merge(group, boundedBodies)
