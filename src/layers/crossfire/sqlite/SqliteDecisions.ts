// `Decisions` over crossfire's database.
import { Clock, Effect, Layer, Schema } from "effect"
import { DecisionKind } from "../../../domain/Decision.ts"
import { AgentId, EventId, RoomId, UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { type Closing, Decisions } from "../../../services/store/Decisions.ts"
import { inBatches } from "./Batches.ts"

const decodeRecorded = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  sequence: Schema.Int,
  agent_id: AgentId,
  kind: DecisionKind
})))

const decodeKnown = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  event_id: EventId,
  kind: DecisionKind,
  closed_as: Schema.NullOr(Schema.String)
})))

const decodeOpen = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  event_id: EventId,
  room_id: RoomId,
  sender: UserId,
  kind: Schema.Literal("wake", "mention")
})))

const decodeRedactions = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  number: Schema.Int,
  room_id: RoomId,
  event_id: EventId
})))

const decodeAgents = Schema.decodeUnknown(Schema.Array(Schema.Struct({ agent_id: AgentId })))

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb

  const openOnly = sql.literal("kind IN ('wake', 'mention') AND closed_as IS NULL")

  const close = (agentId: AgentId, events: ReadonlyArray<EventId>, as: Closing) =>
    transaction(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const closed = yield* inBatches(events, (some) =>
        sql`UPDATE decision SET closed_as = ${as}, closed_at = ${now}
          WHERE agent_id = ${agentId} AND ${sql.in("event_id", some)} AND ${openOnly} RETURNING sequence`)
      return closed.length
    }))

  return Decisions.of({
    record: (decisions) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* inBatches(decisions, (some) =>
          Effect.flatMap(
            sql`INSERT INTO decision ${
              sql.insert(some.map((decision) => ({
                agent_id: decision.agentId,
                room_id: decision.roomId,
                event_id: decision.eventId,
                sender: decision.sender,
                kind: decision.kind,
                policy_revision: decision.policyRevision,
                decided_at: now
              })))
            } ON CONFLICT (event_id, agent_id) DO NOTHING RETURNING sequence, agent_id, kind`,
            decodeRecorded
          ))
        return rows.map((row) => ({ sequence: row.sequence, agentId: row.agent_id, kind: row.kind }))
      })),
    among: (agentId, events) =>
      read(
        inBatches(events, (some) =>
          Effect.flatMap(
            sql`SELECT event_id, kind, closed_as FROM decision
              WHERE agent_id = ${agentId} AND ${sql.in("event_id", some)}`,
            decodeKnown
          )).pipe(
            Effect.map((rows) =>
              new Map(rows.map((row) => [
                row.event_id,
                {
                  eventId: row.event_id,
                  kind: row.kind,
                  open: (row.kind === "wake" || row.kind === "mention") && row.closed_as === null
                }
              ]))
            )
          )
      ),
    open: (agentId, limit) =>
      read(
        Effect.flatMap(
          sql`SELECT event_id, room_id, sender, kind FROM decision WHERE agent_id = ${agentId} AND ${openOnly}
            AND room_id IN (SELECT room_id FROM participation WHERE agent_id = ${agentId} AND membership = 'joined'
              AND permitted_by IS NOT NULL AND boundary IS NOT NULL)
            ORDER BY kind = 'mention' DESC, sequence LIMIT ${limit}`,
          decodeOpen
        ).pipe(
          Effect.map((rows) =>
            rows.map((row) => ({ eventId: row.event_id, roomId: row.room_id, sender: row.sender, kind: row.kind }))
          )
        )
      ),
    close,
    closeRoom: (agentId, roomId, as) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const closed = yield* sql`UPDATE decision SET closed_as = ${as}, closed_at = ${now}
          WHERE agent_id = ${agentId} AND room_id = ${roomId} AND ${openOnly} RETURNING sequence`
        return closed.length
      })),
    closeAll: (agentId, as) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const closed = yield* sql`UPDATE decision SET closed_as = ${as}, closed_at = ${now}
          WHERE agent_id = ${agentId} AND ${openOnly} RETURNING sequence`
        return closed.length
      })),
    redact: (roomId, eventId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE decision SET closed_as = 'redacted', closed_at = ${now}
          WHERE event_id = ${eventId} AND room_id = ${roomId} AND ${openOnly}`
        const noted = yield* Effect.flatMap(
          sql`INSERT INTO redaction (agent_id, room_id, event_id)
            SELECT agent_id, room_id, event_id FROM decision WHERE event_id = ${eventId} AND room_id = ${roomId}
            ON CONFLICT (agent_id, event_id) DO NOTHING RETURNING agent_id`,
          decodeAgents
        )
        return noted.map((row) => row.agent_id)
      })),
    redactions: (agentId, above, limit) =>
      read(
        Effect.flatMap(
          sql`SELECT number, room_id, event_id FROM redaction WHERE agent_id = ${agentId} AND number > ${above}
            ORDER BY number LIMIT ${limit}`,
          decodeRedactions
        ).pipe(
          Effect.map((rows) => rows.map((row) => ({ number: row.number, roomId: row.room_id, eventId: row.event_id })))
        )
      ),
    expire: (beforeMillis, limit) =>
      transaction(
        Effect.map(
          sql`DELETE FROM decision WHERE sequence IN (
            SELECT sequence FROM decision WHERE decided_at < ${beforeMillis} AND NOT (${openOnly}) LIMIT ${limit}
          ) RETURNING sequence`,
          (rows) => rows.length
        )
      )
  })
})

export const layer = Layer.effect(Decisions, make)
