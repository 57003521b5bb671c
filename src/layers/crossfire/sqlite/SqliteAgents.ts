// `Agents` over crossfire's database.
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Layer, Option, Schema } from "effect"
import { AgentId, FleetId, UserId } from "../../../domain/Ids.ts"
import { nameSkeleton } from "../../../domain/Roster.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { type Agent, Agents } from "../../../services/store/Agents.ts"
import { inBatches } from "./Batches.ts"

/** Columns of `agent` that make an `Agent`; `a` is the table's alias in joins. */
export const agentColumns = [
  "a.agent_id",
  "a.fleet_id",
  "a.owner",
  "a.name",
  "a.user_id",
  "a.enabled",
  "a.may_invite_agents",
  "a.retired_at"
].join(", ")

export const AgentRow = Schema.Struct({
  agent_id: AgentId,
  fleet_id: FleetId,
  owner: UserId,
  name: Schema.String,
  user_id: UserId,
  enabled: Schema.Int,
  may_invite_agents: Schema.Int,
  retired_at: Schema.NullOr(Schema.Int)
})

export const agentOf = (row: typeof AgentRow.Type): Agent => ({
  agentId: row.agent_id,
  fleetId: row.fleet_id,
  owner: row.owner,
  name: row.name,
  userId: row.user_id,
  active: row.enabled === 1 && row.retired_at === null,
  retired: row.retired_at !== null,
  mayInviteAgents: row.may_invite_agents === 1 && row.retired_at === null
})

const decodeRows = Schema.decodeUnknown(Schema.Array(AgentRow))
const decodePersons = Schema.decodeUnknown(Schema.Array(Schema.Struct({ user_id: UserId })))

export const make = Effect.gen(function*() {
  const { read, sql } = yield* CrossfireDb
  const columns = sql.literal(agentColumns)
  const agents = (rows: ReadonlyArray<unknown>) => Effect.map(decodeRows(rows), (decoded) => decoded.map(agentOf))

  const peopleAmong = (users: ReadonlyArray<UserId>, condition: Fragment) =>
    read(
      inBatches(users, (some) =>
        Effect.flatMap(
          sql`SELECT user_id FROM person WHERE ${condition} AND ${sql.in("user_id", some)}`,
          decodePersons
        ))
        .pipe(Effect.map((found) => new Set(found.map((person) => person.user_id))))
    )

  return Agents.of({
    all: read(Effect.flatMap(sql`SELECT ${columns} FROM agent a ORDER BY a.agent_id`, agents)),
    ofFleet: (fleetId) =>
      read(
        Effect.flatMap(sql`SELECT ${columns} FROM agent a WHERE a.fleet_id = ${fleetId} ORDER BY a.agent_id`, agents)
      ),
    byId: (agentId) =>
      read(
        Effect.flatMap(sql`SELECT ${columns} FROM agent a WHERE a.agent_id = ${agentId}`, agents).pipe(
          Effect.map((found) => Option.fromNullable(found[0]))
        )
      ),
    byUsers: (users) =>
      read(
        inBatches(users, (some) =>
          Effect.flatMap(sql`SELECT ${columns} FROM agent a WHERE ${sql.in("user_id", some)}`, agents)).pipe(
            Effect.map((found) =>
              new Map(found.map((agent) => [agent.userId, agent]))
            )
          )
      ),
    byNameSkeletons: (skeletons) =>
      read(
        inBatches(skeletons, (some) =>
          Effect.flatMap(sql`SELECT ${columns} FROM agent a WHERE ${sql.in("name_skeleton", some)}`, agents)).pipe(
            Effect.map((found) =>
              new Map(found.map((agent) => [nameSkeleton(agent.name), agent]))
            )
          )
      ),
    administratorsAmong: (users) => peopleAmong(users, sql`role = 'administrator' AND deactivated_at IS NULL`),
    deactivatedAmong: (users) => peopleAmong(users, sql`deactivated_at IS NOT NULL`)
  })
})

export const layer = Layer.effect(Agents, make)
