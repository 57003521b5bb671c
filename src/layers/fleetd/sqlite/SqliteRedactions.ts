// `Redactions` over the registry and the agent's files. First the rows, so that nothing with such an event is submitted any
// more; then files and texts; the number last.
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Acknowledgment } from "../../../domain/api/Crossfire.ts"
import type { WrittenFile } from "../../../domain/FiledInput.ts"
import { type AgentId, DeliveryId, EventId } from "../../../domain/Ids.ts"
import type { Level } from "../../../domain/Level.ts"
import { isManifest, restateFiles, restateManifest, wipeFile, wipeText } from "../../../domain/Wiping.ts"
import { Artifacts } from "../../../services/Artifacts.ts"
import { FleetDb } from "../../../services/Database.ts"
import { Redactions } from "../../../services/Redactions.ts"
import { nextUuid } from "../Uuids.ts"

const decodeTaken = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  incarnation: Schema.NullOr(Schema.String),
  number: Schema.Int,
  noted: Schema.Int,
  wiped: Schema.Int
})))
const decodeAffected = Schema.decodeUnknown(Schema.Array(Schema.Struct({ deliveryId: DeliveryId, eventId: EventId })))
const encodeAcknowledgment = Schema.encodeSync(Schema.parseJson(Acknowledgment))

export const make = Effect.gen(function*() {
  const artifacts = yield* Artifacts
  const { read, sql, transaction } = yield* FleetDb

  const taken = (agentId: AgentId) =>
    Effect.flatMap(
      sql`SELECT redaction_incarnation AS incarnation, redaction_number AS number, redaction_mark AS wiped,
        (SELECT COALESCE(MAX(sequence), 0) FROM redaction WHERE redaction.agent_id = agent.agent_id) AS noted
        FROM agent WHERE agent_id = ${agentId}`,
      decodeTaken
    ).pipe(Effect.map((rows) => Option.fromNullable(rows[0])))

  /**
   * Inputs that may hold the text of an event that is not wiped yet, oldest first, with those events: their own, and for a
   * notice those of the inputs that it stands for. What the agent was given, or told of, is no matter of ours any more.
   */
  const affected = (agentId: AgentId) =>
    Effect.flatMap(
      sql`WITH RECURSIVE line (head, place, known, delivery_id) AS (
            SELECT delivery_id, sequence, redactions_known, delivery_id FROM publication
              WHERE agent_id = ${agentId} AND (state IN ('prepared', 'submitted', 'discarded')
                OR (state = 'unknown' AND told_by IS NULL))
            UNION ALL
            SELECT line.head, line.place, line.known, publication.inherits FROM line
              JOIN publication ON publication.delivery_id = line.delivery_id WHERE publication.inherits IS NOT NULL
          )
          SELECT DISTINCT line.head AS deliveryId, redaction.event_id AS eventId FROM line
            JOIN publication_event ON publication_event.delivery_id = line.delivery_id
            JOIN redaction ON redaction.agent_id = ${agentId} AND redaction.event_id = publication_event.event_id
          WHERE redaction.sequence > line.known
            AND redaction.sequence > (SELECT redaction_mark FROM agent WHERE agent_id = ${agentId})
          ORDER BY line.place`,
      decodeAffected
    ).pipe(Effect.map((rows) => {
      const inputs = new Map<DeliveryId, Set<EventId>>()
      for (const { deliveryId, eventId } of rows) {
        inputs.set(deliveryId, (inputs.get(deliveryId) ?? new Set()).add(eventId))
      }
      return inputs
    }))

  const note = (level: Level) =>
    transaction(Effect.gen(function*() {
      const { agentId } = level
      const now = yield* Clock.currentTimeMillis
      for (const { eventId, roomId } of level.redactions) {
        yield* sql`INSERT INTO redaction ${
          sql.insert({ agent_id: agentId, room_id: roomId, event_id: eventId, taken_at: now })
        } ON CONFLICT DO NOTHING`
      }
      const inputs = yield* affected(agentId)
      for (const deliveryId of inputs.keys()) {
        yield* sql`UPDATE publication SET state = 'discarded', settled_at = ${now}
          WHERE delivery_id = ${deliveryId} AND state = 'prepared'`
      }
      return inputs
    }))

  /** Files before the manifest that names them, and both before the text that names these. */
  const wipe = (deliveryId: DeliveryId, gone: ReadonlySet<EventId>, restated: ReadonlyArray<WrittenFile>) =>
    Effect.gen(function*() {
      const files = yield* artifacts.contents(deliveryId)
      const now: Array<WrittenFile & { readonly content: string }> = []
      for (const { content, path } of files.filter(({ path }) => !isManifest(path))) {
        const wiped = restateFiles(wipeFile(content, gone), restated)
        now.push({ ...yield* artifacts.rewrite(path, wiped), content: wiped })
      }
      for (const { content, path } of files.filter(({ path }) => isManifest(path))) {
        const wiped = restateManifest(content, now)
        now.push({ ...yield* artifacts.rewrite(path, wiped), content: wiped })
      }
      const known: ReadonlyArray<WrittenFile> = [...restated, ...now]
      yield* transaction(Effect.gen(function*() {
        const rows = yield* sql<{ readonly text: string }>`SELECT text FROM publication
          WHERE delivery_id = ${deliveryId}`
        for (const { text } of rows) {
          yield* sql`UPDATE publication SET text = ${restateFiles(wipeText(text, gone), known)}
            WHERE delivery_id = ${deliveryId}`
        }
      }))
      return known
    })

  /** Its own acknowledgment: whoever sends one gives the number that is taken by then. */
  const finish = (level: Level, number: number) =>
    transaction(Effect.gen(function*() {
      const { agentId } = level
      yield* sql`UPDATE agent SET redaction_number = ${number}, redaction_incarnation = ${level.incarnation},
        redaction_mark = (SELECT COALESCE(MAX(sequence), 0) FROM redaction WHERE agent_id = ${agentId})
        WHERE agent_id = ${agentId}`
      const deliveryId = DeliveryId.make(yield* nextUuid)
      const payload = encodeAcknowledgment({ deliveryId, cursors: [], delivered: [], redactionNumber: 0 })
      yield* sql`INSERT INTO acknowledgment ${sql.insert({ delivery_id: deliveryId, agent_id: agentId, payload })}`
    }))

  return Redactions.of({
    known: (agentId) =>
      Effect.map(
        read(taken(agentId)),
        Option.match({
          onNone: () => ({ noted: 0, wiped: 0 }),
          onSome: ({ noted, wiped }) => ({ noted, wiped })
        })
      ),
    take: (level) =>
      Effect.gen(function*() {
        const last = level.redactions.at(-1)?.number ?? 0
        if (last === 0) return false
        const before = yield* read(taken(level.agentId))
        // Nobody of this registry's, or nothing new.
        const isOld = Option.match(before, {
          onNone: () => true,
          onSome: ({ incarnation, number }) => incarnation === level.incarnation && last <= number
        })
        if (isOld) return false
        let restated: ReadonlyArray<WrittenFile> = []
        for (const [deliveryId, gone] of yield* note(level)) restated = yield* wipe(deliveryId, gone, restated)
        yield* finish(level, last)
        return true
      })
  })
})

export const layer = Layer.effect(Redactions, make)
