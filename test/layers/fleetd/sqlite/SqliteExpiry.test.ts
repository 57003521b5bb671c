import { expect, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { OperationId, sharedContext } from "../../../../src/domain/Ids.ts"
import * as SqliteDirectInputs from "../../../../src/layers/fleetd/sqlite/SqliteDirectInputs.ts"
import * as SqliteExpiry from "../../../../src/layers/fleetd/sqlite/SqliteExpiry.ts"
import { FleetDb } from "../../../../src/services/Database.ts"
import { DirectInputs } from "../../../../src/services/DirectInputs.ts"
import { Expiry } from "../../../../src/services/Expiry.ts"
import { editor, registryIn, scratchFolder } from "../../../support/FleetFile.ts"

const dayMillis = 24 * 3_600_000
const item = OperationId.make("88888888-0000-4000-8000-000000000000")

const setting = (kept: Partial<SqliteExpiry.Kept>) =>
  Effect.map(scratchFolder, (folder) =>
    Layer.mergeAll(
      Layer.effect(Expiry, SqliteExpiry.make({ ...SqliteExpiry.usual, ...kept })),
      SqliteDirectInputs.layer
    ).pipe(Layer.provideMerge(registryIn(folder))))

const enrolled = Effect.flatMap(
  FleetDb,
  ({ sql }) =>
    sql`INSERT INTO agent (agent_id, instance_key, name, user_id, token, engine, model, work_folder, history_mode,
      created_at) VALUES (${editor}, 'editor', 'editor', '@e:test', 't', 'pi', 'm', '/tmp', 'shared', 0)`
)

const publication = (id: string, state: string, settledAt: number | null) =>
  Effect.flatMap(FleetDb, ({ sql }) =>
    Effect.zipRight(
      sql`INSERT INTO publication (delivery_id, agent_id, context, kind, state, text, authority_revision, position,
          entry, prepared_at, settled_at)
        VALUES (${id}, ${editor}, ${id}, 'batch', ${state}, 'words', 1, '{}', 'e', 0, ${settledAt})`,
      sql`INSERT INTO publication_event (delivery_id, room_id, event_id, place) VALUES (${id}, '!r', ${`$${id}`}, 0)`
    ))

const column = (query: "publication" | "text" | "acknowledgment" | "outgoing" | "notice" | "delivered" | "item") =>
  Effect.flatMap(FleetDb, ({ sql }) => {
    const found = {
      publication: sql<{ readonly id: string }>`SELECT delivery_id AS id FROM publication ORDER BY sequence`,
      text: sql<{ readonly id: string }>`SELECT delivery_id AS id FROM publication WHERE text <> '' ORDER BY sequence`,
      acknowledgment: sql<{ readonly id: string }>`SELECT delivery_id AS id FROM acknowledgment ORDER BY sequence`,
      outgoing: sql<{ readonly id: string }>`SELECT operation_id AS id FROM outgoing ORDER BY sequence`,
      notice: sql<{ readonly id: string }>`SELECT operation_id AS id FROM notice ORDER BY sequence`,
      delivered: sql<{ readonly id: string }>`SELECT event_id AS id FROM delivered ORDER BY sequence`,
      item: sql<{ readonly id: string }>`SELECT text AS id FROM item ORDER BY sequence`
    }[query]
    return Effect.map(found, (rows) => rows.map(({ id }) => id))
  })

const all = Effect.flatMap(Expiry, ({ batch }) => Effect.repeat(batch, { while: (more) => more }))

it.scoped("[S-05] texts go 24 hours after their input was settled, rows after 7 days; what is pending stays", () =>
  Effect.gen(function*() {
    const layer = yield* setting({ newestInputs: 1, rowsPerBatch: 2 })
    yield* Effect.gen(function*() {
      const { sql } = yield* FleetDb
      yield* enrolled
      yield* (yield* DirectInputs).store({
        operationId: item,
        agentId: editor,
        context: sharedContext,
        kind: "direct",
        text: "do it"
      })
      for (const id of ["a", "b", "c"]) yield* publication(id, "confirmed", 0)
      yield* sql`UPDATE item SET delivered_by = 'b'`
      yield* publication("told", "unknown", 0)
      yield* publication("owed", "confirmed", 0)
      yield* publication("filed", "confirmed", 0)
      yield* publication("last", "confirmed", 0)
      yield* publication("prepared", "prepared", null)
      yield* publication("submitted", "submitted", null)
      yield* publication("unknown", "unknown", null)
      yield* publication("shown", "confirmed", 0)
      yield* sql`INSERT INTO artifact (path, agent_id, delivery_id, bytes, sha256, created_at)
        VALUES ('/f', ${editor}, 'filed', 1, 'x', 0)`
      yield* sql`INSERT INTO checkpoint (agent_id, context, native_id, delivery_id, run_id, updated_at)
        VALUES (${editor}, 'shared', 'n', 'last', 'r', 0)`
      yield* sql`INSERT INTO acknowledgment (delivery_id, agent_id, payload, accepted_at)
        VALUES ('a', ${editor}, '{}', 0), ('owed', ${editor}, '{}', NULL)`
      yield* sql`INSERT INTO outgoing (operation_id, agent_id, payload, state, stored_at, answered_at)
        VALUES ('waits', ${editor}, '{}', 'waiting', 0, NULL), ('early', ${editor}, NULL, 'accepted', 0, NULL),
          ('late', ${editor}, NULL, 'refused', 0, ${2 * dayMillis})`
      yield* sql`INSERT INTO notice (operation_id, topic, text, stored_at, accepted_at, closed_at)
        VALUES ('lasts', 't', '', 0, 0, NULL), ('unsent', 't1', '', 0, NULL, 0), ('over', 't2', '', 0, 0, 0)`

      yield* sql`INSERT INTO redaction (agent_id, room_id, event_id, taken_at)
        VALUES (${editor}, '!r', '$wiped', 0), (${editor}, '!r', '$waited-for', 0), (${editor}, '!r', '$not-yet', 0)`
      yield* sql`UPDATE agent SET redaction_mark = 2`
      yield* sql`UPDATE publication SET redactions_known = 1`

      yield* TestClock.adjust("24 hours")
      yield* all
      expect(yield* column("text")).toHaveLength(11)
      yield* TestClock.adjust("1 second")
      yield* all
      expect(yield* column("text")).toStrictEqual(["prepared", "submitted", "unknown"])
      expect(yield* column("item")).toStrictEqual([""])
      expect(yield* column("publication")).toHaveLength(11)
      // What the owner is shown of them needs no text.
      expect(yield* sql`SELECT event_id FROM publication_event`).toHaveLength(11)

      yield* TestClock.adjust("6 days")
      yield* all
      expect(yield* column("publication")).toStrictEqual(
        ["owed", "filed", "last", "prepared", "submitted", "unknown", "shown"]
      )
      expect(yield* column("item")).toStrictEqual([])
      expect(yield* sql`SELECT event_id AS id FROM redaction ORDER BY sequence`).toStrictEqual([{ id: "$waited-for" }, {
        id: "$not-yet"
      }])
      expect(yield* column("acknowledgment")).toStrictEqual(["owed"])
      expect(yield* column("outgoing")).toStrictEqual(["waits", "late"])
      expect(yield* column("notice")).toStrictEqual(["lasts", "unsent"])
    }).pipe(Effect.provide(layer))
  }))

it.scoped("delivered IDs go after 30 days, but for a room's newest, and not while its window is partly read", () =>
  Effect.gen(function*() {
    const layer = yield* setting({ newestDelivered: 2, rowsPerBatch: 2 })
    yield* Effect.gen(function*() {
      const { sql } = yield* FleetDb
      yield* enrolled
      for (const [room, to] of [["!done", null], ["!open", "s9"]] as const) {
        yield* sql`INSERT INTO cursor (agent_id, room_id, cursor, seen_latest)
          VALUES (${editor}, ${room}, ${`{"from":"s1","to":${
          to === null ? "null" : `"${to}"`
        },"taken":null,"last":null}`}, 0)`
        for (let at = 1; at <= 6; at++) {
          yield* sql`INSERT INTO delivered (agent_id, room_id, event_id, delivery_id, delivered_at)
            VALUES (${editor}, ${room}, ${`${room}-${at}`}, 'd', ${at === 4 ? dayMillis : 0})`
        }
      }
      yield* TestClock.adjust("30 days")
      yield* all
      expect(yield* column("delivered")).toHaveLength(12)
      yield* TestClock.adjust("1 second")
      yield* all
      expect((yield* column("delivered")).filter((id) => id.startsWith("!done"))).toStrictEqual(
        ["!done-4", "!done-5", "!done-6"]
      )
      expect((yield* column("delivered")).filter((id) => id.startsWith("!open"))).toHaveLength(6)
    }).pipe(Effect.provide(layer))
  }))
