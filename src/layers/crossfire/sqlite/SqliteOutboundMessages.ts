// `OutboundMessages` over crossfire's database.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { EventId, RoomId, UserId } from "../../../domain/Ids.ts"
import { controlKey } from "../../../domain/MatrixEvent.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { Destination, OutboundState } from "../../../services/Outbound.ts"
import { type Lane, OutboundMessages, type WaitingMessage } from "../../../services/store/OutboundMessages.ts"

const ContentJson = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const encodeContent = Schema.encode(ContentJson)

const redactionType = "m.room.redaction"
/** What a redaction's row says of its event; empty until the event is there. */
const RedactedJson = Schema.parseJson(Schema.Struct({
  room_id: Schema.optional(RoomId),
  redacts: Schema.optional(EventId)
}))
const decodeRedacted = Schema.decode(RedactedJson)
const encodeRedacted = Schema.encode(RedactedJson)
const redactionOf = (operationId: string): string => `retract:${operationId}`

/** Stands in the place of what was taken back. Where the homeserver has to be asked anew, it is what is sent. */
const wiped = encodeContent({
  msgtype: "m.notice",
  body: "(taken back)",
  "m.mentions": {},
  [controlKey]: { kind: "retracted" }
})
/** The refusal of a message that was taken back before the first try: a code of crossfire's own. */
export const retractedCode = "ORG.CROSSFIRE.RETRACTED"

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

const decodeSequences = Schema.decodeUnknown(Schema.Array(Schema.Struct({ sequence: Schema.Int })))

const decodeBegun = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  transaction_id: Schema.String,
  event_type: Schema.String,
  content: Schema.String,
  attachment: Schema.NullOr(Schema.Uint8ArrayFromSelf)
})))
const decodeContent = Schema.decode(ContentJson)

const waitingMessage = (row: Effect.Effect.Success<ReturnType<typeof decodeBegun>>[number]) => {
  const transactionId = row.transaction_id
  if (row.event_type !== redactionType) {
    return Effect.map(decodeContent(row.content), (content): WaitingMessage => ({
      _tag: "Event",
      transactionId,
      eventType: row.event_type,
      content,
      attachment: row.attachment
    }))
  }
  return Effect.map(decodeRedacted(row.content), ({ redacts, room_id }): WaitingMessage => ({
    _tag: "Redaction",
    transactionId,
    event: redacts === undefined || room_id === undefined ? null : { roomId: room_id, eventId: redacts }
  }))
}

const decodeRetractable = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  sequence: Schema.Int,
  room_id: Schema.NullOr(RoomId),
  recipient: Schema.NullOr(UserId),
  state: Schema.Literal("waiting", "sent", "refused"),
  event_id: Schema.NullOr(EventId),
  sent_to: Schema.NullOr(RoomId),
  tries: Schema.Int
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
          sql`SELECT sequence FROM outbound WHERE state = 'waiting' AND ${inLane(lane)} ORDER BY sequence LIMIT 1`,
          decodeSequences
        ).pipe(Effect.map(([row]) => Option.map(Option.fromNullable(row), ({ sequence }) => sequence)))
      ),
    begin: (sequence) =>
      transaction(Effect.gen(function*() {
        const [row] = yield* decodeBegun(
          yield* sql`UPDATE outbound SET tries = tries + 1 WHERE sequence = ${sequence} AND state = 'waiting'
            RETURNING transaction_id, event_type, content, attachment`
        )
        return row === undefined ? Option.none() : Option.some(yield* waitingMessage(row))
      })),
    sent: (sequence, roomId, eventId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE outbound SET state = 'sent', event_id = ${eventId}, sent_to = ${roomId}, attachment = NULL,
          settled_at = ${now} WHERE sequence = ${sequence}`
        // Taken back on its way: now its redaction knows what it redacts.
        const redacted = yield* encodeRedacted({ room_id: roomId, redacts: eventId })
        yield* sql`UPDATE outbound SET content = ${redacted}
          WHERE state = 'waiting' AND event_type = ${redactionType} AND (sender, operation_id) IN (
            SELECT sender, ${redactionOf("")} || operation_id FROM outbound WHERE sequence = ${sequence}
          )`
      })),
    refused: (sequence, errcode) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE outbound SET state = 'refused', refusal = ${errcode}, attachment = NULL, settled_at = ${now}
          WHERE sequence = ${sequence}`
      })),
    retract: (sender, operationId, transactionId) =>
      transaction(Effect.gen(function*() {
        const [row] = yield* decodeRetractable(
          yield* sql`SELECT sequence, room_id, recipient, state, event_id, sent_to, tries FROM outbound
            WHERE sender = ${sender} AND operation_id = ${operationId} AND event_type <> ${redactionType}`
        )
        if (row === undefined) return
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE outbound SET content = ${yield* wiped}, attachment = NULL WHERE sequence = ${row.sequence}`
        if (row.state === "refused") return
        if (row.state === "waiting" && row.tries === 0) {
          yield* sql`UPDATE outbound SET state = 'refused', refusal = ${retractedCode}, settled_at = ${now}
            WHERE sequence = ${row.sequence}`
          return
        }
        const roomId = row.sent_to ?? row.room_id
        // Sent to a person before it was noted where: nobody knows the room.
        if (row.state === "sent" && roomId === null) return
        yield* sql`INSERT INTO outbound ${
          sql.insert({
            operation_id: redactionOf(operationId),
            sender,
            room_id: row.room_id,
            recipient: row.recipient,
            transaction_id: transactionId,
            event_type: redactionType,
            content: yield* encodeRedacted(
              row.event_id === null || roomId === null ? {} : { room_id: roomId, redacts: row.event_id }
            ),
            state: "waiting",
            created_at: now
          })
        } ON CONFLICT (sender, operation_id) DO NOTHING`
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
