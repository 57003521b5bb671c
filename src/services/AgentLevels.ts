// The newest level of each agent, as crossfire told it. In memory: every connection brings it again.
import { Context, type Effect, type Option } from "effect"
import type { AgentId } from "../domain/Ids.ts"
import type { Level } from "../domain/Level.ts"

export class AgentLevels extends Context.Tag("crossfire/services/AgentLevels")<
  AgentLevels,
  {
    readonly get: (agentId: AgentId) => Effect.Effect<Option.Option<Level>>
    /**
     * A new connection begins: it brings every level again, computed after it, so that numbers of before say nothing. They
     * can even be higher, where crossfire's database is a restored one.
     */
    readonly connected: Effect.Effect<void>
    /**
     * Takes it unless a newer one of the same incarnation, or an acknowledgment's answer above it, is known: then false.
     */
    readonly put: (level: Level) => Effect.Effect<boolean>
    /** An acknowledgment was answered with this level number: lower ones are older than what it closed. */
    readonly acknowledged: (agentId: AgentId, levelNumber: number) => Effect.Effect<void>
  }
>() {}
