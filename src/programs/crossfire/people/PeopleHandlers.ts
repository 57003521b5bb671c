// The people group: who is known, for administrators.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi } from "../../../domain/api/Crossfire.ts"
import { People } from "../../../services/People.ts"
import { storeBusy } from "../BearerAuthorization.ts"
import { personActor } from "./PersonAuthorization.ts"

export const peopleHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "people",
  (handlers) =>
    Effect.map(People, (people) =>
      handlers
        .handle("list", () => Effect.flatMap(personActor, people.list).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("add", ({ payload }) =>
          Effect.flatMap(personActor, (by) => people.add(by, payload.userId, payload.role)).pipe(
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("setRole", ({ path, payload }) =>
          Effect.flatMap(personActor, (by) =>
            people.setRole(by, path.userId, payload.role)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("deactivate", ({ path }) =>
          Effect.flatMap(personActor, (by) =>
            people.deactivate(by, path.userId)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("reactivate", ({ path }) =>
          Effect.flatMap(personActor, (by) =>
            people.reactivate(by, path.userId)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            )))
)
