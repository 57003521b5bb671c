// `Expiry` over the registry: each kind of row has its own short transaction, so that no batch holds up a delivery.
import { Clock, Duration, Effect, Layer, Schema } from "effect"
import { AgentId, RoomId } from "../../../domain/Ids.ts"
import { FleetDb } from "../../../services/Database.ts"
import { Expiry } from "../../../services/Expiry.ts"

export interface Kept {
  /** Texts of settled inputs and of delivered direct messages. */
  readonly textsFor: Duration.DurationInput
  /** Rows of what is settled, accepted, answered or closed. */
  readonly rowsFor: Duration.DurationInput
  /** Settled inputs that stay whatever their age: what the owner is shown. */
  readonly newestInputs: number
  readonly deliveredFor: Duration.DurationInput
  /** Of each agent and room, whatever their age. */
  readonly newestDelivered: number
  readonly rowsPerBatch: number
}

export const usual: Kept = {
  textsFor: "24 hours",
  rowsFor: "7 days",
  newestInputs: 1_000,
  // Whether an ID was a wake's is not stored: all are kept as long as those.
  deliveredFor: "30 days",
  newestDelivered: 5_000,
  rowsPerBatch: 500
}

const decodeRooms = Schema.decodeUnknown(Schema.Array(Schema.Struct({ agent_id: AgentId, room_id: RoomId })))
const decodeSequences = Schema.decodeUnknown(Schema.Array(Schema.Struct({ sequence: Schema.Int })))

export const make = (kept: Kept) =>
  Effect.gen(function*() {
    const { read, sql, transaction } = yield* FleetDb
    const limit = kept.rowsPerBatch
    const before = (now: number, kept: Duration.DurationInput) => now - Duration.toMillis(kept)
    const counted = <E>(deleted: Effect.Effect<ReadonlyArray<unknown>, E>) => Effect.map(deleted, (rows) => rows.length)

    // Only a settled input has `settled_at`: confirmed, discarded, or told by its notice.
    const texts = (now: number) =>
      transaction(counted(
        sql`UPDATE publication SET text = '' WHERE sequence IN (SELECT sequence FROM publication
          WHERE settled_at < ${before(now, kept.textsFor)} AND text <> '' LIMIT ${limit}) RETURNING sequence`
      ))

    const itemTexts = (now: number) =>
      transaction(counted(
        sql`UPDATE item SET text = '' WHERE sequence IN (SELECT item.sequence FROM item
          JOIN publication ON publication.delivery_id = item.delivered_by
          WHERE publication.settled_at < ${before(now, kept.textsFor)} AND item.text <> '' LIMIT ${limit})
          RETURNING sequence`
      ))

    /** With the direct messages that they brought. The last one of a context stays: its state is asked for. */
    const publications = (now: number) =>
      transaction(Effect.gen(function*() {
        const rows = yield* sql<{ readonly delivery_id: string }>`SELECT delivery_id FROM publication
          WHERE settled_at < ${before(now, kept.rowsFor)}
            AND sequence <= (SELECT MAX(sequence) FROM publication) - ${kept.newestInputs}
            AND NOT EXISTS (SELECT 1 FROM checkpoint WHERE checkpoint.delivery_id = publication.delivery_id)
            AND NOT EXISTS (SELECT 1 FROM artifact WHERE artifact.delivery_id = publication.delivery_id)
            AND NOT EXISTS (SELECT 1 FROM acknowledgment
              WHERE acknowledgment.delivery_id = publication.delivery_id AND accepted_at IS NULL)
          ORDER BY settled_at LIMIT ${limit}`
        const gone = rows.map((row) => row.delivery_id)
        if (gone.length === 0) return 0
        for (const table of ["publication_move", "publication_event", "publication_item"]) {
          yield* sql`DELETE FROM ${sql(table)} WHERE ${sql.in("delivery_id", gone)}`
        }
        yield* sql`DELETE FROM item WHERE ${sql.in("delivered_by", gone)}`
        yield* sql`DELETE FROM publication WHERE ${sql.in("delivery_id", gone)}`
        return gone.length
      }))

    const acknowledgments = (now: number) =>
      transaction(counted(
        sql`DELETE FROM acknowledgment WHERE sequence IN (SELECT sequence FROM acknowledgment
          WHERE accepted_at < ${before(now, kept.rowsFor)} LIMIT ${limit}) RETURNING sequence`
      ))

    const messages = (now: number) =>
      transaction(counted(
        sql`DELETE FROM outgoing WHERE sequence IN (SELECT sequence FROM outgoing
          WHERE state <> 'waiting' AND COALESCE(answered_at, stored_at) < ${before(now, kept.rowsFor)} LIMIT ${limit})
          RETURNING sequence`
      ))

    // An open topic is the incident that lasts: it keeps the same from being told again.
    const notices = (now: number) =>
      transaction(counted(
        sql`DELETE FROM notice WHERE sequence IN (SELECT sequence FROM notice WHERE accepted_at IS NOT NULL
          AND MAX(closed_at, accepted_at) < ${before(now, kept.rowsFor)} LIMIT ${limit}) RETURNING sequence`
      ))

    // One that an input which still waits was collected before has to keep it from being submitted.
    const redactions = (now: number) =>
      transaction(counted(
        sql`DELETE FROM redaction WHERE sequence IN (SELECT redaction.sequence FROM redaction JOIN agent USING (agent_id)
          WHERE taken_at < ${before(now, kept.rowsFor)} AND redaction.sequence <= redaction_mark
            AND NOT EXISTS (SELECT 1 FROM publication WHERE publication.agent_id = redaction.agent_id
              AND publication.state IN ('prepared', 'submitted') AND redactions_known < redaction.sequence)
          LIMIT ${limit}) RETURNING sequence`
      ))

    /** Only where no window is partly read: inside of one, what stands just before its start can come again. */
    const deliveredIn = (agentId: AgentId, roomId: RoomId, now: number) =>
      transaction(Effect.gen(function*() {
        const [oldest] = yield* decodeSequences(
          yield* sql`SELECT sequence FROM delivered WHERE agent_id = ${agentId} AND room_id = ${roomId}
            ORDER BY sequence DESC LIMIT 1 OFFSET ${kept.newestDelivered - 1}`
        )
        if (oldest === undefined) return 0
        return yield* counted(sql`DELETE FROM delivered WHERE sequence IN (SELECT sequence FROM delivered
          WHERE agent_id = ${agentId} AND room_id = ${roomId} AND sequence < ${oldest.sequence}
            AND delivered_at < ${before(now, kept.deliveredFor)} ORDER BY sequence LIMIT ${limit}) RETURNING sequence`)
      }))

    const delivered = (now: number) =>
      Effect.gen(function*() {
        const rooms = yield* read(Effect.flatMap(
          sql`SELECT agent_id, room_id FROM cursor WHERE json_extract(cursor, '$.to') IS NULL`,
          decodeRooms
        ))
        let most = 0
        for (const { agent_id: agentId, room_id: roomId } of rooms) {
          most = Math.max(most, yield* deliveredIn(agentId, roomId, now))
        }
        return most
      })

    return Expiry.of({
      batch: Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        let most = 0
        for (
          const expired of [texts, itemTexts, acknowledgments, publications, messages, notices, redactions, delivered]
        ) {
          most = Math.max(most, yield* expired(now))
        }
        return most >= limit
      })
    })
  })

export const layer = Layer.effect(Expiry, make(usual))
