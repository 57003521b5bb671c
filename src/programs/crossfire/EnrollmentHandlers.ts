// The enrollment group of crossfire's contract: requests without a credential, bounded at the door by the address they come
// from. What enrollment does is the service's; this turns requests into calls and failures into the contract's errors.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi } from "../../domain/api/Crossfire.ts"
import { Enrollment } from "../../services/Enrollment.ts"
import { storeBusy } from "./BearerAuthorization.ts"
import { homeserverErrors } from "./HomeserverDown.ts"

export const enrollmentHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "enrollment",
  (handlers) =>
    Effect.map(Enrollment, (enrollment) =>
      handlers
        .handle("preflight", ({ payload }) =>
          enrollment.preflight(payload.roster).pipe(
            Effect.as({ ok: true as const }),
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle(
          "submit",
          ({ payload }) =>
            enrollment.submit(payload.claim, payload.roster).pipe(Effect.catchTag("StoreFailed", storeBusy))
        )
        .handle(
          "state",
          ({ payload }) => enrollment.state(payload.claim).pipe(Effect.catchTag("StoreFailed", storeBusy))
        )
        .handle("introduce", ({ payload }) =>
          enrollment.introduce(payload).pipe(
            Effect.catchTags({ StoreFailed: storeBusy, ...homeserverErrors("an introduction's Matrix users are made") })
          )))
)
