import { expect, it } from "@effect/vitest"
import { FastCheck as fc, Schema } from "effect"
import { advanced, cursorAt } from "../../src/domain/Cursor.ts"
import { deliveryIdOfFirstLine } from "../../src/domain/DeliveryHeader.ts"
import {
  ItemsFile,
  manifestOf,
  planFiles,
  renderFiled,
  renderManifestAlone,
  RoomFile
} from "../../src/domain/FiledInput.ts"
import { DeliveryId, EventId, RoomId, StreamToken, UserId } from "../../src/domain/Ids.ts"
import type { BatchInput } from "../../src/domain/InputText.ts"
import { LevelRoom, RoomRecord } from "../../src/domain/Level.ts"
import { CursorMove } from "../../src/domain/Publication.ts"

const deliveryId = DeliveryId.make("12345678-1234-4234-8234-123456789abc")
const one = RoomId.make("!one")
const other = RoomId.make("!other")

const record = (at: number, roomId: RoomId, change: Partial<ConstructorParameters<typeof RoomRecord>[0]> = {}) =>
  new RoomRecord({
    eventId: EventId.make(`$${at}`),
    roomId,
    kind: "wake",
    sender: UserId.make("@alice:test"),
    senderRole: "owner",
    senderAgent: null,
    displayName: "Alice",
    sentAtMillis: 1_790_000_000_000,
    type: "m.room.message",
    form: "message",
    text: `text ${at}`,
    replyTo: null,
    relatesTo: null,
    ...change
  })

const batch = (change: Partial<BatchInput>): BatchInput => ({
  deliveryId,
  agentName: "scout",
  rooms: [
    new LevelRoom({ roomId: one, name: "Theatre", isDirect: false, boundary: StreamToken.make("s1"), latest: 1 })
  ],
  records: [],
  items: [],
  ...change
})

const readRoom = Schema.decodeSync(Schema.parseJson(RoomFile))
const readItems = Schema.decodeSync(Schema.parseJson(ItemsFile))
const size = { bytes: 70_000, sha256: "cd" }
const file = { path: "/root/artifacts/manifest.json", ...size }
const manifestFor = (input: BatchInput, moves: ReadonlyArray<CursorMove> = []) =>
  manifestOf(input, planFiles(input, moves).map(({ entry }) => ({ ...entry, ...size })), 0)

it("[F-02] [F-03] each room has a file with every event in order: sender, time, text and its bytes, reply, continuation", () => {
  const next = new CursorMove({
    roomId: one,
    base: null,
    next: advanced(cursorAt(StreamToken.make("s1")), StreamToken.make("s9"), StreamToken.make("t5"), null),
    seenLatest: null
  })
  const files = planFiles(
    batch({
      records: [
        record(1, one, { text: "é🚀", replyTo: EventId.make("$0") }),
        record(2, other, { kind: "context", form: "redacted", text: null, sentAtMillis: null }),
        record(3, one, { kind: "context" })
      ]
    }),
    [next]
  )
  expect(files.map(({ entry }) => entry)).toMatchObject([
    { name: "room-001.json", roomId: one, records: 2, woke: ["$1"], items: 0, moreWaits: true },
    { name: "room-002.json", roomId: other, records: 1, woke: [], items: 0, moreWaits: false }
  ])
  const [first, second] = files.map(({ text }) => readRoom(text))
  expect(first).toMatchObject({
    deliveryId,
    roomName: "Theatre",
    continuation: { moreWaits: true, cursor: { from: "s1", to: "s9", taken: "t5" } }
  })
  expect(first?.records[0]).toMatchObject({
    eventId: "$1",
    kind: "wake",
    sender: "@alice:test",
    sentAt: "2026-09-21T14:13:20.000Z",
    text: "é🚀",
    textBytes: 6,
    replyTo: "$0"
  })
  expect(first?.records.map(({ eventId }) => eventId)).toStrictEqual(["$1", "$3"])
  expect(second?.records[0]).toMatchObject({ form: "redacted", text: null, textBytes: 0, sentAt: null })
})

it("[F-04] direct messages and scheduled inputs have a file of their own, without room, sender and event ID", () => {
  const files = planFiles(
    batch({ items: [{ operationId: "op-1", kind: "direct", text: "look\nhere", storedAtMillis: 0 }] }),
    []
  )
  expect(files.map(({ entry }) => entry.name)).toStrictEqual(["items.json"])
  expect(readItems(files[0]?.text ?? "").items).toStrictEqual([{
    operationId: "op-1",
    kind: "direct",
    storedAt: "1970-01-01T00:00:00.000Z",
    storedAtMillis: 0,
    text: "look\nhere",
    textBytes: 9
  }])
  expect(files[0]?.text).not.toMatch(/eventId|sender|roomId/u)
})

it("[F-02] content is neither truncated nor expanded: whatever is written is read back, to the last unit", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (text, name) => {
    const [room, items] = planFiles(
      batch({
        records: [record(1, one, { text, displayName: name })],
        items: [{ operationId: "op", kind: "schedule", text, storedAtMillis: 0 }]
      }),
      []
    )
    expect(readRoom(room?.text ?? "").records[0]).toMatchObject({ text, displayName: name })
    expect(readItems(items?.text ?? "").items[0]?.text).toBe(text)
  }))
})

it("[F-02] the compact text names manifest, totals, each room's counts, what woke the agent and how to answer; no content", () => {
  const input = batch({
    records: [record(1, one), record(2, one), record(3, other, { kind: "context" })],
    items: [{ operationId: "op-1", kind: "direct", text: "secret plan", storedAtMillis: 0 }]
  })
  const text = renderFiled(input, manifestFor(input), file)
  expect(deliveryIdOfFirstLine(text)).toBe(deliveryId)
  expect(text.split("\n").slice(2, 4)).toStrictEqual([
    "manifest /root/artifacts/manifest.json (70000 bytes, SHA-256 cd)",
    "3 room records of 2 rooms, 1 direct inputs, 210000 bytes in 3 files"
  ])
  expect(text).toContain(
    "── room !one: room named Theatre\nfile room-001.json: 70000 bytes, 2 records; 2 of them woke you, the last $2 from @alice:test\n"
  )
  expect(text).toContain("── room !other\nfile room-002.json: 70000 bytes, 1 records; nothing of it woke you\n")
  expect(text).toContain("1 direct messages from your owner's command line, 0 scheduled inputs\nfile items.json")
  expect(text).toContain("room_send")
  expect(text).not.toContain("text 1")
  expect(text).not.toContain("secret plan")
  const alone = renderManifestAlone(manifestFor(input), file)
  expect(deliveryIdOfFirstLine(alone)).toBe(deliveryId)
  expect(alone.split("\n")).toHaveLength(5)
  expect(alone).toContain("manifest /root/artifacts/manifest.json (70000 bytes, SHA-256 cd)")
})
