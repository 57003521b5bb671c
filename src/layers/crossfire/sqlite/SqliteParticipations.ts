// `Participations` over crossfire's database. Whoever changes a standing announces the agent's level afterwards.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { AgentId, RoomId, StreamToken } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Participations, type Standing } from "../../../services/store/Participations.ts"
import { agentColumns, agentOf, AgentRow } from "./SqliteAgents.ts"

const StandingRow = Schema.Struct({
  agent_id: AgentId,
  room_id: RoomId,
  permitted_by: Schema.NullOr(Schema.String),
  membership: Schema.Literal("none", "invited", "joining", "joined", "left", "banned"),
  wanted_boundary: Schema.NullOr(StreamToken),
  boundary: Schema.NullOr(StreamToken),
  problem: Schema.NullOr(Schema.Literal("inviter-not-allowed", "encrypted", "join-refused")),
  latest: Schema.Int
})

const standingOf = (row: typeof StandingRow.Type): Standing => ({
  agentId: row.agent_id,
  roomId: row.room_id,
  permitted: row.permitted_by !== null,
  membership: row.membership,
  wantedBoundary: row.wanted_boundary,
  boundary: row.boundary,
  problem: row.problem,
  latest: row.latest
})

const decodeStandings = Schema.decodeUnknown(Schema.Array(StandingRow))
const decodeMembers = Schema.decodeUnknown(Schema.Array(Schema.extend(StandingRow, AgentRow)))

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb

  const raiseAuthority = (agentId: AgentId) =>
    sql`UPDATE agent SET authority_revision = authority_revision + 1 WHERE agent_id = ${agentId}`

  const standings = (rows: ReadonlyArray<unknown>) =>
    Effect.map(decodeStandings(rows), (decoded) => decoded.map(standingOf))

  return Participations.of({
    get: (agentId, roomId) =>
      read(
        Effect.flatMap(
          sql`SELECT * FROM participation WHERE agent_id = ${agentId} AND room_id = ${roomId}`,
          standings
        ).pipe(Effect.map((found) => Option.fromNullable(found[0])))
      ),
    ofAgent: (agentId) =>
      read(
        Effect.flatMap(sql`SELECT * FROM participation WHERE agent_id = ${agentId} ORDER BY room_id`, standings)
      ),
    inRoom: (roomId) =>
      read(
        Effect.flatMap(
          sql`SELECT ${sql.literal(agentColumns)}, p.room_id, p.permitted_by, p.membership, p.wanted_boundary,
            p.boundary, p.problem, p.latest
            FROM participation p JOIN agent a ON a.agent_id = p.agent_id
            WHERE p.room_id = ${roomId} ORDER BY p.agent_id`,
          decodeMembers
        ).pipe(
          Effect.map((rows) => rows.map((row) => ({ agent: agentOf(row), standing: standingOf(row) })))
        )
      ),
    held: (agentId, roomId, inviter, problem) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO participation ${
          sql.insert({
            agent_id: agentId,
            room_id: roomId,
            invited_by: inviter,
            membership: "invited",
            problem,
            updated_at: now
          })
        } ON CONFLICT (agent_id, room_id) DO UPDATE SET invited_by = excluded.invited_by,
          membership = excluded.membership, problem = excluded.problem, updated_at = excluded.updated_at`
      })),
    joining: (agentId, roomId, by, wantedBoundary) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO participation ${
          sql.insert({
            agent_id: agentId,
            room_id: roomId,
            invited_by: by,
            permitted_by: by,
            permitted_at: now,
            membership: "joining",
            wanted_boundary: wantedBoundary,
            updated_at: now
          })
        } ON CONFLICT (agent_id, room_id) DO UPDATE SET invited_by = excluded.invited_by,
          permitted_by = excluded.permitted_by, permitted_at = excluded.permitted_at, membership = 'joining',
          wanted_boundary = COALESCE(wanted_boundary, excluded.wanted_boundary), problem = NULL,
          updated_at = excluded.updated_at`
        yield* raiseAuthority(agentId)
      })),
    joined: (agentId, roomId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE participation SET membership = 'joined', boundary = COALESCE(boundary, wanted_boundary),
          problem = NULL, updated_at = ${now} WHERE agent_id = ${agentId} AND room_id = ${roomId}`
        yield* raiseAuthority(agentId)
      })),
    ended: (agentId, roomId, membership, problem) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        // A boundary that was only wanted has read nothing: the next join takes its own.
        yield* sql`UPDATE participation SET membership = ${membership}, problem = ${problem},
          wanted_boundary = boundary, updated_at = ${now} WHERE agent_id = ${agentId} AND room_id = ${roomId}`
        yield* raiseAuthority(agentId)
      })),
    withdrawn: (agentId, roomId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE participation SET permitted_by = NULL, permitted_at = NULL, updated_at = ${now}
          WHERE agent_id = ${agentId} AND room_id = ${roomId}`
        yield* raiseAuthority(agentId)
      })),
    raise: (agentId, roomId, latest) =>
      transaction(
        Effect.asVoid(
          sql`UPDATE participation SET latest = MAX(latest, ${latest}) WHERE agent_id = ${agentId} AND room_id = ${roomId}`
        )
      )
  })
})

export const layer = Layer.effect(Participations, make)
