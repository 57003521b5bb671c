// The fleet's registry in fleetd's SQLite file: identity, agents, credentials, bindings, runs. Checks of the root folder
// itself stand in SqliteRoot.ts.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Clock, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SecretHash } from "../../../domain/api/Crossfire.ts"
import { FleetAgent, FleetIdentity } from "../../../domain/FleetAgent.ts"
import { Binding, HistoryPosition } from "../../../domain/History.ts"
import { AgentId, ContextKey, RunId } from "../../../domain/Ids.ts"
import { InstanceKey } from "../../../domain/Roster.ts"
import { FleetDb } from "../../../services/Database.ts"
import { FleetRegistry, type PendingCredentials } from "../../../services/FleetRegistry.ts"

const Flag = Schema.transformLiterals([0, false], [1, true])
const AgentRow = Schema.Struct({
  ...FleetAgent.fields,
  enabled: Flag,
  paused: Flag,
  retired: Flag,
  credentialRefused: Flag
})
const TokenRow = Schema.Struct({ token: Schema.Redacted(Schema.String) })
const HeldRow = Schema.Struct({
  fleetToken: Schema.Redacted(Schema.String),
  claim: Schema.NullOr(SecretHash),
  key: Schema.NullOr(InstanceKey),
  token: Schema.NullOr(Schema.Redacted(Schema.String))
})
const PendingRow = Schema.Struct({
  fleetToken: Schema.Redacted(Schema.String),
  agentId: Schema.NullOr(AgentId),
  token: Schema.NullOr(Schema.Redacted(Schema.String))
})
const BindingRow = Schema.Struct({ ...Binding.fields, position: Schema.parseJson(HistoryPosition) })
const RunRow = Schema.Struct({ runId: RunId, agentId: AgentId, context: ContextKey, bootId: Schema.String })
const PositionText = Schema.parseJson(HistoryPosition)

/** What can change while the identity stays. */
const settings = [
  "name",
  "token",
  "engine",
  "model",
  "effort",
  "work_folder",
  "history_mode",
  "instructions"
]

/** A row that the caller knows to exist: its absence is a broken invariant. */
const known = <A>(found: Option.Option<A>): Effect.Effect<A> =>
  Option.match(found, { onNone: () => Effect.dieMessage("the registry has no such row"), onSome: Effect.succeed })

