// Fleets and agents as people see and manage them: names, permissions, credentials, retirement. An agent's ID and Matrix
// user never change; what is not the actor's to manage is answered like what does not exist.
import { Context, type Effect } from "effect"
import type { Actor } from "../domain/Actor.ts"
import type { AgentRetired, NameTaken } from "../domain/api/AccessErrors.ts"
import type { SecretHash } from "../domain/api/Crossfire.ts"
import type { NotAllowed, NotFound, StaleGeneration } from "../domain/api/CrossfireErrors.ts"
import type { AgentView, FleetView } from "../domain/api/Management.ts"
import type { AgentId, FleetId } from "../domain/Ids.ts"
import type { RegisteredName } from "../domain/Roster.ts"
import type { StoreFailed } from "./Database.ts"
import type { FleetStamp } from "./FleetLeases.ts"

type OnAgent = Effect.Effect<AgentView, NotFound | AgentRetired | StoreFailed>

export class FleetDirectory extends Context.Tag("crossfire/services/FleetDirectory")<
  FleetDirectory,
  {
    readonly list: (by: Actor) => Effect.Effect<ReadonlyArray<FleetView>, StoreFailed>
    /** The display name follows on the homeserver, at the latest at crossfire's next start. */
    readonly rename: (
      by: Actor,
      agentId: AgentId,
      name: RegisteredName
    ) => Effect.Effect<AgentView, NotFound | NameTaken | AgentRetired | StoreFailed>
    readonly setMayInviteAgents: (by: Actor, agentId: AgentId, allowed: boolean) => OnAgent
    /** Wakes are withdrawn, rooms left, the credential ended. Name, UUID and Matrix user stay its own for ever. */
    readonly retire: (by: Actor, agentId: AgentId) => OnAgent
    readonly revokeAgentCredential: (by: Actor, agentId: AgentId) => OnAgent
    /** The fleet's own and all its agents'. */
    readonly revokeFleetCredentials: (
      by: Actor,
      fleetId: FleetId
    ) => Effect.Effect<FleetView, NotFound | StoreFailed>
    /** By the fleet itself, under its lease. Repeating the same request changes nothing and gives the same answer. */
    readonly rotateCredentials: (fleetId: FleetId, stamp: FleetStamp, tokens: {
      readonly fleetToken: SecretHash
      readonly agentTokens: ReadonlyArray<{ readonly agentId: AgentId; readonly token: SecretHash }>
    }) => Effect.Effect<{ readonly rotated: number }, NotAllowed | StaleGeneration | StoreFailed>
  }
>() {}
