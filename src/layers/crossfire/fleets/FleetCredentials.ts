// The credentials of a whole fleet: revoked by whoever manages it, replaced by the fleet itself under its lease. All or none.
import { Clock, Effect, Option } from "effect"
import { type Actor, mayManageAgentsOf } from "../../../domain/Actor.ts"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import { NotAllowed, NotFound } from "../../../domain/api/CrossfireErrors.ts"
import type { FleetId } from "../../../domain/Ids.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { FleetDirectory } from "../../../services/FleetDirectory.ts"
import { FleetLeases } from "../../../services/FleetLeases.ts"
import { type Revocable, Revocations } from "../../../services/Revocations.ts"
import * as FleetRows from "./FleetRows.ts"

/** One credential that a rotation names: whose it is, what it was, what it becomes. */
interface Replacement {
  readonly of: Revocable
  readonly before: string | null
  readonly after: SecretHash
}

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const changes = yield* Changes
  const leases = yield* FleetLeases
  const revocations = yield* Revocations
  const rows = FleetRows.make(database)

  const revoke = (by: Actor, fleetId: FleetId) =>
    database.transaction(Effect.gen(function*() {
      const fleet = yield* rows.fleet(fleetId)
      if (Option.isNone(fleet) || !mayManageAgentsOf(by, fleet.value.owner)) {
        return yield* new NotFound({ what: "fleet" })
      }
      const agents = yield* rows.agentsOf(fleetId)
      const nowMillis = yield* Clock.currentTimeMillis
      const hashes = [
        fleet.value.tokenHash,
        ...agents.flatMap(({ tokenHash }) => tokenHash === null ? [] : [tokenHash])
      ]
      yield* Effect.all(rows.burn(hashes, nowMillis))
      if (!fleet.value.revoked) yield* Effect.all(rows.endFleetTokens(fleetId, nowMillis))
      const ended: ReadonlyArray<Revocable> = [{ fleet: fleetId }, ...agents.map(({ agentId }) => ({ agent: agentId }))]
      return { owner: fleet.value.owner, ended }
    })).pipe(
      Effect.tap(({ ended, owner }) => Effect.zipRight(revocations.announce(ended), changes.publish("fleets", owner))),
      // Whoever holds a stream under one of them hears of it, also when the asker is gone by then.
      Effect.uninterruptible
    )

  /** The fleet's own first, then its agents' in the order named; refused where one is not the fleet's to replace. */
  const replacements = (
    fleet: FleetRows.FleetRow,
    tokens: Parameters<typeof FleetDirectory.Service.rotateCredentials>[2]
  ) =>
    Effect.gen(function*() {
      const agents = new Map((yield* rows.agentsOf(fleet.fleetId)).map((agent) => [agent.agentId, agent]))
      const found: Array<Replacement> = [
        { of: { fleet: fleet.fleetId }, before: fleet.tokenHash, after: tokens.fleetToken }
      ]
      for (const { agentId, token } of tokens.agentTokens) {
        const agent = agents.get(agentId)
        if (agent === undefined) return yield* new NotAllowed({ reason: `${agentId} is no agent of this fleet` })
        if (agent.retired) return yield* new NotAllowed({ reason: `${agent.name} is retired and gets no credential` })
        found.push({ of: { agent: agentId }, before: agent.tokenHash, after: token })
      }
      const named = new Set(tokens.agentTokens.map(({ agentId }) => agentId))
      if (named.size < tokens.agentTokens.length || new Set(found.map(({ after }) => after)).size < found.length) {
        return yield* new NotAllowed({ reason: "Each agent is named once, each with a credential of its own" })
      }
      return found
    })

  const rotateCredentials: typeof FleetDirectory.Service.rotateCredentials = (fleetId, stamp, tokens) =>
    database.transaction(Effect.gen(function*() {
      yield* leases.require(fleetId, stamp)
      const fleet = yield* Effect.flatMap(
        rows.fleet(fleetId),
        Option.match({
          onNone: () => Effect.dieMessage(`no fleet ${fleetId}`),
          onSome: Effect.succeed
        })
      )
      const all = yield* replacements(fleet, tokens)
      // What stands already, by an earlier try of the same request, stays.
      const due = all.filter(({ after, before }) => before !== after)
      const known = due.length === 0 ? [] : yield* rows.known(due.map(({ after }) => after))
      if (known.length > 0) {
        return yield* new NotAllowed({ reason: "A credential was in use before or is now; make new ones" })
      }
      const nowMillis = yield* Clock.currentTimeMillis
      for (const { after, before, of } of due) {
        if (before !== null) yield* Effect.all(rows.burn([before], nowMillis))
        if ("fleet" in of) yield* rows.setFleetToken(of.fleet, after)
        else if ("agent" in of) yield* rows.setAgentToken(of.agent, after)
      }
      return { ended: due.map(({ of }) => of), owner: fleet.owner, rotated: all.length }
    })).pipe(
      Effect.tap(({ ended, owner }) =>
        ended.length === 0
          ? Effect.void
          : Effect.zipRight(revocations.announce(ended), changes.publish("fleets", owner))
      ),
      Effect.uninterruptible,
      Effect.map(({ rotated }) => ({ rotated }))
    )

  return { revoke, rotateCredentials }
})
