// The signup group: how people come in.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi } from "../../../domain/api/Crossfire.ts"
import { Signup } from "../../../services/Signup.ts"
import { storeBusy } from "../BearerAuthorization.ts"
import { homeserverDown } from "../HomeserverDown.ts"
import { personActor } from "./PersonAuthorization.ts"

export const signupHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "signup",
  (handlers) =>
    Effect.map(Signup, (signup) =>
      handlers
        .handle("get", () => Effect.flatMap(personActor, signup.view).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("set", ({ payload }) =>
          Effect.flatMap(personActor, (by) => signup.set(by, payload.policy)).pipe(
            Effect.catchTags({
              StoreFailed: storeBusy,
              HomeserverUnavailable: homeserverDown("it starts anew under the changed signup policy")
            })
          )))
)
