import { expect, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { byteLength, Manifest } from "../../../src/domain/FiledInput.ts"
import type { FleetAgent } from "../../../src/domain/FleetAgent.ts"
import { HistoryPosition } from "../../../src/domain/History.ts"
import {
  EventId,
  Generation,
  Incarnation,
  OperationId,
  RoomId,
  sharedContext,
  StreamToken
} from "../../../src/domain/Ids.ts"
import { defaultMaxInputBytes } from "../../../src/domain/InputText.ts"
import { Level, LevelRoom, RoomRecord } from "../../../src/domain/Level.ts"
import type { Publication } from "../../../src/domain/Publication.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import * as FileArtifacts from "../../../src/layers/fleetd/FileArtifacts.ts"
import * as InputPreparation from "../../../src/layers/fleetd/InputPreparation.ts"
import { type Collected, Collector } from "../../../src/services/Collector.ts"
import { type DirectInput, DirectInputs } from "../../../src/services/DirectInputs.ts"
import { Publications } from "../../../src/services/Publications.ts"
import { editor, registryIn, scratchFolder, smallFleet } from "../../support/FleetFile.ts"
import { owner } from "../../support/RoomsCrossfire.ts"

const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
const stamp = { generation: Generation.make(1), incarnation }
const position = new HistoryPosition({ offset: 10, lineOffset: 0, entry: "e1", lineHash: "00" })
const level = new Level({
  agentId: editor,
  name: RegisteredName.make("editor"),
  standing: "active",
  incarnation,
  number: 1,
  authorityRevision: 1,
  wakes: [],
  rooms: [],
  redactions: []
})
const readManifest = Schema.decodeSync(Schema.parseJson(Manifest))

const theRoom = (name: string) =>
  new LevelRoom({
    roomId: RoomId.make(`!${name}`),
    name,
    isDirect: false,
    boundary: StreamToken.make("s1"),
    latest: 1
  })

const message = (room: LevelRoom, at: number, text: string) =>
  new RoomRecord({
    eventId: EventId.make(`$${at}`),
    roomId: room.roomId,
    kind: "wake",
    sender: owner,
    senderRole: "owner",
    senderAgent: null,
    displayName: null,
    sentAtMillis: 0,
    type: "m.room.message",
    form: "message",
    text,
    replyTo: null,
    relatesTo: null
  })

/** What is prepared of this: the input's text, and the files by name. */
const prepared = (
  collected: Pick<Collected, "records" | "rooms">,
  items: ReadonlyArray<DirectInput>,
  maxInputBytes = defaultMaxInputBytes
) =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    const files = new Map<string, string>()
    const made: Array<Publication> = []
    const layer = Layer.mergeAll(
      FileArtifacts.layerMemory(root, files).pipe(Layer.provide(registryIn(root))),
      Layer.mock(Collector, { collect: () => Effect.succeed({ ...collected, moves: [], failedRooms: [] }) }),
      Layer.mock(DirectInputs, { waiting: () => Effect.succeed(items) }),
      Layer.mock(Publications, { prepare: (publication) => Effect.sync(() => void made.push(publication)) })
    )
    const [known] = smallFleet().agents
    if (known === undefined) return yield* Effect.dieMessage("a fleet without an agent")
    const agent: FleetAgent = {
      ...known.agent,
      enabled: true,
      paused: false,
      problem: null,
      retired: false,
      credentialRefused: false
    }
    yield* Effect.provide(
      Effect.flatMap(
        InputPreparation.make({ maxInputBytes }),
        ({ batch }) => batch(stamp, agent, sharedContext, level, true, position, { noted: 7, wiped: 3 })
      ),
      layer
    )
    const byName = new Map([...files].map(([path, text]) => [path.split("/").at(-1) ?? "", text]))
    return { text: made[0]?.text ?? "", files: byName, paths: [...files.keys()], publication: made[0] }
  })

const room = theRoom("theatre")
const ofText = (text: string) => prepared({ rooms: [room], records: [message(room, 1, text)] }, [])

it.scopedLive("[F-01] the limit counts the bytes of the whole input: below and at it it stands inline, above it in files", () =>
  Effect.gen(function*() {
    const frame = byteLength((yield* ofText("")).text)
    // Four bytes a rocket and two an accent: characters alone would be far below the limit.
    const ofBytes = (bytes: number) => {
      const room = bytes - frame
      return "x".repeat(room % 4 + 2) + "🚀".repeat(Math.floor(room / 4) - 1) + "é"
    }
    for (const [bytes, inline] of [[65_535, true], [65_536, true], [65_537, false], [65_540, false]] as const) {
      const text = ofBytes(bytes)
      const input = yield* ofText(text)
      expect(input.files.size).toBe(inline ? 0 : 2)
      if (inline) {
        expect(byteLength(input.text)).toBe(bytes)
        expect(input.text).toContain(`| ${text}`)
        continue
      }
      expect(byteLength(input.text)).toBeLessThan(2_000)
      expect(input.text).not.toContain("🚀")
      expect(input.files.get("room-001.json")).toContain(`"text": "${text}"`)
    }
  }))

it.scopedLive("[F-02] [F-03] [F-04] files stand in the delivery's folder, and the manifest has each one's bytes and hash", () =>
  Effect.gen(function*() {
    const other = theRoom("other")
    const records = [message(room, 1, "a".repeat(70_000)), message(other, 2, "b"), message(room, 3, "c")]
    const operationId = OperationId.make("55555555-5555-4555-8555-555555555555")
    const { files, paths, publication, text } = yield* prepared(
      { rooms: [room, other], records },
      [{ operationId, kind: "direct", text: "d".repeat(10), storedAtMillis: 0 }]
    )
    expect([...files.keys()]).toStrictEqual(["room-001.json", "room-002.json", "items.json", "manifest.json"])
    for (const path of paths) expect(path).toContain(`/artifacts/${editor}/${publication?.deliveryId}/`)
    const manifest = readManifest(files.get("manifest.json") ?? "")
    for (const { bytes, name, sha256 } of manifest.files) {
      expect(bytes).toBe(byteLength(files.get(name) ?? ""))
      expect(sha256).toBe(createHash("sha256").update(files.get(name) ?? "").digest("hex"))
    }
    expect(manifest.totals).toMatchObject({ rooms: 2, records: 3, items: 1, textBytes: 70_012 })
    expect(text).toContain(createHash("sha256").update(files.get("manifest.json") ?? "").digest("hex"))
    // What it covers is the same as inline.
    expect(publication?.events.map(({ eventId }) => eventId)).toStrictEqual(["$1", "$2", "$3"])
    expect(publication?.items).toStrictEqual([operationId])
    expect(publication?.redactionsKnown).toBe(7)
  }))

it.scopedLive("[F-01] where even the rooms' counts are too many, the input names the manifest alone", () =>
  Effect.gen(function*() {
    const rooms = Array.from({ length: 300 }, (_, at) => theRoom(`room-${at}`))
    const records = rooms.map((one, at) => message(one, at, "t".repeat(100)))
    const { files, text } = yield* prepared({ rooms, records }, [], 4_096)
    expect(files.size).toBe(301)
    expect(byteLength(text)).toBeLessThan(1_000)
    expect(text).toContain("300 room records of 300 rooms, 0 direct inputs")
    expect(readManifest(files.get("manifest.json") ?? "").files).toHaveLength(300)
    expect(readManifest(files.get("manifest.json") ?? "").howToAnswer.join("\n")).toContain("room_send")
  }))
