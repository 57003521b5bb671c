// Who a bearer credential belongs to. Identity comes from the credential alone; unknown, revoked, malformed and missing
// ones are answered alike.
import { Context, type Effect, type Redacted } from "effect"
import type { AgentPrincipal, FleetPrincipal } from "../domain/api/Crossfire.ts"
import type { TooManyAttempts, Unauthorized } from "../domain/api/CrossfireErrors.ts"
import type { StoreFailed } from "./Database.ts"

export class Credentials extends Context.Tag("crossfire/services/Credentials")<
  Credentials,
  {
    /**
     * `peer` is the address the request came from: refused attempts are counted by it, and beyond the bound answered
     * `TooManyAttempts`. A valid credential is always taken: where many fleets share one address, none can shut out another.
     */
    readonly fleet: (
      token: Redacted.Redacted,
      peer: string
    ) => Effect.Effect<Context.Tag.Service<FleetPrincipal>, Unauthorized | TooManyAttempts | StoreFailed>
    /** Agents that were retired have none. */
    readonly agent: (
      token: Redacted.Redacted,
      peer: string
    ) => Effect.Effect<Context.Tag.Service<AgentPrincipal>, Unauthorized | TooManyAttempts | StoreFailed>
  }
>() {}
