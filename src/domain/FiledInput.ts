// An input that is too large to stand in the context: its complete content as JSON files, a manifest of them, and the
// compact text that stands in its place. Pure; docs/inputs.md describes the format.
import { DateTime, Option, Schema } from "effect"
import { Cursor } from "./Cursor.ts"
import { quoted, renderDeliveryHeader } from "./DeliveryHeader.ts"
import { DeliveryId, EventId, RoomId, UserId } from "./Ids.ts"
import { type BatchInput, howToAnswer, roomLine } from "./InputText.ts"
import { RoomRecord } from "./Level.ts"
import { NameDoubt } from "./NameLikeness.ts"
import type { CursorMove } from "./Publication.ts"

/** One event exactly as it was collected. */
const FiledRecord = Schema.Struct({
  eventId: EventId,
  kind: RoomRecord.fields.kind,
  form: RoomRecord.fields.form,
  type: Schema.String,
  sender: UserId,
  senderRole: RoomRecord.fields.senderRole,
  senderAgent: RoomRecord.fields.senderAgent,
  displayName: Schema.NullOr(Schema.String),
  nameDoubt: Schema.NullOr(NameDoubt),
  /** As the homeserver claims; null: unknown, or no time that can be shown. */
  sentAt: Schema.NullOr(Schema.String),
  sentAtMillis: Schema.NullOr(Schema.Number),
  text: Schema.NullOr(Schema.String),
  /** UTF-8. */
  textBytes: Schema.Int,
  replyTo: Schema.NullOr(EventId),
  relatesTo: Schema.NullOr(EventId),
  /** It was removed after the input was made: its text was here. */
  removedSince: Schema.optional(Schema.Literal(true))
})

export const RoomFile = Schema.Struct({
  format: Schema.Literal("fleet-room/1"),
  deliveryId: DeliveryId,
  roomId: RoomId,
  roomName: Schema.NullOr(Schema.String),
  isDirect: Schema.Boolean,
  /** In the room's order. */
  records: Schema.Array(FiledRecord),
  /** Where this room is read on from, and whether something is known to wait there. */
  continuation: Schema.Struct({ moreWaits: Schema.Boolean, cursor: Schema.NullOr(Cursor) })
})
export type RoomFile = typeof RoomFile.Type

/** Inputs that are no Matrix events: they have no room, no sender and no event ID. */
export const ItemsFile = Schema.Struct({
  format: Schema.Literal("fleet-items/1"),
  deliveryId: DeliveryId,
  items: Schema.Array(Schema.Struct({
    operationId: Schema.String,
    kind: Schema.Literal("direct", "schedule"),
    storedAt: Schema.NullOr(Schema.String),
    storedAtMillis: Schema.Number,
    text: Schema.String,
    textBytes: Schema.Int
  }))
})
export type ItemsFile = typeof ItemsFile.Type

const ManifestEntry = Schema.Struct({
  name: Schema.String,
  /** Null: not of a room. */
  roomId: Schema.NullOr(RoomId),
  records: Schema.Int,
  /** Of these, what woke the agent. */
  woke: Schema.Array(EventId),
  items: Schema.Int,
  moreWaits: Schema.Boolean,
  bytes: Schema.Int,
  sha256: Schema.String
})
export type ManifestEntry = typeof ManifestEntry.Type

export const Manifest = Schema.Struct({
  format: Schema.Literal("fleet-manifest/1"),
  deliveryId: DeliveryId,
  agent: Schema.String,
  totals: Schema.Struct({
    rooms: Schema.Int,
    records: Schema.Int,
    items: Schema.Int,
    textBytes: Schema.Int,
    fileBytes: Schema.Int
  }),
  files: Schema.Array(ManifestEntry),
  howToAnswer: Schema.Array(Schema.String)
})
export type Manifest = typeof Manifest.Type

export const encodeRoom = Schema.encodeSync(Schema.parseJson(RoomFile, { space: 1 }))
const encodeItems = Schema.encodeSync(Schema.parseJson(ItemsFile, { space: 1 }))
export const encodeManifest = Schema.encodeSync(Schema.parseJson(Manifest, { space: 1 }))

export const manifestName = "manifest.json"

const encoder = new TextEncoder()
export const byteLength = (text: string): number => encoder.encode(text).length

const shownTime = (millis: number | null): string | null => {
  const known = millis === null ? Option.none() : DateTime.make(millis)
  return Option.getOrNull(Option.map(known, DateTime.formatIso))
}

const wakes = (record: RoomRecord): boolean => record.kind === "wake" || record.kind === "mention"

const filed = (record: RoomRecord): RoomFile["records"][number] => ({
  eventId: record.eventId,
  kind: record.kind,
  form: record.form,
  type: record.type,
  sender: record.sender,
  senderRole: record.senderRole,
  senderAgent: record.senderAgent,
  displayName: record.displayName,
  nameDoubt: record.nameDoubt,
  sentAt: shownTime(record.sentAtMillis),
  sentAtMillis: record.sentAtMillis,
  text: record.text,
  textBytes: record.text === null ? 0 : byteLength(record.text),
  replyTo: record.replyTo,
  relatesTo: record.relatesTo
})

