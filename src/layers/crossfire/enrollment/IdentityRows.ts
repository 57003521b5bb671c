// The rows of people, fleets and agents as enrollment makes and changes them. An agent's ID and Matrix user are written
// once, at its first introduction; nothing here changes them.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Schema } from "effect"
import { PersonRole } from "../../../domain/Actor.ts"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import { EngineKind } from "../../../domain/Engine.ts"
import { AgentId, FleetId, UserId } from "../../../domain/Ids.ts"
import { FleetKey, InstanceKey, nameSkeleton, RegisteredName } from "../../../domain/Roster.ts"
import type { Database } from "../../../services/Database.ts"

export type { PersonRole }

const Flag = Schema.transformLiterals([0, false], [1, true])

export const AgentRow = Schema.Struct({
  agentId: AgentId,
  fleetId: FleetId,
  owner: UserId,
  fleetKey: FleetKey,
  key: InstanceKey,
  name: RegisteredName,
  userId: UserId,
  engine: EngineKind,
  tokenHash: Schema.NullOr(Schema.String),
  retired: Flag,
  registered: Flag
})
export type AgentRow = typeof AgentRow.Type

export const make = ({ sql }: Database) => {
  const agentColumns = sql.literal(
    `agent.agent_id AS agentId, agent.fleet_id AS fleetId, fleet.owner, fleet.fleet_key AS fleetKey,
     agent.instance_key AS key, agent.name, agent.user_id AS userId, agent.engine, agent.token_hash AS tokenHash,
     agent.retired_at IS NOT NULL AS retired, agent.registered_at IS NOT NULL AS registered`
  )
  const agents = sql.literal("agent JOIN fleet USING (fleet_id)")

  return {
    /** None for somebody who was deactivated, as for somebody unknown. */
    personRole: SqlSchema.findOne({
      Request: UserId,
      Result: Schema.Struct({ role: PersonRole }),
      execute: (userId) => sql`SELECT role FROM person WHERE user_id = ${userId} AND deactivated_at IS NULL`
    }),

    fleet: SqlSchema.findOne({
      Request: Schema.Struct({ owner: UserId, fleetKey: FleetKey }),
      Result: Schema.Struct({ fleetId: FleetId, tokenHash: Schema.String }),
      execute: ({ fleetKey, owner }) =>
        sql`SELECT fleet_id AS fleetId, token_hash AS tokenHash FROM fleet
            WHERE owner = ${owner} AND fleet_key = ${fleetKey}`
    }),
    /** Which of these hashes are in use already, and by whom. */
    tokenHolders: SqlSchema.findAll({
      Request: Schema.Array(Schema.String),
      Result: Schema.Struct({ holder: Schema.String, tokenHash: Schema.String }),
      execute: (hashes) =>
        sql`SELECT fleet_id AS holder, token_hash AS tokenHash FROM fleet WHERE ${sql.in("token_hash", hashes)}
            UNION ALL
            SELECT agent_id AS holder, token_hash AS tokenHash FROM agent WHERE ${sql.in("token_hash", hashes)}`
    }),
    insertFleet: (fleetId: FleetId, owner: UserId, fleetKey: FleetKey, tokenHash: SecretHash, nowMillis: number) =>
      sql`INSERT INTO fleet (fleet_id, owner, fleet_key, token_hash, created_at)
          VALUES (${fleetId}, ${owner}, ${fleetKey}, ${tokenHash}, ${nowMillis})`,
    /** A fleet whose credential was revoked has one again by this. */
    setFleetToken: (fleetId: FleetId, tokenHash: SecretHash) =>
      sql`UPDATE fleet SET token_hash = ${tokenHash}, revoked_at = NULL WHERE fleet_id = ${fleetId}`,
    /** Which of these hashes were revoked. */
    revokedAmong: SqlSchema.findAll({
      Request: Schema.Array(Schema.String),
      Result: Schema.Struct({ tokenHash: Schema.String }),
      execute: (hashes) => sql`SELECT token_hash AS tokenHash FROM revoked_token WHERE ${sql.in("token_hash", hashes)}`
    }),

    agent: SqlSchema.findOne({
      Request: AgentId,
      Result: AgentRow,
      execute: (agentId) => sql`SELECT ${agentColumns} FROM ${agents} WHERE agent.agent_id = ${agentId}`
    }),
    allAgents: SqlSchema.findAll({
      Request: Schema.Void,
      Result: AgentRow,
      execute: () => sql`SELECT ${agentColumns} FROM ${agents} ORDER BY agent.created_at, agent.instance_key`
    }),
    agentsOf: SqlSchema.findAll({
      Request: FleetId,
      Result: AgentRow,
      execute: (fleetId) =>
        sql`SELECT ${agentColumns} FROM ${agents} WHERE agent.fleet_id = ${fleetId} ORDER BY agent.instance_key`
    }),
    /** By owner and key, without the retired ones; none where there is no such fleet yet. */
    standingAgents: SqlSchema.findAll({
      Request: Schema.Struct({ owner: UserId, fleetKey: FleetKey }),
      Result: AgentRow,
      execute: ({ fleetKey, owner }) =>
        sql`SELECT ${agentColumns} FROM ${agents}
            WHERE fleet.owner = ${owner} AND fleet.fleet_key = ${fleetKey} AND agent.retired_at IS NULL
            ORDER BY agent.instance_key`
    }),
    /**
     * Agents, of one fleet or of all, whose Matrix user is not known to stand with its present display name. Retired ones
     * too: a name that they gave up may be another's by now.
     */
    unregistered: SqlSchema.findAll({
      Request: Schema.NullOr(FleetId),
      Result: AgentRow,
      execute: (fleetId) =>
        sql`SELECT ${agentColumns} FROM ${agents}
            WHERE registered_at IS NULL AND agent.fleet_id = COALESCE(${fleetId}, agent.fleet_id)`
    }),
    registered: (agent: AgentRow, nowMillis: number) =>
      sql`UPDATE agent SET registered_at = ${nowMillis} WHERE agent_id = ${agent.agentId} AND name = ${agent.name}`,

    insertAgent: (agent: {
      readonly agentId: AgentId
      readonly fleetId: FleetId
      readonly owner: UserId
      readonly key: InstanceKey
      readonly name: RegisteredName
      readonly userId: UserId
      readonly engine: EngineKind
      readonly tokenHash: SecretHash
      readonly createdAtMillis: number
    }) =>
      sql`INSERT INTO agent (agent_id, fleet_id, instance_key, owner, name, name_skeleton, user_id, engine, token_hash,
                             created_at)
          VALUES (${agent.agentId}, ${agent.fleetId}, ${agent.key}, ${agent.owner}, ${agent.name},
                  ${nameSkeleton(agent.name)}, ${agent.userId}, ${agent.engine}, ${agent.tokenHash},
                  ${agent.createdAtMillis})`,
    /** Frees the names of agents that are about to be renamed, so that two of them can exchange theirs. */
    freeNames: (agentIds: ReadonlyArray<AgentId>) =>
      sql`UPDATE agent SET name = '~' || agent_id, name_skeleton = '~' || agent_id
          WHERE ${sql.in("agent_id", agentIds)}`,
    /** A renamed agent's Matrix user gets its display name anew. */
    rename: (agentId: AgentId, name: RegisteredName) =>
      sql`UPDATE agent SET name = ${name}, name_skeleton = ${nameSkeleton(name)}, registered_at = NULL
          WHERE agent_id = ${agentId}`,
    setEngine: (agentId: AgentId, engine: EngineKind) =>
      sql`UPDATE agent SET engine = ${engine} WHERE agent_id = ${agentId}`,
    setAgentToken: (agentId: AgentId, tokenHash: SecretHash) =>
      sql`UPDATE agent SET token_hash = ${tokenHash} WHERE agent_id = ${agentId}`,
    endTokens: (fleetId: FleetId) => sql`UPDATE agent SET token_hash = NULL WHERE fleet_id = ${fleetId}`
  }
}
