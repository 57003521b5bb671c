// The fleets group: what people do with their fleets and agents.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi } from "../../../domain/api/Crossfire.ts"
import { FleetDirectory } from "../../../services/FleetDirectory.ts"
import { storeBusy } from "../BearerAuthorization.ts"
import { personActor } from "./PersonAuthorization.ts"

export const fleetsHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "fleets",
  (handlers) =>
    Effect.map(FleetDirectory, (fleets) =>
      handlers
        .handle("list", () => Effect.flatMap(personActor, fleets.list).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("revokeCredentials", ({ path }) =>
          Effect.flatMap(personActor, (by) => fleets.revokeFleetCredentials(by, path.fleetId)).pipe(
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("renameAgent", ({ path, payload }) =>
          Effect.flatMap(personActor, (by) =>
            fleets.rename(by, path.agentId, payload.name)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("setPermissions", ({ path, payload }) =>
          Effect.flatMap(personActor, (by) =>
            fleets.setMayInviteAgents(by, path.agentId, payload.mayInviteAgents)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("retireAgent", ({ path }) =>
          Effect.flatMap(personActor, (by) =>
            fleets.retire(by, path.agentId)).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("revokeAgentCredential", ({ path }) =>
          Effect.flatMap(personActor, (by) =>
            fleets.revokeAgentCredential(by, path.agentId)).pipe(
              Effect.catchTag("StoreFailed", storeBusy)
            )))
)