export const make = Effect.gen(function*() {
  const { sql, read, transaction } = yield* FleetDb

  const agentColumns = sql.literal(
    `agent_id AS agentId, instance_key AS key, name, user_id AS userId, engine, model, effort,
     work_folder AS workFolder, history_mode AS historyMode, instructions, enabled, paused, problem, retired_at IS NOT NULL AS retired,
     credential_refused_at IS NOT NULL AS credentialRefused`
  )

  const findIdentity = SqlSchema.findOne({
    Request: Schema.Void,
    Result: FleetIdentity,
    execute: () =>
      sql`SELECT fleet_id AS fleetId, fleet_key AS fleetKey, owner, server_url AS serverUrl, root_id AS rootId
          FROM fleet JOIN root USING (only_row)`
  })
  const findAgents = SqlSchema.findAll({
    Request: Schema.Void,
    Result: AgentRow,
    execute: () => sql`SELECT ${agentColumns} FROM agent ORDER BY name`
  })
  const findAgent = SqlSchema.findOne({
    Request: AgentId,
    Result: AgentRow,
    execute: (agentId) => sql`SELECT ${agentColumns} FROM agent WHERE agent_id = ${agentId}`
  })
  const findFleetToken = SqlSchema.findOne({
    Request: Schema.Void,
    Result: TokenRow,
    execute: () => sql`SELECT token FROM fleet`
  })
  const findAgentToken = SqlSchema.findOne({
    Request: AgentId,
    Result: TokenRow,
    execute: (agentId) => sql`SELECT token FROM agent WHERE agent_id = ${agentId}`
  })
  const findBinding = SqlSchema.findOne({
    Request: Schema.Struct({ agentId: AgentId, context: ContextKey }),
    Result: BindingRow,
    execute: ({ agentId, context }) =>
      sql`SELECT engine, native_id AS nativeId, path, position FROM binding
          WHERE agent_id = ${agentId} AND context = ${context} AND archived_at IS NULL`
  })
  const findOpenRuns = SqlSchema.findAll({
    Request: Schema.Void,
    Result: RunRow,
    execute: () =>
      sql`SELECT run_id AS runId, agent_id AS agentId, context, boot_id AS bootId FROM engine_run
          WHERE ended_at IS NULL ORDER BY started_at, run_id`
  })

  const findHeld = SqlSchema.findAll({
    Request: Schema.Void,
    Result: HeldRow,
    execute: () =>
      sql`SELECT fleet.token AS fleetToken, claim_hash AS claim, instance_key AS key, agent.token
          FROM fleet LEFT JOIN agent ON true`
  })
  const findPending = SqlSchema.findAll({
    Request: Schema.Void,
    Result: PendingRow,
    execute: () =>
      sql`SELECT fleet.pending_token AS fleetToken, agent_id AS agentId, agent.pending_token AS token
          FROM fleet LEFT JOIN agent ON agent.pending_token IS NOT NULL WHERE fleet.pending_token IS NOT NULL`
  })

  const pendingCredentials = Effect.map(
    findPending(),
    (rows) =>
      Option.map(Option.fromNullable(rows[0]), ({ fleetToken }): PendingCredentials => ({
        fleetToken,
        agentTokens: new Map(
          rows.flatMap(({ agentId, token }) => agentId === null || token === null ? [] : [[agentId, token] as const])
        )
      }))
  )

  const forgetPending = Effect.zipRight(
    sql`UPDATE fleet SET pending_token = NULL`,
    sql`UPDATE agent SET pending_token = NULL`
  )

  const introduce: typeof FleetRegistry.Service.introduce = (fleet) =>
    transaction(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const { identity } = fleet
      const before = yield* findIdentity()
      // One root holds one fleet's histories; whoever enrolls looks at the identity first.
      if (Option.isSome(before) && before.value.fleetId !== identity.fleetId) {
        return yield* Effect.dieMessage(`this root belongs to fleet ${before.value.fleetId}`)
      }
      yield* sql`INSERT INTO fleet (only_row, fleet_id, fleet_key, owner, server_url, token, claim_hash, created_at)
        VALUES (1, ${identity.fleetId}, ${identity.fleetKey}, ${identity.owner}, ${identity.serverUrl},
                ${Redacted.value(fleet.token)}, ${fleet.claim ?? null}, ${now})
        ON CONFLICT (only_row) DO UPDATE SET server_url = excluded.server_url, token = excluded.token,
          claim_hash = excluded.claim_hash`
      yield* forgetPending
      const changes = sql.literal(settings.map((column) => `${column} = excluded.${column}`).join(", "))
      for (const { agent, token } of fleet.agents) {
        yield* sql`INSERT INTO agent (agent_id, instance_key, name, user_id, token, engine, model, effort, work_folder,
                                      history_mode, instructions, created_at)
          VALUES (${agent.agentId}, ${agent.key}, ${agent.name}, ${agent.userId}, ${Redacted.value(token)},
                  ${agent.engine}, ${agent.model}, ${agent.effort}, ${agent.workFolder}, ${agent.historyMode},
                  ${agent.instructions}, ${now})
          ON CONFLICT (agent_id) DO UPDATE SET credential_refused_at = NULL, ${changes}`
      }
    }))

  /** Whatever is owed of a retired agent can be given to nobody: its messages are refused, as crossfire would. */
  const setStanding: typeof FleetRegistry.Service.setStanding = (agentId, { name, standing }) =>
    Effect.gen(function*() {
      const retired = standing === "retired"
      const found = yield* read(findAgent(agentId))
      if (Option.isNone(found) || (found.value.name === name && found.value.retired === retired)) return false
      yield* transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE agent SET name = ${name}, retired_at = ${retired ? now : null} WHERE agent_id = ${agentId}`
        if (!retired) return
        yield* sql`UPDATE outgoing SET state = 'refused', refusal = 'The agent is retired', payload = NULL
          WHERE agent_id = ${agentId} AND state = 'waiting'`
      }))
      return true
    })

  const bind: typeof FleetRegistry.Service.bind = (agentId, context, binding, position) =>
    transaction(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const place = yield* Schema.encode(PositionText)(position)
      // Another current binding of this context violates its unique index and dies: a history is never replaced here.
      yield* sql`INSERT INTO binding (agent_id, context, engine, native_id, path, root_path, position, created_at)
        SELECT ${agentId}, ${context}, ${binding.engine}, ${binding.nativeId}, ${binding.path}, path, ${place}, ${now}
        FROM root WHERE true
        ON CONFLICT (agent_id, context, native_id) DO NOTHING`
    }))

  return FleetRegistry.of({
    identity: read(findIdentity()),
    introduce,
    agents: Effect.map(read(findAgents()), (rows) => rows.map((row) => new FleetAgent(row))),
    agent: (agentId) => read(findAgent(agentId)).pipe(Effect.flatMap(known), Effect.map((row) => new FleetAgent(row))),
    fleetToken: read(findFleetToken()).pipe(Effect.flatMap(known), Effect.map(({ token }) => token)),
    agentToken: (agentId) =>
      read(findAgentToken(agentId)).pipe(Effect.flatMap(known), Effect.map(({ token }) => token)),
    credentials: Effect.map(
      read(findHeld()),
      (rows) =>
        Option.map(Option.fromNullable(rows[0]), ({ claim, fleetToken }) => ({
          fleetToken,
          claim,
          agentTokens: new Map(
            rows.flatMap(({ key, token }) => key === null || token === null ? [] : [[key, token] as const])
          )
        }))
    ),
    pendingCredentials: read(pendingCredentials),
    prepareCredentials: (fresh) =>
      transaction(Effect.gen(function*() {
        const before = yield* pendingCredentials
        if (Option.isSome(before)) return before.value
        yield* sql`UPDATE fleet SET pending_token = ${Redacted.value(fresh.fleetToken)}`
        for (const [agentId, token] of fresh.agentTokens) {
          yield* sql`UPDATE agent SET pending_token = ${Redacted.value(token)} WHERE agent_id = ${agentId}`
        }
        return fresh
      })),
    promoteCredentials: transaction(Effect.gen(function*() {
      yield* sql`UPDATE fleet SET token = pending_token WHERE pending_token IS NOT NULL`
      yield* sql`UPDATE agent SET token = pending_token, credential_refused_at = NULL WHERE pending_token IS NOT NULL`
      yield* forgetPending
    })),
    dropCredentials: transaction(Effect.asVoid(forgetPending)),
    setCredentialRefused: (agentId, refused) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const changed = yield* sql`UPDATE agent SET credential_refused_at = ${now}
          WHERE agent_id = ${agentId} AND token = ${Redacted.value(refused)} AND pending_token IS NULL
          RETURNING agent_id`
        return changed.length > 0
      })),
    setStanding,
    setEnabled: (agentId, enabled) =>
      transaction(sql`UPDATE agent SET enabled = ${Number(enabled)} WHERE agent_id = ${agentId}`.pipe(Effect.asVoid)),
    setPaused: (agentId, paused) =>
      transaction(sql`UPDATE agent SET paused = ${Number(paused)} WHERE agent_id = ${agentId}`.pipe(Effect.asVoid)),
    setProblem: (agentId, problem) =>
      transaction(sql`UPDATE agent SET problem = ${problem} WHERE agent_id = ${agentId}`.pipe(Effect.asVoid)),
    binding: (agentId, context) =>
      Effect.map(
        read(findBinding({ agentId, context })),
        Option.map(({ position, ...binding }) => ({ binding: new Binding(binding), position }))
      ),
    bind,
    runStarted: (run) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO engine_run (run_id, agent_id, context, boot_id, started_at)
          VALUES (${run.runId}, ${run.agentId}, ${run.context}, ${run.bootId}, ${now})`
      })),
    runEnded: (runId, slept) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE engine_run SET ended_at = ${now}, slept = ${Number(slept)}
          WHERE run_id = ${runId} AND ended_at IS NULL`
      })),
    openRuns: read(findOpenRuns())
  })
})

export const layer: Layer.Layer<FleetRegistry, never, FleetDb> = Layer.effect(FleetRegistry, make)
