import { expect, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Acknowledgment } from "../../../../src/domain/api/Crossfire.ts"
import { cursorAt } from "../../../../src/domain/Cursor.ts"
import {
  DeliveryId,
  EventId,
  Incarnation,
  OperationId,
  RoomId,
  StreamToken,
  UserId
} from "../../../../src/domain/Ids.ts"
import * as SqliteOutbox from "../../../../src/layers/fleetd/sqlite/SqliteOutbox.ts"
import { FleetDb } from "../../../../src/services/Database.ts"
import { FleetOutbox, SendRefused } from "../../../../src/services/FleetOutbox.ts"
import { editor, registryIn, reporter, scratchFolder } from "../../../support/FleetFile.ts"

const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
const outboxIn = (folder: string) => SqliteOutbox.layer.pipe(Layer.provideMerge(registryIn(folder)))

const message = (n: number, text = `text ${n}`) => ({
  operationId: OperationId.make(`00000000-0000-4000-8000-00000000000${n}`),
  roomId: RoomId.make("!room:test"),
  text,
  replyTo: EventId.make("$question"),
  mentions: [UserId.make("@alice:test")]
})

it.scopedLive("messages wait in the order in which they were stored, over a restart, until they are answered", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    yield* Effect.gen(function*() {
      const outbox = yield* FleetOutbox
      yield* outbox.storeMessage(editor, message(3))
      yield* outbox.storeMessage(reporter, message(1))
      yield* outbox.storeMessage(editor, message(2))
      // The same operation again changes nothing, its text included.
      yield* outbox.storeMessage(editor, message(3, "another text"))
    }).pipe(Effect.provide(outboxIn(folder)))

    yield* Effect.gen(function*() {
      const outbox = yield* FleetOutbox
      const waiting = yield* outbox.waitingMessages(10)
      expect(waiting).toStrictEqual([
        { agentId: editor, message: message(3) },
        { agentId: reporter, message: message(1) },
        { agentId: editor, message: message(2) }
      ])
      expect((yield* outbox.waitingMessages(1)).length).toBe(1)
      const eventId = EventId.make("$sent")
      yield* outbox.messageAnswered(message(3).operationId, { status: "sent", eventId })
      yield* outbox.messageAnswered(message(1).operationId, new SendRefused({ reason: "no permission there" }))
      yield* outbox.messageAnswered(message(2).operationId, { status: "queued" })
      // The first answer stands.
      yield* outbox.messageAnswered(message(3).operationId, new SendRefused({ reason: "late" }))
      expect(yield* outbox.waitingMessages(10)).toStrictEqual([])
      expect(yield* outbox.messageState(message(3).operationId)).toStrictEqual({
        state: "accepted",
        eventId,
        refusal: null
      })
      expect(yield* outbox.messageState(message(1).operationId)).toStrictEqual({
        state: "refused",
        eventId: null,
        refusal: "no permission there"
      })
      expect(yield* outbox.depth).toStrictEqual({ acknowledgments: 0, messages: 0, notices: 0 })
      // The text of an answered message is not kept.
      const { sql, read } = yield* FleetDb
      expect(yield* read(sql`SELECT count(*) AS kept FROM outgoing WHERE payload IS NOT NULL`)).toStrictEqual([
        { kept: 0 }
      ])
    }).pipe(Effect.provide(outboxIn(folder)))
  }))

it.scopedLive("acknowledgments are handed out in order until crossfire accepted them", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    yield* Effect.gen(function*() {
      const { sql, transaction } = yield* FleetDb
      const outbox = yield* FleetOutbox
      const acknowledgments = [1, 2].map((n) => ({
        deliveryId: DeliveryId.make(`55555555-5555-4555-8555-55555555555${n}`),
        cursors: [{ roomId: RoomId.make("!room:test"), cursor: cursorAt(StreamToken.make(`s${n}`)) }],
        delivered: [{ roomId: RoomId.make("!room:test"), eventId: EventId.make(`$e${n}`) }],
        redactionNumber: 0
      }))
      for (const acknowledgment of acknowledgments) {
        const payload = yield* Schema.encode(Schema.parseJson(Acknowledgment))(acknowledgment)
        yield* transaction(
          sql`INSERT INTO acknowledgment (delivery_id, agent_id, payload)
              VALUES (${acknowledgment.deliveryId}, ${editor}, ${payload})`
        )
      }
      const waiting = yield* outbox.waitingAcknowledgments(10, incarnation)
      expect(waiting).toStrictEqual(acknowledgments.map((acknowledgment) => ({ agentId: editor, acknowledgment })))
      const [first] = acknowledgments
      if (first === undefined) return
      yield* outbox.acknowledged(first)
      expect((yield* outbox.waitingAcknowledgments(10, incarnation)).map((each) => each.acknowledgment.deliveryId))
        .toStrictEqual([
          "55555555-5555-4555-8555-555555555552"
        ])
    }).pipe(Effect.provide(outboxIn(folder)))
  }))

it.scopedLive("the owner is told once per topic until the topic is closed, and never more than crossfire takes", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    yield* Effect.gen(function*() {
      const outbox = yield* FleetOutbox
      yield* outbox.notice("disk", "The disk is full")
      yield* outbox.notice("disk", "The disk is still full")
      yield* outbox.notice("long", `${"x".repeat(7_999)}🚀`)
      const [disk, long] = yield* outbox.waitingNotices(10)
      expect(disk?.text).toBe("The disk is full")
      expect(long?.text).toBe(`${"x".repeat(7_999)}\uFFFD`)
      if (disk === undefined) return
      yield* outbox.noticeAccepted(disk.operationId)
      yield* outbox.notice("disk", "and once more")
      expect((yield* outbox.waitingNotices(10)).length).toBe(1)
      yield* outbox.closeTopic("disk")
      yield* outbox.notice("disk", "full again")
      expect((yield* outbox.waitingNotices(10)).map(({ text }) => text)).toContain("full again")
    }).pipe(Effect.provide(outboxIn(folder)))
  }))
