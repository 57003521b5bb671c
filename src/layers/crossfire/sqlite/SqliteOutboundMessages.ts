// `OutboundMessages` over crossfire's database.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { EventId, RoomId, UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { Destination, OutboundState } from "../../../services/Outbound.ts"
import { type Lane, OutboundMessages } from "../../../services/store/OutboundMessages.ts"

const ContentJson = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const encodeContent = Schema.encode(ContentJson)

const decodeStates = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  state: Schema.Literal("waiting", "sent", "refused"),
  event_id: Schema.NullOr(EventId),
  refusal: Schema.NullOr(Schema.String)
})))

const decodeLanes = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  sender: UserId,
  room_id: Schema.NullOr(RoomId),
  recipient: Schema.NullOr(UserId)
})))

const decodeWaiting = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  sequence: Schema.Int,
  operation_id: Schema.String,
  transaction_id: Schema.String,
  event_type: Schema.String,
  content: ContentJson,
  attachment: Schema.NullOr(Schema.Uint8ArrayFromSelf)
})))

const stateOf = (row: Effect.Effect.Success<ReturnType<typeof decodeStates>>[number]): OutboundState => {
  if (row.state === "sent" && row.event_id !== null) return { _tag: "Sent", eventId: row.event_id }
  if (row.state === "refused") return { _tag: "Refused", errcode: row.refusal ?? "M_UNKNOWN" }
  return { _tag: "Waiting" }
}

const columnsOf = (to: Destination) =>
  "roomId" in to ? { room_id: to.roomId, recipient: null } : { room_id: null, recipient: to.recipient }

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb

  const select = (sender: UserId, operationId: string) =>
    Effect.flatMap(
      sql`SELECT state, event_id, refusal FROM outbound WHERE sender = ${sender} AND operation_id = ${operationId}`,
      decodeStates
    ).pipe(Effect.map((rows) => Option.map(Option.fromNullable(rows[0]), stateOf)))

  const inLane = (lane: Lane) =>
    "roomId" in lane.to
      ? sql`sender = ${lane.sender} AND room_id = ${lane.to.roomId}`
      : sql`sender = ${lane.sender} AND recipient = ${lane.to.recipient}`

  return OutboundMessages.of({
    add: (message) =>
      transaction(Effect.gen(function*() {
        const known = yield* select(message.sender, message.operationId)
        if (Option.isSome(known)) return known.value
        const now = yield* Clock.currentTimeMillis
        const waiting: OutboundState = { _tag: "Waiting" }
        yield* sql`INSERT INTO outbound ${
          sql.insert({
            operation_id: message.operationId,
            sender: message.sender,
            ...columnsOf(message.to),
            transaction_id: message.transactionId,
            event_type: message.eventType,
            content: yield* encodeContent(message.content),
            attachment: message.attachment,
            state: "waiting",
            created_at: now
          })
        }`
        return waiting
      })),
    state: (sender, operationId) => read(select(sender, operationId)),
    lanes: read(
      Effect.flatMap(
        sql`SELECT DISTINCT sender, room_id, recipient FROM outbound WHERE state = 'waiting'`,
        decodeLanes
      ).pipe(Effect.map((rows) =>
        rows.flatMap((row): ReadonlyArray<Lane> => {
          if (row.room_id !== null) return [{ sender: row.sender, to: { roomId: row.room_id } }]
          return row.recipient === null ? [] : [{ sender: row.sender, to: { recipient: row.recipient } }]
        })
      ))
    ),
    first: (lane) =>
      read(
        Effect.flatMap(
          sql`SELECT sequence, operation_id, transaction_id, event_type, content, attachment FROM outbound
            WHERE state = 'waiting' AND ${inLane(lane)} ORDER BY sequence LIMIT 1`,
          decodeWaiting
        ).pipe(Effect.map((rows) =>
          Option.map(Option.fromNullable(rows[0]), (row) => ({
            sequence: row.sequence,
            operationId: row.operation_id,
            transactionId: row.transaction_id,
            eventType: row.event_type,
            content: row.content,
            attachment: row.attachment
          }))
        ))
      ),
    tried: (sequence) =>
      transaction(Effect.asVoid(sql`UPDATE outbound SET tries = tries + 1 WHERE sequence = ${sequence}`)),
    sent: (sequence, eventId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE outbound SET state = 'sent', event_id = ${eventId}, attachment = NULL, settled_at = ${now}
          WHERE sequence = ${sequence}`
      })),
    refused: (sequence, errcode) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE outbound SET state = 'refused', refusal = ${errcode}, attachment = NULL, settled_at = ${now}
          WHERE sequence = ${sequence}`
      })),
    expire: (beforeMillis, limit) =>
      transaction(
        Effect.map(
          sql`DELETE FROM outbound WHERE sequence IN (
            SELECT sequence FROM outbound WHERE settled_at < ${beforeMillis} LIMIT ${limit}
          ) RETURNING sequence`,
          (rows) => rows.length
        )
      )
  })
})

export const layer = Layer.effect(OutboundMessages, make)
