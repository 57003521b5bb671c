// Whether a roster can be taken into an instance: owner, names, keys, capacity. Pure, so that preflight, submission and
// introduction ask the same question; what is known is loaded by the caller.
import { Schema } from "effect"
import type { RosterRejected } from "./api/CrossfireErrors.ts"
import { nameSkeleton, Roster } from "./Roster.ts"
import { serverOf } from "./SystemUsers.ts"

export type RosterProblem = RosterRejected["problems"][number]

/** The roster as it is stored and reviewed. */
export const RosterJson = Schema.parseJson(Roster)

/** The largest roster, as UTF-8 bytes of its JSON: small enough for a review that a person can read. */
export const maxRosterBytes = 262_144

const encodeRoster = Schema.encodeSync(RosterJson)

export const rosterBytes = (roster: Roster): number => new TextEncoder().encode(encodeRoster(roster)).length

/** Whether two rosters are the same request: every setting, and the order in which the owner reads them. */
export const sameRoster = Schema.equivalence(Roster)

/** An agent of the instance, retired ones included: their names stay theirs. */
export interface KnownAgent {
  readonly owner: string
  readonly fleetKey: string
  readonly key: string
  readonly name: string
  readonly retired: boolean
}

export interface Capacity {
  readonly maxAgentsPerOwner: number
  readonly maxAgentsPerInstance: number
}

export const usualCapacity: Capacity = { maxAgentsPerOwner: 64, maxAgentsPerInstance: 1_000 }

export interface RosterWorld {
  readonly ownerKnown: boolean
  /** Whose users can own agents. */
  readonly serverName: string
  /** Where people sign in. */
  readonly webOrigin: string
  readonly agents: ReadonlyArray<KnownAgent>
  readonly capacity: Capacity
}

/** Keys and names that the roster itself uses twice; names by what people could take for one another. */
const twice = (roster: Roster): ReadonlyArray<RosterProblem> => {
  const keys = new Map<string, string>()
  const names = new Map<string, string>()
  return roster.agents.flatMap((agent): ReadonlyArray<RosterProblem> => {
    const sameKey = keys.get(agent.key)
    const sameName = names.get(nameSkeleton(agent.name))
    keys.set(agent.key, agent.key)
    names.set(nameSkeleton(agent.name), agent.name)
    return [
      ...(sameKey === undefined ? [] : [{
        entry: agent.key,
        reason: "key-twice" as const,
        detail: `the key "${agent.key}" stands twice in the roster`
      }]),
      ...(sameName === undefined ? [] : [{
        entry: agent.key,
        reason: "name-twice" as const,
        detail: sameName === agent.name
          ? `the name "${agent.name}" stands twice in the roster`
          : `the name "${agent.name}" could be taken for "${sameName}" in the same roster`
      }])
    ]
  })
}

/** The agents of the roster's own fleet: an entry with the key of one of them is that agent, renamed or not. */
const sameFleet = (roster: Roster) => (agent: KnownAgent): boolean =>
  agent.owner === roster.owner && agent.fleetKey === roster.fleet

const taken = (roster: Roster, world: RosterWorld): ReadonlyArray<RosterProblem> => {
  const keys = new Set<string>(roster.agents.map((agent) => agent.key))
  const own = sameFleet(roster)
  const others = new Map(
    world.agents.filter((agent) => !(own(agent) && keys.has(agent.key))).map((
      agent
    ) => [nameSkeleton(agent.name), agent.name])
  )
  const retired = new Set(world.agents.filter((agent) => own(agent) && agent.retired).map((agent) => agent.key))
  return roster.agents.flatMap((agent): ReadonlyArray<RosterProblem> => {
    const other = others.get(nameSkeleton(agent.name))
    return [
      ...(other === undefined ? [] : [{
        entry: agent.key,
        reason: "name-taken" as const,
        detail: other === agent.name
          ? `the name "${agent.name}" is taken`
          : `the name "${agent.name}" could be taken for "${other}", which exists`
      }]),
      ...(!retired.has(agent.key) ? [] : [{
        entry: agent.key,
        reason: "agent-retired" as const,
        detail:
          `the agent with the key "${agent.key}" was retired for good; delete its entry, or use another key for a new agent`
      }])
    ]
  })
}

const overCapacity = (roster: Roster, world: RosterWorld): ReadonlyArray<RosterProblem> => {
  const keys = new Set<string>(roster.agents.map((agent) => agent.key))
  const own = sameFleet(roster)
  const staying = world.agents.filter((agent) => !agent.retired && !(own(agent) && keys.has(agent.key)))
  const ofOwner = staying.filter((agent) => agent.owner === roster.owner).length + roster.agents.length
  const ofInstance = staying.length + roster.agents.length
  const { maxAgentsPerInstance, maxAgentsPerOwner } = world.capacity
  const problem = (detail: string) => [{ entry: roster.fleet, reason: "over-capacity" as const, detail }]
  if (ofOwner > maxAgentsPerOwner) {
    return problem(`the owner would have ${ofOwner} agents; ${maxAgentsPerOwner} are allowed`)
  }
  if (ofInstance > maxAgentsPerInstance) {
    return problem(`the instance would have ${ofInstance} agents; ${maxAgentsPerInstance} are allowed`)
  }
  return []
}

/** Everything that keeps the roster from being taken; empty when nothing does. */
export const rosterProblems = (roster: Roster, world: RosterWorld): ReadonlyArray<RosterProblem> => {
  if (serverOf(roster.owner) !== world.serverName) {
    return [{
      entry: roster.fleet,
      reason: "unknown-owner",
      detail: `${roster.owner} is a user of another homeserver; an owner here has the account on ${world.serverName}`
    }]
  }
  // What agents the owner has is told to nobody who only names an owner that is not there.
  if (!world.ownerKnown) {
    return [{
      entry: roster.fleet,
      reason: "unknown-owner",
      detail:
        `${roster.owner} is not known to this instance yet; let the owner sign in once at ${world.webOrigin}, or ask ` +
        "its operator, who makes somebody known with: crossfire person add NAME"
    }]
  }
  const bytes = rosterBytes(roster)
  const size: ReadonlyArray<RosterProblem> = bytes <= maxRosterBytes ? [] : [{
    entry: roster.fleet,
    reason: "too-large",
    detail: `the roster takes ${bytes} bytes; ${maxRosterBytes} are allowed`
  }]
  return [...size, ...twice(roster), ...taken(roster, world), ...overCapacity(roster, world)]
}
