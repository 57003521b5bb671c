// What fleetd owes to crossfire, in its SQLite file. Acknowledgments are written by whoever confirms a receipt, in that
// transaction; here they are read and closed.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Acknowledgment, SendPayload } from "../../../domain/api/Crossfire.ts"
import { AgentId, EventId, Incarnation, OperationId } from "../../../domain/Ids.ts"
import { FleetDb } from "../../../services/Database.ts"
import { FleetOutbox, SendRefused } from "../../../services/FleetOutbox.ts"
import { nextUuid } from "../Uuids.ts"

/** What crossfire takes as one notice, in UTF-16 units; a longer text is cut. */
const maxNoticeUnits = 8_000

const AcknowledgmentRow = Schema.Struct({
  agentId: AgentId,
  acknowledgment: Schema.parseJson(Acknowledgment),
  redactionNumber: Schema.Int
})
const MessageText = Schema.parseJson(SendPayload)
const MessageRow = Schema.Struct({ agentId: AgentId, message: MessageText })
const StateRow = Schema.Struct({
  state: Schema.Literal("waiting", "accepted", "refused"),
  eventId: Schema.NullOr(EventId),
  refusal: Schema.NullOr(Schema.String)
})
const NoticeRow = Schema.Struct({ operationId: OperationId, text: Schema.String })
const DepthRow = Schema.Struct({ acknowledgments: Schema.Int, messages: Schema.Int, notices: Schema.Int })

/** A row that the caller knows to exist: its absence is a broken invariant. */
const known = <A>(found: Option.Option<A>): Effect.Effect<A> =>
  Option.match(found, { onNone: () => Effect.dieMessage("the outbox has no such row"), onSome: Effect.succeed })

