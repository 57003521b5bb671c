// Sees to it that every agent has its Matrix user with its present display name. The identities themselves are the
// database's, and stand before this is asked.
import { Context, type Effect } from "effect"
import type { FleetId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"
import type { MatrixError } from "./Matrix.ts"

export class AgentAccounts extends Context.Tag("crossfire/services/AgentAccounts")<
  AgentAccounts,
  {
    /** Makes the users that are missing of one fleet; fails with the first failure after all were tried. */
    readonly ensure: (fleetId: FleetId) => Effect.Effect<void, StoreFailed | MatrixError>
    /** After a change of name was committed: it follows on the homeserver, tried again until it has. Does not wait. */
    readonly follow: Effect.Effect<void>
  }
>() {}
