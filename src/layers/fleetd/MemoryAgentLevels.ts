// `AgentLevels` in memory, signalling the agent whenever something newer was taken.
import { Effect, Layer, Option } from "effect"
import type { AgentId } from "../../domain/Ids.ts"
import type { Level } from "../../domain/Level.ts"
import { AgentLevels } from "../../services/AgentLevels.ts"
import { Signals } from "../../services/Signals.ts"

export const make = Effect.gen(function*() {
  const signals = yield* Signals
  const levels = new Map<AgentId, Level>()
  const floors = new Map<AgentId, number>()
  /** Those whose level comes from an earlier connection. */
  const earlier = new Set<AgentId>()
  return AgentLevels.of({
    connected: Effect.sync(() => {
      for (const agentId of levels.keys()) earlier.add(agentId)
      floors.clear()
    }),
    get: (agentId) => Effect.sync(() => Option.fromNullable(levels.get(agentId))),
    put: (level) =>
      Effect.suspend(() => {
        const known = earlier.has(level.agentId) ? undefined : levels.get(level.agentId)
        // Another incarnation numbers anew: what was known of the old one says nothing about it.
        if (known !== undefined && known.incarnation !== level.incarnation) floors.delete(level.agentId)
        else if (level.number < Math.max(known?.number ?? 0, floors.get(level.agentId) ?? 0)) {
          return Effect.succeed(false)
        }
        earlier.delete(level.agentId)
        levels.set(level.agentId, level)
        return Effect.as(signals.agent(level.agentId), true)
      }),
    acknowledged: (agentId, levelNumber) =>
      Effect.sync(() => {
        floors.set(agentId, Math.max(floors.get(agentId) ?? 0, levelNumber))
      })
  })
})

export const layer = Layer.effect(AgentLevels, make)
