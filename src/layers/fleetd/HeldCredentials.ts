// Whether crossfire still accepts the credentials that a root folder holds, before they are offered to it again. It keeps and
// changes nothing; what cannot be found out counts as accepted.
import { Effect } from "effect"
import { Generation, Incarnation } from "../../domain/Ids.ts"
import type { InstanceKey } from "../../domain/Roster.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import * as HttpCrossfireClient from "./HttpCrossfireClient.ts"

export interface RefusedCredentials {
  readonly fleet: boolean
  /** As far as they were told to fleetd when they were last used. */
  readonly agents: ReadonlySet<InstanceKey>
}

/** No crossfire gave it: what is asked under it changes nothing, and only the credential is answered for. */
const noLease = {
  generation: Generation.make(0),
  incarnation: Incarnation.make("00000000-0000-4000-8000-000000000000")
}

export const refused = (serverUrl: string) =>
  Effect.gen(function*() {
    const registry = yield* FleetRegistry
    const client = yield* HttpCrossfireClient.make(serverUrl)
    const fleet = yield* client.renewLease(noLease).pipe(
      Effect.match({ onSuccess: () => false, onFailure: ({ _tag }) => _tag === "CredentialRefused" })
    )
    const agents = (yield* registry.agents).filter(({ credentialRefused, retired }) => credentialRefused && !retired)
    const found: RefusedCredentials = { fleet, agents: new Set(agents.map(({ key }) => key)) }
    return found
  }).pipe(Effect.scoped)
