// `Publications` over the registry: each operation one transaction. What a receipt brings about stands in `confirmed`.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Acknowledgment } from "../../../domain/api/Crossfire.ts"
import { type Cursor, sameCursor } from "../../../domain/Cursor.ts"
import type { AgentId, DeliveryId, RoomId } from "../../../domain/Ids.ts"
import type { Publication } from "../../../domain/Publication.ts"
import { FleetDb } from "../../../services/Database.ts"
import { BaseChanged, Publications } from "../../../services/Publications.ts"
import { decodeCursor, encodeCursor, encodePosition, insert, load } from "./PublicationRows.ts"

const encodeAcknowledgment = Schema.encodeSync(Schema.parseJson(Acknowledgment))

export const make = Effect.gen(function*() {
  const database = yield* FleetDb
  const { read, sql, transaction } = database

  const cursorOf = (agentId: AgentId, roomId: RoomId) =>
    Effect.map(
      sql<{ readonly cursor: string }>`SELECT cursor FROM cursor WHERE agent_id = ${agentId} AND room_id = ${roomId}`,
      (rows): Cursor | null => rows[0] === undefined ? null : decodeCursor(rows[0].cursor)
    )

  const byId = (deliveryId: DeliveryId) =>
    Effect.flatMap(sql`SELECT * FROM publication WHERE delivery_id = ${deliveryId}`, (rows) => load(database, rows))
      .pipe(
        Effect.flatMap(Option.match({
          onNone: () => Effect.dieMessage(`no publication ${deliveryId}`),
          onSome: Effect.succeed
        }))
      )

  const basesStand = (publication: Publication) =>
    Effect.every(
      publication.moves,
      (move) => Effect.map(cursorOf(publication.agentId, move.roomId), (stored) => sameCursor(stored, move.base))
    )

  /** The publication and the unknown ones that it stands for, nearest first. */
  const lineage = (
    publication: Publication
  ): Effect.Effect<ReadonlyArray<Publication>, Effect.Effect.Error<ReturnType<typeof byId>>> =>
    publication.inherits === null
      ? Effect.succeed([publication])
      : Effect.flatMap(
        byId(publication.inherits),
        (earlier) => Effect.map(lineage(earlier), (rest) => [publication, ...rest])
      )

  /** Whether something of what it covers, or of what it stands for, was removed since it was made. */
  const redactedSince = (publication: Publication) =>
    Effect.gen(function*() {
      for (const { deliveryId } of yield* lineage(publication)) {
        const rows = yield* sql`SELECT 1 FROM publication_event JOIN redaction USING (event_id)
          WHERE delivery_id = ${deliveryId} AND redaction.agent_id = ${publication.agentId}
            AND redaction.sequence > ${publication.redactionsKnown} LIMIT 1`
        if (rows.length > 0) return true
      }
      return false
    })

  /** What `publication` would have written, under the delivery that proves it: its own, or its notice's. */
  const writeProgress = (publication: Publication, provenBy: DeliveryId, now: number) =>
    Effect.gen(function*() {
      const { agentId } = publication
      for (const move of publication.moves) {
        // The newest base still stands: at most one publication of a context is open, and its bases were checked.
        yield* sql`INSERT INTO cursor ${
          sql.insert({
            agent_id: agentId,
            room_id: move.roomId,
            cursor: encodeCursor(move.next),
            seen_latest: move.seenLatest ?? 0
          })
        } ON CONFLICT (agent_id, room_id) DO UPDATE SET cursor = excluded.cursor,
          seen_latest = COALESCE(${move.seenLatest}, seen_latest)`
      }
      for (const event of publication.events) {
        yield* sql`INSERT INTO delivered ${
          sql.insert({
            agent_id: agentId,
            room_id: event.roomId,
            event_id: event.eventId,
            delivery_id: provenBy,
            delivered_at: now
          })
        } ON CONFLICT DO NOTHING`
      }
      for (const operationId of publication.items) {
        yield* sql`UPDATE item SET delivered_by = ${provenBy} WHERE operation_id = ${operationId}`
      }
    })

  const confirmed: Publications["Type"]["confirmed"] = (deliveryId, receipt, checkpoint) =>
    transaction(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const publication = yield* byId(deliveryId)
      if (publication.state === "confirmed") return
      const covered = yield* lineage(publication)
      yield* sql`UPDATE publication SET state = 'confirmed', entry = ${receipt.entry}, receipt_form = ${receipt.form},
        turn_id = COALESCE(${receipt.turnId}, turn_id), settled_at = ${now} WHERE delivery_id = ${deliveryId}`
      for (const one of covered) {
        yield* writeProgress(one, deliveryId, now)
        if (one.deliveryId !== deliveryId) {
          yield* sql`UPDATE publication SET told_by = ${deliveryId}, settled_at = ${now} WHERE delivery_id = ${one.deliveryId}`
        }
      }
      yield* sql`UPDATE binding SET position = ${encodePosition(receipt.position)}
        WHERE agent_id = ${publication.agentId} AND context = ${publication.context} AND archived_at IS NULL`
      yield* sql`INSERT INTO checkpoint ${
        sql.insert({
          agent_id: checkpoint.agentId,
          context: checkpoint.context,
          native_id: checkpoint.nativeId,
          delivery_id: checkpoint.deliveryId,
          run_id: checkpoint.runId,
          turn_id: checkpoint.turnId,
          turn_end: checkpoint.turnEnd,
          continues: checkpoint.continues,
          updated_at: now
        })
      } ON CONFLICT (agent_id, context) DO UPDATE SET native_id = excluded.native_id,
        delivery_id = excluded.delivery_id, run_id = excluded.run_id, turn_id = excluded.turn_id,
        turn_end = excluded.turn_end, continues = excluded.continues, updated_at = excluded.updated_at`
      const acknowledgment: Acknowledgment = {
        deliveryId,
        cursors: covered.flatMap((one) => one.moves.map((move) => ({ roomId: move.roomId, cursor: move.next }))),
        delivered: covered.flatMap((one) => one.events.map(({ eventId, roomId }) => ({ roomId, eventId }))),
        redactionNumber: 0
      }
      if (acknowledgment.cursors.length + acknowledgment.delivered.length > 0) {
        yield* sql`INSERT INTO acknowledgment ${
          sql.insert({
            delivery_id: deliveryId,
            agent_id: publication.agentId,
            payload: encodeAcknowledgment(acknowledgment)
          })
        } ON CONFLICT DO NOTHING`
      }
    }))

  return Publications.of({
    open: (agentId, context) =>
      read(Effect.flatMap(
        sql`SELECT * FROM publication WHERE agent_id = ${agentId} AND context = ${context}
          AND state IN ('prepared', 'submitted')`,
        (rows) => load(database, rows)
      )),
    unknown: (agentId, context) =>
      read(Effect.flatMap(
        sql`SELECT * FROM publication AS earlier WHERE agent_id = ${agentId} AND context = ${context}
          AND state = 'unknown' AND told_by IS NULL AND NOT EXISTS (
            SELECT 1 FROM publication AS notice WHERE notice.inherits = earlier.delivery_id AND notice.state = 'unknown'
          ) ORDER BY sequence LIMIT 1`,
        (rows) => load(database, rows)
      )),
    prepare: (publication) =>
      transaction(Effect.flatMap(Clock.currentTimeMillis, (now) => insert(database, publication, now))),
    submitted: (deliveryId, run) =>
      transaction(Effect.gen(function*() {
        const publication = yield* byId(deliveryId)
        const stands = publication.state === "prepared" && (yield* basesStand(publication)) &&
          !(yield* redactedSince(publication))
        if (!stands) {
          return yield* new BaseChanged({ deliveryId })
        }
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE publication SET state = 'submitted', run_id = ${run.runId}, boot_id = ${run.bootId},
          turn_id = NULL, submitted_at = ${now} WHERE delivery_id = ${deliveryId}`
      })),
    turnKnown: (deliveryId, turnId) =>
      transaction(Effect.asVoid(
        sql`UPDATE publication SET turn_id = ${turnId} WHERE delivery_id = ${deliveryId} AND state = 'submitted'`
      )),
    confirmed,
    absent: (deliveryId, position) =>
      transaction(Effect.asVoid(
        sql`UPDATE publication SET state = 'prepared', failures = failures + 1, run_id = NULL, boot_id = NULL,
          turn_id = NULL, submitted_at = NULL, position = ${encodePosition(position)}
          WHERE delivery_id = ${deliveryId} AND state = 'submitted'`
      )),
    discarded: (deliveryId) =>
      transaction(Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE publication SET state = 'discarded', settled_at = ${now}
          WHERE delivery_id = ${deliveryId} AND state = 'prepared'`
      })),
    becameUnknown: (deliveryId) =>
      transaction(Effect.asVoid(
        sql`UPDATE publication SET state = 'unknown' WHERE delivery_id = ${deliveryId} AND state = 'submitted'`
      ))
  })
})

export const layer = Layer.effect(Publications, make)
