// The fleet group of crossfire's contract: the lease, a boundary, notices for the owner, the
// fleet's credentials.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi, FleetPrincipal } from "../../domain/api/Crossfire.ts"
import { HomeserverDown } from "../../domain/api/CrossfireErrors.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { FleetDirectory } from "../../services/FleetDirectory.ts"
import { FleetLeases } from "../../services/FleetLeases.ts"
import { Matrix } from "../../services/Matrix.ts"
import { Outbound } from "../../services/Outbound.ts"
import { storeBusy } from "./BearerAuthorization.ts"
import { stampOf } from "./LeaseStamp.ts"

const retryMillis = 2_000

export const fleetHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "fleet",
  (handlers) =>
    Effect.gen(function*() {
      const leases = yield* FleetLeases
      const directory = yield* FleetDirectory
      const matrix = yield* Matrix
      const outbound = yield* Outbound
      const { transaction } = yield* CrossfireDb

      return handlers
        .handle("acquireLease", ({ payload }) =>
          Effect.flatMap(FleetPrincipal, ({ fleetId }) =>
            leases.acquire({ fleetId, ...payload })).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("renewLease", ({ headers }) =>
          Effect.flatMap(FleetPrincipal, ({ fleetId }) =>
            leases.renew(fleetId, stampOf(headers))).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("releaseLease", ({ headers }) =>
          Effect.flatMap(FleetPrincipal, ({ fleetId }) =>
            leases.release(fleetId, stampOf(headers))).pipe(
              Effect.map((released) => ({ released })),
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("boundary", ({ headers }) =>
          Effect.gen(function*() {
            const { fleetId } = yield* FleetPrincipal
            yield* leases.require(fleetId, stampOf(headers))
            return { boundary: yield* matrix.boundary }
          }).pipe(
            Effect.catchTags({
              StoreFailed: storeBusy,
              HomeserverUnavailable: () =>
                Effect.fail(new HomeserverDown({ retryAfterMillis: retryMillis })),
              HomeserverBusy: (busy) =>
                Effect.fail(new HomeserverDown({ retryAfterMillis: busy.retryAfterMillis })),
              // crossfire's own user is refused: the registration is not what it should be, and the operator's log says so.
              MatrixRefused: (refused) =>
                Effect.logError("the homeserver refused a boundary").pipe(
                  Effect.annotateLogs({ errcode: refused.errcode }),
                  Effect.zipRight(Effect.fail(new HomeserverDown({ retryAfterMillis: retryMillis })))
                )
            })
          ))
        .handle("rotateCredentials", ({ headers, payload }) =>
          Effect.flatMap(FleetPrincipal, ({ fleetId }) =>
            directory.rotateCredentials(fleetId, stampOf(headers), payload)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("notice", ({ headers, payload }) =>
          Effect.gen(function*() {
            const { fleetId, owner } = yield* FleetPrincipal
            yield* transaction(Effect.gen(function*() {
              yield* leases.require(fleetId, stampOf(headers))
              yield* outbound.notice({
                to: { recipient: owner },
                operationId: `fleet:${fleetId}:${payload.operationId}`,
                text: payload.text
              })
            }))
            return { recorded: true as const }
          }).pipe(Effect.catchTag("StoreFailed", storeBusy)))
    })
)