export const make = Effect.gen(function*() {
  const { sql, read, transaction } = yield* FleetDb

  /** What crossfire would take under the agent's own credential; a retired one's is owed no more. */
  const sendable = sql.literal(
    `agent_id NOT IN (SELECT agent_id FROM agent WHERE retired_at IS NOT NULL OR credential_refused_at IS NOT NULL)`
  )

  const findAcknowledgments = SqlSchema.findAll({
    Request: Schema.Struct({ limit: Schema.Int, incarnation: Incarnation }),
    Result: AcknowledgmentRow,
    execute: ({ incarnation, limit }) =>
      sql`SELECT agent_id AS agentId, payload AS acknowledgment, COALESCE((SELECT redaction_number FROM agent
            WHERE agent.agent_id = acknowledgment.agent_id AND redaction_incarnation = ${incarnation}), 0) AS redactionNumber
          FROM acknowledgment
          WHERE accepted_at IS NULL AND ${sendable} ORDER BY
          ROW_NUMBER() OVER (PARTITION BY agent_id ORDER BY sequence), sequence LIMIT ${limit}`
  })
  const findMessages = SqlSchema.findAll({
    Request: Schema.Int,
    Result: MessageRow,
    execute: (limit) =>
      sql`SELECT agent_id AS agentId, payload AS message FROM outgoing WHERE state = 'waiting' AND ${sendable}
          ORDER BY
          ROW_NUMBER() OVER (PARTITION BY agent_id, json_extract(payload, '$.roomId') ORDER BY sequence), sequence
          LIMIT ${limit}`
  })
  const countAhead = SqlSchema.findOne({
    Request: Schema.Struct({ agentId: AgentId, operationId: OperationId }),
    Result: Schema.Struct({ ahead: Schema.Int }),
    execute: ({ agentId, operationId }) =>
      sql`SELECT count(*) AS ahead FROM outgoing
          WHERE agent_id = ${agentId} AND state = 'waiting' AND sequence < coalesce(
            (SELECT sequence FROM outgoing WHERE operation_id = ${operationId}), 9223372036854775807)`
  })
  const findState = SqlSchema.findOne({
    Request: OperationId,
    Result: StateRow,
    execute: (operationId) =>
      sql`SELECT state, event_id AS eventId, refusal FROM outgoing WHERE operation_id = ${operationId}`
  })
  const findNotices = SqlSchema.findAll({
    Request: Schema.Int,
    Result: NoticeRow,
    execute: (limit) =>
      sql`SELECT operation_id AS operationId, text FROM notice
          WHERE accepted_at IS NULL ORDER BY sequence LIMIT ${limit}`
  })
  const findOpenTopic = SqlSchema.findOne({
    Request: Schema.String,
    Result: NoticeRow,
    execute: (topic) =>
      sql`SELECT operation_id AS operationId, text FROM notice WHERE topic = ${topic} AND closed_at IS NULL`
  })
  const findDepth = SqlSchema.findOne({
    Request: Schema.Void,
    Result: DepthRow,
    execute: () =>
      sql`SELECT (SELECT count(*) FROM acknowledgment WHERE accepted_at IS NULL
                    AND agent_id NOT IN (SELECT agent_id FROM agent WHERE retired_at IS NOT NULL)) AS acknowledgments,
                 (SELECT count(*) FROM outgoing WHERE state = 'waiting') AS messages,
                 (SELECT count(*) FROM notice WHERE accepted_at IS NULL) AS notices`
  })

  return FleetOutbox.of({
    waitingAcknowledgments: (limit, incarnation) =>
      Effect.map(
        read(findAcknowledgments({ limit, incarnation })),
        (rows) =>
          rows.map(({ acknowledgment, agentId, redactionNumber }) => ({
            agentId,
            acknowledgment: { ...acknowledgment, redactionNumber }
          }))
      ),
    acknowledged: ({ deliveryId }) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE acknowledgment SET accepted_at = ${now}
          WHERE delivery_id = ${deliveryId} AND accepted_at IS NULL`
      })),
    storeMessage: (agentId, message) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const payload = yield* Schema.encode(MessageText)(message)
        yield* sql`INSERT INTO outgoing (operation_id, agent_id, payload, state, stored_at)
          VALUES (${message.operationId}, ${agentId}, ${payload}, 'waiting', ${now})
          ON CONFLICT (operation_id) DO NOTHING`
      })),
    waitingMessages: (limit) => read(findMessages(limit)),
    messagesAhead: (agentId, operationId) =>
      read(countAhead({ agentId, operationId })).pipe(Effect.flatMap(known), Effect.map(({ ahead }) => ahead)),
    // The first answer stands. What was answered needs no text any more: it stands in the room, or nowhere.
    messageAnswered: (operationId, answer) => {
      const [state, eventId, refusal] = answer instanceof SendRefused
        ? ["refused", null, answer.reason]
        : ["accepted", answer.status === "sent" ? answer.eventId : null, null]
      return transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE outgoing SET state = ${state}, event_id = ${eventId}, refusal = ${refusal}, payload = NULL,
          answered_at = ${now} WHERE operation_id = ${operationId} AND state = 'waiting'`
      }))
    },
    messageState: (operationId) => Effect.flatMap(read(findState(operationId)), known),
    notice: (topic, text) =>
      transaction(Effect.gen(function*() {
        if (Option.isSome(yield* findOpenTopic(topic))) return
        const now = yield* Clock.currentTimeMillis
        const operationId = yield* nextUuid
        const cut = text.slice(0, maxNoticeUnits).toWellFormed()
        yield* sql`INSERT INTO notice (operation_id, topic, text, stored_at)
          VALUES (${operationId}, ${topic}, ${cut}, ${now})`
      })),
    closeTopic: (topic) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE notice SET closed_at = ${now} WHERE topic = ${topic} AND closed_at IS NULL`
      })),
    waitingNotices: (limit) => read(findNotices(limit)),
    noticeAccepted: (operationId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE notice SET accepted_at = ${now} WHERE operation_id = ${operationId} AND accepted_at IS NULL`
      })),
    depth: Effect.flatMap(read(findDepth()), known)
  })
})

export const layer: Layer.Layer<FleetOutbox, never, FleetDb> = Layer.effect(FleetOutbox, make)
