// Says that a credential is over, to whoever holds a stream open under it. In memory: the stores hold what is true, and
// every request asks them; this only makes that true for requests that never end.
import { Context, type Effect, type Scope } from "effect"
import type { AgentId, FleetId } from "../domain/Ids.ts"
import type { SessionId } from "../domain/Session.ts"

export type Revocable =
  | { readonly session: SessionId }
  | { readonly fleet: FleetId }
  | { readonly agent: AgentId }

export class Revocations extends Context.Tag("crossfire/services/Revocations")<
  Revocations,
  {
    /** To be called after the commit: whoever asks again then must find the credential gone. */
    readonly announce: (ended: ReadonlyArray<Revocable>) => Effect.Effect<void>
    /**
     * Listens from now on until the scope closes; the effect that it gives waits for the announcement. Listen first, check
     * the credential then: nothing falls in between. A session that ended by itself is announced too, within a minute.
     */
    readonly ended: (of: Revocable) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
  }
>() {}
