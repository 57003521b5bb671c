// Takes an approved roster into the instance: fleet, agents, names, credentials and first wake policies, inside the
// caller's transaction. Either every entry is taken or nothing is.
import { Clock, Effect, Option } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import { NotAllowed, RosterRejected } from "../../../domain/api/CrossfireErrors.ts"
import { AgentId, FleetId, UserId } from "../../../domain/Ids.ts"
import type { InstanceKey, Roster } from "../../../domain/Roster.ts"
import { type Capacity, rosterProblems } from "../../../domain/RosterCheck.ts"
import type { Database } from "../../../services/Database.ts"
import type { LevelChanges } from "../../../services/LevelChanges.ts"
import { namespacePrefix } from "../../../services/Matrix.ts"
import type { Revocable } from "../../../services/Revocations.ts"
import type { WakePolicies } from "../../../services/WakePolicies.ts"
import * as IdentityRows from "./IdentityRows.ts"

export interface TokenHashes {
  readonly fleetToken: SecretHash
  readonly agentTokens: ReadonlyMap<InstanceKey, SecretHash>
}

const localpartBytes = 8

/**
 * Random, since the Matrix user outlives every name that its agent will have, and is public: nothing can be told from it.
 */
const newUserId = (serverName: string) =>
  Effect.sync(() => UserId.make(`@${namespacePrefix}${randomBytes(localpartBytes).toString("hex")}:${serverName}`))

export const make = (options: {
  readonly database: Database
  readonly wakePolicies: typeof WakePolicies.Service
  readonly levels: typeof LevelChanges.Service
  readonly serverName: string
  /** Where people sign in. */
  readonly webOrigin: string
  readonly capacity: Capacity
}) => {
  const { capacity, levels, serverName, wakePolicies, webOrigin } = options
  const rows = IdentityRows.make(options.database)

  /** Fails with everything that keeps the roster from being taken now. */
  const check = (roster: Roster) =>
    Effect.gen(function*() {
      const role = yield* rows.personRole(roster.owner)
      const agents = yield* rows.allAgents()
      const ownerKnown = Option.isSome(role)
      const problems = rosterProblems(roster, { ownerKnown, serverName, webOrigin, agents, capacity })
      if (problems.length > 0) return yield* new RosterRejected({ problems })
    })

  /** A credential opens one door: each is given once, and none is another's already. */
  const checkTokens = (roster: Roster, tokens: TokenHashes, fleet: Option.Option<{ readonly fleetId: FleetId }>) =>
    Effect.gen(function*() {
      const hashes = [tokens.fleetToken, ...tokens.agentTokens.values()]
      const complete = tokens.agentTokens.size === roster.agents.length &&
        roster.agents.every((agent) => tokens.agentTokens.has(agent.key))
      if (!complete) return yield* new NotAllowed({ reason: "The credentials are not those of the roster's agents" })
      const revoked = yield* rows.revokedAmong(hashes)
      if (revoked.length > 0) {
        return yield* new NotAllowed({
          reason: "A credential of this request was revoked and is never taken again: make new ones, with a new claim"
        })
      }
      const agents = Option.isNone(fleet) ? [] : yield* rows.agentsOf(fleet.value.fleetId)
      const expected = new Map<string, string>(
        agents.flatMap((agent) => {
          const hash = tokens.agentTokens.get(agent.key)
          return hash === undefined ? [] : [[hash, agent.agentId] as const]
        })
      )
      if (Option.isSome(fleet)) expected.set(tokens.fleetToken, fleet.value.fleetId)
      const holders = yield* rows.tokenHolders(hashes)
      const foreign = holders.some(({ holder, tokenHash }) => expected.get(tokenHash) !== holder)
      if (foreign || new Set(hashes).size < hashes.length) {
        return yield* new NotAllowed({ reason: "A credential is in use already; make new ones" })
      }
    })

  /** The fleet of this owner and key, made at its first introduction. A changed credential ends all that came before. */
  const takeFleet = (roster: Roster, tokens: TokenHashes, nowMillis: number) =>
    Effect.gen(function*() {
      const found = yield* rows.fleet({ owner: roster.owner, fleetKey: roster.fleet })
      yield* checkTokens(roster, tokens, found)
      if (Option.isNone(found)) {
        const fleetId = FleetId.make(yield* Effect.sync(() => randomUUID()))
        yield* rows.insertFleet(fleetId, roster.owner, roster.fleet, tokens.fleetToken, nowMillis)
        return { fleetId, existing: [], replaced: false }
      }
      const { fleetId, tokenHash } = found.value
      const existing = yield* rows.agentsOf(fleetId)
      const replaced = tokenHash !== tokens.fleetToken
      if (replaced) {
        yield* rows.setFleetToken(fleetId, tokens.fleetToken)
        yield* rows.endTokens(fleetId)
      }
      return { fleetId, existing, replaced }
    })

  /** The fleet, and the holders whose former credential ended by it. */
  const take = (roster: Roster, tokens: TokenHashes) =>
    Effect.gen(function*() {
      yield* check(roster)
      const nowMillis = yield* Clock.currentTimeMillis
      const fleet = yield* takeFleet(roster, tokens, nowMillis)
      const { fleetId } = fleet
      const existing = new Map(fleet.existing.map((agent) => [agent.key, agent]))
      const renamed = roster.agents.flatMap((agent) => {
        const before = existing.get(agent.key)
        return before === undefined || before.name === agent.name ? [] : [before.agentId]
      })
      if (renamed.length > 0) yield* rows.freeNames(renamed)
      const made: Array<AgentId> = []
      for (const agent of roster.agents) {
        const tokenHash = tokens.agentTokens.get(agent.key)
        if (tokenHash === undefined) return yield* Effect.dieMessage("an agent without a checked credential")
        const before = existing.get(agent.key)
        if (before === undefined) {
          const agentId = AgentId.make(yield* Effect.sync(() => randomUUID()))
          const { engine, key, name } = agent
          yield* rows.insertAgent({
            agentId,
            fleetId,
            owner: roster.owner,
            key,
            name,
            userId: yield* newUserId(serverName),
            engine,
            tokenHash,
            createdAtMillis: nowMillis
          })
          yield* wakePolicies.install(agentId, roster.owner)
          made.push(agentId)
        } else {
          if (before.name !== agent.name) yield* rows.rename(before.agentId, agent.name)
          if (before.engine !== agent.engine) yield* rows.setEngine(before.agentId, agent.engine)
          yield* rows.setAgentToken(before.agentId, tokenHash)
        }
      }
      yield* levels.raise([...made, ...renamed])
      const ended = fleet.existing.flatMap(({ agentId, key, tokenHash }): ReadonlyArray<Revocable> => {
        const now = tokens.agentTokens.get(key) ?? (fleet.replaced ? null : tokenHash)
        return tokenHash === null || tokenHash === now ? [] : [{ agent: agentId }]
      })
      return { fleetId, ended: fleet.replaced ? [{ fleet: fleetId }, ...ended] : ended }
    })

  return { check, take }
}

export type RosterTaking = ReturnType<typeof make>
