// The invitations group: tokens with which somebody signs up on the managed homeserver.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi } from "../../../domain/api/Crossfire.ts"
import { Invitations } from "../../../services/Invitations.ts"
import { storeBusy } from "../BearerAuthorization.ts"
import { homeserverErrors } from "../HomeserverDown.ts"
import { personActor } from "./PersonAuthorization.ts"

export const invitationHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "invitations",
  (handlers) =>
    Effect.map(Invitations, (invitations) =>
      handlers
        .handle("list", () =>
          Effect.flatMap(personActor, invitations.list).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("make", ({ payload }) =>
          Effect.flatMap(personActor, (by) =>
            invitations.make(by, payload)).pipe(
              Effect.catchTags({ StoreFailed: storeBusy, ...homeserverErrors("an invitation's token is made") })
            ))
        .handle("revoke", ({ path }) =>
          Effect.flatMap(personActor, (by) =>
            invitations.revoke(by, path.invitationId)).pipe(
              Effect.catchTags({ StoreFailed: storeBusy, ...homeserverErrors("an invitation's token is removed") })
            )))
)
