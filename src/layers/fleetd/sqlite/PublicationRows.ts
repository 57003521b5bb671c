// Publications as rows: how one is read from its four tables and written to them. No decision, no transaction of its own.
import { Effect, Option, Schema } from "effect"
import { Cursor } from "../../../domain/Cursor.ts"
import { HistoryPosition } from "../../../domain/History.ts"
import { CoveredEvent, CursorMove, Publication } from "../../../domain/Publication.ts"
import type { Database } from "../../../services/Database.ts"

const PositionJson = Schema.parseJson(HistoryPosition)
const CursorJson = Schema.parseJson(Cursor)

export const encodePosition = Schema.encodeSync(PositionJson)
export const encodeCursor = Schema.encodeSync(CursorJson)
export const decodeCursor = Schema.decodeSync(CursorJson)

const PublicationRow = Schema.Struct({
  delivery_id: Publication.fields.deliveryId,
  agent_id: Publication.fields.agentId,
  context: Publication.fields.context,
  kind: Publication.fields.kind,
  state: Publication.fields.state,
  text: Schema.String,
  authority_revision: Schema.Int,
  position: PositionJson,
  run_id: Publication.fields.runId,
  boot_id: Publication.fields.bootId,
  turn_id: Publication.fields.turnId,
  failures: Schema.Int,
  inherits: Publication.fields.inherits,
  redactions_known: Schema.Int
})

const MoveRow = Schema.Struct({
  room_id: CursorMove.fields.roomId,
  base: Schema.NullOr(CursorJson),
  next: CursorJson,
  seen_latest: CursorMove.fields.seenLatest
})

const EventRow = Schema.Struct({ room_id: CoveredEvent.fields.roomId, event_id: CoveredEvent.fields.eventId })
const ItemRow = Schema.Struct({ operation_id: Schema.UUID.pipe(Schema.brand("OperationId")) })

const decodeRow = Schema.decodeUnknown(PublicationRow)
const decodeMoves = Schema.decodeUnknown(Schema.Array(MoveRow))
const decodeEvents = Schema.decodeUnknown(Schema.Array(EventRow))
const decodeItems = Schema.decodeUnknown(Schema.Array(ItemRow))

/** The first of these rows as a whole publication. */
export const load = (database: Database, rows: ReadonlyArray<unknown>) =>
  Effect.gen(function*() {
    if (rows.length === 0) return Option.none<Publication>()
    const { sql } = database
    const row = yield* decodeRow(rows[0])
    const moves = yield* decodeMoves(
      yield* sql`SELECT room_id, base, next, seen_latest FROM publication_move WHERE delivery_id = ${row.delivery_id} ORDER BY room_id`
    )
    const events = yield* decodeEvents(
      yield* sql`SELECT room_id, event_id FROM publication_event WHERE delivery_id = ${row.delivery_id} ORDER BY place`
    )
    const items = yield* decodeItems(
      yield* sql`SELECT operation_id FROM publication_item WHERE delivery_id = ${row.delivery_id} ORDER BY rowid`
    )
    return Option.some(
      new Publication({
        deliveryId: row.delivery_id,
        agentId: row.agent_id,
        context: row.context,
        kind: row.kind,
        state: row.state,
        text: row.text,
        authorityRevision: row.authority_revision,
        position: row.position,
        runId: row.run_id,
        bootId: row.boot_id,
        turnId: row.turn_id,
        failures: row.failures,
        inherits: row.inherits,
        redactionsKnown: row.redactions_known,
        moves: moves.map((move) =>
          new CursorMove({ roomId: move.room_id, base: move.base, next: move.next, seenLatest: move.seen_latest })
        ),
        events: events.map((event) => new CoveredEvent({ roomId: event.room_id, eventId: event.event_id })),
        items: items.map((item) => item.operation_id)
      })
    )
  })

export const insert = (database: Database, publication: Publication, now: number) =>
  Effect.gen(function*() {
    const { sql } = database
    const { deliveryId } = publication
    yield* sql`INSERT INTO publication ${
      sql.insert({
        delivery_id: deliveryId,
        agent_id: publication.agentId,
        context: publication.context,
        kind: publication.kind,
        state: "prepared",
        text: publication.text,
        authority_revision: publication.authorityRevision,
        position: encodePosition(publication.position),
        failures: 0,
        inherits: publication.inherits,
        redactions_known: publication.redactionsKnown,
        prepared_at: now
      })
    }`
    for (const move of publication.moves) {
      yield* sql`INSERT INTO publication_move ${
        sql.insert({
          delivery_id: deliveryId,
          room_id: move.roomId,
          base: move.base === null ? null : encodeCursor(move.base),
          next: encodeCursor(move.next),
          seen_latest: move.seenLatest
        })
      }`
    }
    for (const [place, event] of publication.events.entries()) {
      yield* sql`INSERT INTO publication_event ${
        sql.insert({ delivery_id: deliveryId, room_id: event.roomId, event_id: event.eventId, place })
      }`
    }
    for (const operationId of publication.items) {
      yield* sql`INSERT INTO publication_item ${sql.insert({ delivery_id: deliveryId, operation_id: operationId })}`
    }
  })