/** A file that is still to be written: what the manifest will say of it, without its size and hash. */
export interface PlannedFile {
  readonly entry: Omit<ManifestEntry, "bytes" | "sha256">
  readonly text: string
  /** Of the messages in it, in UTF-8. */
  readonly textBytes: number
}

/** One file per room, and one for what came from no room. Nothing is left out, cut or added. */
export const planFiles = (input: BatchInput, moves: ReadonlyArray<CursorMove>): ReadonlyArray<PlannedFile> => {
  const cursors = new Map(moves.map((move) => [move.roomId, move.next]))
  const roomIds = [...new Set(input.records.map((record) => record.roomId))]
  const rooms = roomIds.map((roomId, at): PlannedFile => {
    const room = input.rooms.find((one) => one.roomId === roomId)
    const own = input.records.filter((record) => record.roomId === roomId)
    const cursor = cursors.get(roomId) ?? null
    const moreWaits = cursor !== null && cursor.to !== null
    const records = own.map(filed)
    return {
      entry: {
        name: `room-${String(at + 1).padStart(3, "0")}.json`,
        roomId,
        records: own.length,
        woke: own.filter(wakes).map((record) => record.eventId),
        items: 0,
        moreWaits
      },
      text: encodeRoom({
        format: "fleet-room/1",
        deliveryId: input.deliveryId,
        roomId,
        roomName: room?.name ?? null,
        isDirect: room?.isDirect ?? false,
        records,
        continuation: { moreWaits, cursor }
      }),
      textBytes: records.reduce((sum, record) => sum + record.textBytes, 0)
    }
  })
  if (input.items.length === 0) return rooms
  const items = input.items.map((item) => ({
    operationId: item.operationId,
    kind: item.kind,
    storedAt: shownTime(item.storedAtMillis),
    storedAtMillis: item.storedAtMillis,
    text: item.text,
    textBytes: byteLength(item.text)
  }))
  const others: PlannedFile = {
    entry: { name: "items.json", roomId: null, records: 0, woke: [], items: items.length, moreWaits: false },
    text: encodeItems({ format: "fleet-items/1", deliveryId: input.deliveryId, items }),
    textBytes: items.reduce((sum, item) => sum + item.textBytes, 0)
  }
  return [...rooms, others]
}

export const manifestOf = (
  input: BatchInput,
  files: ReadonlyArray<ManifestEntry>,
  textBytes: number
): Manifest => ({
  format: "fleet-manifest/1",
  deliveryId: input.deliveryId,
  agent: input.agentName,
  totals: {
    rooms: files.filter((file) => file.roomId !== null).length,
    records: input.records.length,
    items: input.items.length,
    textBytes,
    fileBytes: files.reduce((sum, file) => sum + file.bytes, 0)
  },
  files,
  howToAnswer
})

export interface WrittenFile {
  /** Absolute. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** How every input names a file's size and hash. */
export const fileFacts = (file: { readonly bytes: number; readonly sha256: string }): string =>
  `${file.bytes} bytes, SHA-256 ${file.sha256}`

const opening = (manifest: Manifest, file: WrittenFile): ReadonlyArray<string> => {
  const { fileBytes, items, records, rooms } = manifest.totals
  return [
    renderDeliveryHeader(manifest.deliveryId, { agent: manifest.agent, kind: "batch" }),
    "── this input is too large to stand here; its complete content is in private files",
    `manifest ${quoted(file.path)} (${fileFacts(file)})`,
    `${records} room records of ${rooms} rooms, ${items} direct inputs, ${fileBytes} bytes in ${manifest.files.length} files`,
    "The manifest names each file in the same folder with its bytes and SHA-256. Read them before you do anything else."
  ]
}

const entryLines = (input: BatchInput, entry: ManifestEntry): ReadonlyArray<string> => {
  const facts = `file ${entry.name}: ${entry.bytes} bytes`
  if (entry.roomId === null) {
    const scheduled = input.items.filter((item) => item.kind === "schedule").length
    return [
      `── not from a room: ${entry.items - scheduled} direct messages from your owner's command line, ` +
      `${scheduled} scheduled inputs`,
      facts
    ]
  }
  const room = input.rooms.find((one) => one.roomId === entry.roomId)
  const last = input.records.findLast((record) => record.roomId === entry.roomId && wakes(record))
  const woke = last === undefined
    ? "nothing of it woke you"
    : `${entry.woke.length} of them woke you, the last ${last.eventId} from ${last.sender}`
  const more = entry.moreWaits ? "; more of this room waits, and is given to you later" : ""
  return [
    room === undefined ? `── room ${entry.roomId}` : roomLine(room),
    `${facts}, ${entry.records} records; ${woke}${more}`
  ]
}

/** In place of the content: where it is, how much, of which rooms, what woke the agent, how to answer. */
export const renderFiled = (input: BatchInput, manifest: Manifest, file: WrittenFile): string =>
  [
    ...opening(manifest, file),
    ...manifest.files.flatMap((entry) => entryLines(input, entry)),
    ...howToAnswer
  ].join("\n")

/** Where even the rooms are too many to be named here. The manifest says how to answer as well. */
export const renderManifestAlone = (manifest: Manifest, file: WrittenFile): string => opening(manifest, file).join("\n")
