import { expect, it } from "@effect/vitest"
import { FastCheck as fc, Schema } from "effect"
import { encodeManifest, Manifest, manifestOf, planFiles, renderFiled, RoomFile } from "../../src/domain/FiledInput.ts"
import { DeliveryId, EventId, RoomId, UserId } from "../../src/domain/Ids.ts"
import { type BatchInput, renderBatch } from "../../src/domain/InputText.ts"
import { RoomRecord } from "../../src/domain/Level.ts"
import { restateFiles, restateManifest, wipedMarker, wipeFile, wipeText } from "../../src/domain/Wiping.ts"

const record = (at: number, text: string, form: RoomRecord["form"] = "message") =>
  new RoomRecord({
    eventId: EventId.make(`$${at}`),
    roomId: RoomId.make("!one"),
    kind: "wake",
    sender: UserId.make("@alice:test"),
    senderRole: "owner",
    senderAgent: null,
    displayName: null,
    sentAtMillis: 0,
    type: "m.room.message",
    form,
    text,
    replyTo: EventId.make("$0"),
    relatesTo: EventId.make("$0")
  })

const input = (records: ReadonlyArray<RoomRecord>): BatchInput => ({
  deliveryId: DeliveryId.make("12345678-1234-4234-8234-123456789abc"),
  agentName: "scout",
  rooms: [],
  records,
  items: [{ operationId: "op", kind: "direct", text: "── message $2 in !one from x", storedAtMillis: 0 }]
})

const forms = ["message", "edit", "reaction", "redaction", "membership", "name", "other"] as const

it("[F47] exactly the removed events lose their text, whatever anybody wrote; done again, nothing changes", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("── message $2 in !one\n| more", wipedMarker, "a\u2028b\r\nc")
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.constantFrom(...forms), fc.boolean()), { maxLength: 6 }), (parts) => {
      const records = parts.map(([text, form], at) => record(at + 1, text, form))
      const gone = new Set(parts.flatMap(([, , isGone], at) => isGone ? [EventId.make(`$${at + 1}`)] : []))
      const wiped = wipeText(renderBatch(input(records)), gone)
      // What is there without the text of those, plus one marker each.
      const expected = renderBatch(
        input(records.map((one) => gone.has(one.eventId) ? new RoomRecord({ ...one, text: null }) : one))
      )
      expect(wiped.split("\n").filter((line) => line !== wipedMarker).join("\n")).toBe(expected)
      expect(wiped.split("\n").filter((line) => line === wipedMarker)).toHaveLength(gone.size)
      expect(wipeText(wiped, gone)).toBe(wiped)
    })
  )
})

const readRoom = Schema.decodeSync(Schema.parseJson(RoomFile))
const readManifest = Schema.decodeSync(Schema.parseJson(Manifest))

it("[F47] in a file the event stays as a removed one; manifest and text say what the files are now", () => {
  const large = input([record(1, "a slip"), record(2, "stays")])
  const planned = planFiles(large, [])
  const folder = "/root/artifacts/a folder"
  const before = { bytes: 10, sha256: "0a" }
  const manifest = manifestOf(large, planned.map(({ entry }) => ({ ...entry, ...before })), 11)
  const path = `${folder}/manifest.json`
  const gone = new Set([EventId.make("$1")])
  const files = planned.map(({ entry, text }, at) => ({
    path: `${folder}/${entry.name}`,
    content: wipeFile(text, gone),
    bytes: 100 + at,
    sha256: `b${at}`
  }))
  const [room, items] = files
  expect(room?.content).not.toContain("a slip")
  expect(readRoom(room?.content ?? "").records).toMatchObject([
    { eventId: "$1", form: "redacted", text: null, textBytes: 0, removedSince: true, replyTo: "$0" },
    { eventId: "$2", form: "message", text: "stays" }
  ])
  expect(items?.content).toBe(planned[1]?.text)
  const restated = readManifest(restateManifest(encodeManifest(manifest), files))
  expect(restated.files).toMatchObject([{ bytes: 100, sha256: "b0" }, { bytes: 101, sha256: "b1" }])
  expect(restated.totals).toMatchObject({
    textBytes: Buffer.byteLength("stays── message $2 in !one from x"),
    fileBytes: 201,
    records: 2
  })
  const text = renderFiled(large, manifest, { path, ...before })
  const shown = restateFiles(text, [{ path, bytes: 12, sha256: "cc" }])
  expect(shown).toBe(text.replace("(10 bytes, SHA-256 0a)", "(12 bytes, SHA-256 cc)"))
  expect(shown).not.toBe(text)
})
