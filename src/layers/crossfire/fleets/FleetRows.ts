// The rows of fleets and agents as people see and manage them, and of credentials that ended. It decides nothing.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Schema } from "effect"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import type { AgentView } from "../../../domain/api/Management.ts"
import { EngineKind } from "../../../domain/Engine.ts"
import { AgentId, FleetId, UserId } from "../../../domain/Ids.ts"
import { displayName, FleetKey, InstanceKey, nameSkeleton, RegisteredName } from "../../../domain/Roster.ts"
import type { Database } from "../../../services/Database.ts"

const Flag = Schema.transformLiterals([0, false], [1, true])

export const FleetRow = Schema.Struct({
  fleetId: FleetId,
  owner: UserId,
  key: FleetKey,
  tokenHash: Schema.String,
  revoked: Flag,
  createdAtMillis: Schema.Int
})
export type FleetRow = typeof FleetRow.Type

export const AgentRow = Schema.Struct({
  agentId: AgentId,
  fleetId: FleetId,
  owner: UserId,
  key: InstanceKey,
  name: RegisteredName,
  userId: UserId,
  engine: EngineKind,
  tokenHash: Schema.NullOr(Schema.String),
  mayInviteAgents: Flag,
  retired: Flag,
  createdAtMillis: Schema.Int
})
export type AgentRow = typeof AgentRow.Type

export const viewOf = (agent: AgentRow): AgentView => ({
  agentId: agent.agentId,
  key: agent.key,
  name: agent.name,
  displayName: displayName(agent.name, agent.owner),
  userId: agent.userId,
  engine: agent.engine,
  standing: agent.retired ? "retired" : "active",
  credential: agent.tokenHash === null ? "revoked" : "valid",
  mayInviteAgents: agent.mayInviteAgents,
  createdAtMillis: agent.createdAtMillis
})

export const make = ({ sql }: Database) => {
  const fleetColumns = sql.literal(
    `fleet_id AS fleetId, owner, fleet_key AS key, token_hash AS tokenHash, revoked_at IS NOT NULL AS revoked,
     created_at AS createdAtMillis`
  )
  const agentColumns = sql.literal(
    `agent_id AS agentId, fleet_id AS fleetId, owner, instance_key AS key, name, user_id AS userId, engine,
     token_hash AS tokenHash, may_invite_agents AS mayInviteAgents, retired_at IS NOT NULL AS retired,
     created_at AS createdAtMillis`
  )
  const ofOwner = (owner: string | null) => sql`owner = COALESCE(${owner}, owner)`

  return {
    /** Of one owner, or of all. */
    fleets: SqlSchema.findAll({
      Request: Schema.Struct({ owner: Schema.NullOr(UserId), maxRows: Schema.Int }),
      Result: FleetRow,
      execute: ({ maxRows, owner }) =>
        sql`SELECT ${fleetColumns} FROM fleet WHERE ${ofOwner(owner)} ORDER BY owner, fleet_key LIMIT ${maxRows}`
    }),
    /** Of one owner, or of all; where not all find room, retired ones are left out first. */
    agents: SqlSchema.findAll({
      Request: Schema.Struct({ owner: Schema.NullOr(UserId), maxRows: Schema.Int }),
      Result: AgentRow,
      execute: ({ maxRows, owner }) =>
        sql`SELECT * FROM (
              SELECT ${agentColumns} FROM agent WHERE ${ofOwner(owner)}
              ORDER BY retired_at IS NOT NULL, created_at, agent_id LIMIT ${maxRows}
            ) ORDER BY key`
    }),
    fleet: SqlSchema.findOne({
      Request: FleetId,
      Result: FleetRow,
      execute: (fleetId) => sql`SELECT ${fleetColumns} FROM fleet WHERE fleet_id = ${fleetId}`
    }),
    agentsOf: SqlSchema.findAll({
      Request: FleetId,
      Result: AgentRow,
      execute: (fleetId) => sql`SELECT ${agentColumns} FROM agent WHERE fleet_id = ${fleetId} ORDER BY instance_key`
    }),
    agent: SqlSchema.findOne({
      Request: AgentId,
      Result: AgentRow,
      execute: (agentId) => sql`SELECT ${agentColumns} FROM agent WHERE agent_id = ${agentId}`
    }),
    /** Whoever's name people could take for this one, retired agents included. */
    nameLike: SqlSchema.findOne({
      Request: Schema.Struct({ name: RegisteredName, besides: AgentId }),
      Result: Schema.Struct({ name: Schema.String }),
      execute: ({ besides, name }) =>
        sql`SELECT name FROM agent WHERE name_skeleton = ${nameSkeleton(name)} AND agent_id <> ${besides}`
    }),
    /** The Matrix user gets its display name anew. */
    rename: (agentId: AgentId, name: RegisteredName) =>
      sql`UPDATE agent SET name = ${name}, name_skeleton = ${nameSkeleton(name)}, registered_at = NULL
          WHERE agent_id = ${agentId}`,
    setMayInviteAgents: (agentId: AgentId, allowed: boolean) =>
      sql`UPDATE agent SET may_invite_agents = ${allowed ? 1 : 0} WHERE agent_id = ${agentId}`,

    /** Permission goes everywhere; what its memberships are is the homeserver's to say, and followed from there. */
    retire: (agentId: AgentId, nowMillis: number) => [
      sql`UPDATE agent SET retired_at = ${nowMillis}, authority_revision = authority_revision + 1
          WHERE agent_id = ${agentId}`,
      sql`UPDATE participation SET permitted_by = NULL, permitted_at = NULL, updated_at = ${nowMillis}
          WHERE agent_id = ${agentId}`
    ],

    /** Never taken again, whoever offers them. */
    burn: (hashes: ReadonlyArray<string>, nowMillis: number) =>
      hashes.map((hash) =>
        sql`INSERT INTO revoked_token (token_hash, revoked_at) VALUES (${hash}, ${nowMillis}) ON CONFLICT DO NOTHING`
      ),
    endAgentToken: (agentId: AgentId) => sql`UPDATE agent SET token_hash = NULL WHERE agent_id = ${agentId}`,
    endFleetTokens: (fleetId: FleetId, nowMillis: number) => [
      sql`UPDATE fleet SET revoked_at = ${nowMillis} WHERE fleet_id = ${fleetId}`,
      sql`UPDATE agent SET token_hash = NULL WHERE fleet_id = ${fleetId}`
    ],
    setFleetToken: (fleetId: FleetId, hash: SecretHash) =>
      sql`UPDATE fleet SET token_hash = ${hash} WHERE fleet_id = ${fleetId}`,
    setAgentToken: (agentId: AgentId, hash: SecretHash) =>
      sql`UPDATE agent SET token_hash = ${hash} WHERE agent_id = ${agentId}`,
    /** Which of these hashes are somebody's, or were revoked: those have no holder. */
    known: SqlSchema.findAll({
      Request: Schema.Array(Schema.String),
      Result: Schema.Struct({ holder: Schema.NullOr(Schema.String), tokenHash: Schema.String }),
      execute: (hashes) =>
        sql`SELECT fleet_id AS holder, token_hash AS tokenHash FROM fleet WHERE ${sql.in("token_hash", hashes)}
            UNION ALL
            SELECT agent_id, token_hash FROM agent WHERE ${sql.in("token_hash", hashes)}
            UNION ALL
            SELECT NULL, token_hash FROM revoked_token WHERE ${sql.in("token_hash", hashes)}`
    })
  }
}

export type FleetRows = ReturnType<typeof make>
