// The requests group: enrollments that wait for their owner. Looking at one decides nothing, whatever the address carries.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi } from "../../../domain/api/Crossfire.ts"
import { Enrollment } from "../../../services/Enrollment.ts"
import { storeBusy } from "../BearerAuthorization.ts"
import { personActor } from "./PersonAuthorization.ts"

export const requestHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "requests",
  (handlers) =>
    Effect.map(Enrollment, (enrollment) =>
      handlers
        .handle(
          "list",
          () => Effect.flatMap(personActor, enrollment.requests).pipe(Effect.catchTag("StoreFailed", storeBusy))
        )
        .handle("detail", ({ path }) =>
          Effect.flatMap(personActor, (by) => enrollment.request(by, path.enrollmentId)).pipe(
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("approve", ({ path, payload }) =>
          Effect.flatMap(personActor, (by) => enrollment.approve(by, path.enrollmentId, payload.code)).pipe(
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("reject", ({ path }) =>
          Effect.flatMap(personActor, (by) =>
            enrollment.reject(by, path.enrollmentId)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            )))
)
