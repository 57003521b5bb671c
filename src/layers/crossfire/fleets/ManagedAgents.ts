// What is done to one agent by whoever manages it: its name, its permission, its credential, its retirement. ID and Matrix
// user are not among it.
import { Clock, Effect, Option } from "effect"
import { type Actor, mayManageAgentsOf } from "../../../domain/Actor.ts"
import { AgentRetired, NameTaken } from "../../../domain/api/AccessErrors.ts"
import { NotFound } from "../../../domain/api/CrossfireErrors.ts"
import type { AgentId } from "../../../domain/Ids.ts"
import { AgentAccounts } from "../../../services/AgentAccounts.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { FleetDirectory } from "../../../services/FleetDirectory.ts"
import { LevelChanges } from "../../../services/LevelChanges.ts"
import { Revocations } from "../../../services/Revocations.ts"
import { Decisions } from "../../../services/store/Decisions.ts"
import { SweepQueue } from "../../../services/SweepQueue.ts"
import * as FleetRows from "./FleetRows.ts"

const missing = Effect.fail(new NotFound({ what: "agent" }))

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const accounts = yield* AgentAccounts
  const changes = yield* Changes
  const decisions = yield* Decisions
  const levels = yield* LevelChanges
  const queue = yield* SweepQueue
  const revocations = yield* Revocations
  const rows = FleetRows.make(database)

  const found = (agentId: AgentId) =>
    Effect.flatMap(
      rows.agent(agentId),
      Option.match({
        onNone: () => missing,
        onSome: Effect.succeed
      })
    )

  const managed = (by: Actor, agentId: AgentId) =>
    found(agentId).pipe(
      Effect.filterOrElse((agent) => mayManageAgentsOf(by, agent.owner), () => missing),
      Effect.filterOrFail((agent) => !agent.retired, (agent) => new AgentRetired({ name: agent.name }))
    )

  /**
   * One transaction on one agent that the actor manages, then what follows from it. Nobody's going away can part the two:
   * whoever holds a stream under an ended credential hears of it.
   */
  const change = <A, E, R>(
    by: Actor,
    agentId: AgentId,
    body: (agent: FleetRows.AgentRow) => Effect.Effect<A, E, R>,
    after: (agent: FleetRows.AgentRow) => Effect.Effect<void>
  ) =>
    database.transaction(Effect.gen(function*() {
      const agent = yield* managed(by, agentId)
      yield* body(agent)
      return yield* Effect.orDie(found(agentId))
    })).pipe(
      Effect.tap((agent) => Effect.zipRight(after(agent), changes.publish("fleets", agent.owner))),
      Effect.uninterruptible,
      Effect.map(FleetRows.viewOf)
    )

  /** What its credential opened ends, and the credential is never taken again. */
  const endCredential = (agent: FleetRows.AgentRow) =>
    Effect.gen(function*() {
      if (agent.tokenHash === null) return
      yield* Effect.all(rows.burn([agent.tokenHash], yield* Clock.currentTimeMillis))
      yield* rows.endAgentToken(agent.agentId)
    })

  const announced = ({ agentId }: FleetRows.AgentRow) => revocations.announce([{ agent: agentId }])

  const rename: typeof FleetDirectory.Service.rename = (by, agentId, name) =>
    change(by, agentId, (agent) =>
      Effect.gen(function*() {
        if (agent.name === name) return
        const other = yield* rows.nameLike({ name, besides: agentId })
        if (Option.isSome(other)) return yield* new NameTaken({ name, like: other.value.name })
        yield* rows.rename(agentId, name)
        yield* levels.raise([agentId])
      }), () => accounts.follow)

  const setMayInviteAgents: typeof FleetDirectory.Service.setMayInviteAgents = (by, agentId, allowed) =>
    change(by, agentId, () => rows.setMayInviteAgents(agentId, allowed), () => Effect.void)

  const revokeAgentCredential: typeof FleetDirectory.Service.revokeAgentCredential = (by, agentId) =>
    change(by, agentId, endCredential, announced)

  const retire: typeof FleetDirectory.Service.retire = (by, agentId) =>
    change(
      by,
      agentId,
      (agent) =>
        Effect.gen(function*() {
          yield* endCredential(agent)
          yield* Effect.all(rows.retire(agentId, yield* Clock.currentTimeMillis))
          yield* decisions.closeAll(agentId, "withdrawn")
          yield* levels.raise([agentId])
        }),
      // Its rooms are left on the homeserver by the look, now or after the next start, however often it takes.
      (agent) => Effect.zipRight(announced(agent), queue.users([agent.userId]))
    )

  return { rename, setMayInviteAgents, revokeAgentCredential, retire }
})
