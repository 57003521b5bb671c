// The roster: which agents a fleet has and how each is set up. Read from TOML by `fleet`, reviewed by the owner, claimed
// whole. Pure: reading files and asking the server happen elsewhere.
import { Schema } from "effect"
import { EngineKind } from "./Engine.ts"
import { UserId } from "./Ids.ts"

/** A key never shown to other people and never changed: lower-case letters, digits and hyphens, 1 to 40. */
const Key = (what: string) =>
  Schema.String.pipe(Schema.pattern(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/u, {
    message: () => `${what} takes 1 to 40 lower-case letters, digits and inner hyphens`
  }))

export const FleetKey = Key("the fleet key").pipe(Schema.brand("FleetKey"))
export type FleetKey = typeof FleetKey.Type

export const InstanceKey = Key("the instance key").pipe(Schema.brand("InstanceKey"))
export type InstanceKey = typeof InstanceKey.Type

/** An agent's name as people see it, unique in the crossfire instance: the same grammar, 2 to 32 characters. */
export const RegisteredName = Schema.String.pipe(
  Schema.pattern(/^[a-z](?:[a-z0-9-]{0,30}[a-z0-9])$/u, {
    message: () => "a name takes 2 to 32 lower-case letters, digits and inner hyphens, and starts with a letter"
  }),
  Schema.brand("RegisteredName")
)
export type RegisteredName = typeof RegisteredName.Type

export const HistoryMode = Schema.Literal("shared", "per-room")
export type HistoryMode = typeof HistoryMode.Type

export const RosterAgent = Schema.Struct({
  key: InstanceKey,
  name: RegisteredName,
  engine: EngineKind,
  model: Schema.NonEmptyString.pipe(Schema.maxLength(200)),
  effort: Schema.NullOr(Schema.NonEmptyString.pipe(Schema.maxLength(40))),
  /** Where the agent works; absolute after reading. */
  work_folder: Schema.NonEmptyString.pipe(Schema.maxLength(1000)),
  history_mode: HistoryMode,
  instructions: Schema.NullOr(Schema.String.pipe(Schema.maxLength(20_000)))
})
export type RosterAgent = typeof RosterAgent.Type

/** How many agents one roster may name. */
export const maxRosterAgents = 64

export const Roster = Schema.Struct({
  fleet: FleetKey,
  owner: UserId,
  agents: Schema.Array(RosterAgent).pipe(
    Schema.minItems(1, { message: () => "a roster names at least one agent" }),
    Schema.maxItems(maxRosterAgents)
  )
})
export type Roster = typeof Roster.Type

/** What two names share when people could take one for the other: hyphens fall away, look-alike digits become letters. */
export const nameSkeleton = (name: string): string =>
  name.toLowerCase().replaceAll("-", "").replaceAll("0", "o").replaceAll("1", "l").replaceAll("i", "l").replaceAll(
    "5",
    "s"
  ).replaceAll("rn", "m").replaceAll("vv", "w")

/** The name that rooms show. It grants nothing. */
export const displayName = (name: string, owner: UserId): string => `${name} (${owner.slice(1).split(":")[0]})`
