// The numbers of levels and who is told when one changes. What a level holds is not its business.
import { Context, type Effect, type Scope } from "effect"
import type { AgentId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export class LevelChanges extends Context.Tag("crossfire/services/LevelChanges")<
  LevelChanges,
  {
    /** Raises the numbers; joins a running transaction. Followers look only after that transaction has ended. */
    readonly raise: (agents: ReadonlyArray<AgentId>) => Effect.Effect<void, StoreFailed>
    /** 0 for an agent that never had one. */
    readonly numberOf: (agentId: AgentId) => Effect.Effect<number, StoreFailed>
    /**
     * A follower until the scope closes. The effect it gives waits until something changed and answers which agents,
     * each once, however often they changed.
     */
    readonly follow: Effect.Effect<Effect.Effect<ReadonlySet<AgentId>>, never, Scope.Scope>
  }
>() {}
