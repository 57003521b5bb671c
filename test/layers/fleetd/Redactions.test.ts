import { expect, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { encodeManifest, Manifest, manifestOf, planFiles, renderFiled } from "../../../src/domain/FiledInput.ts"
import { HistoryPosition } from "../../../src/domain/History.ts"
import { DeliveryId, EventId, Incarnation, RoomId, RunId, sharedContext, UserId } from "../../../src/domain/Ids.ts"
import { type BatchInput, renderBatch, renderNotice } from "../../../src/domain/InputText.ts"
import { Level, RoomRecord } from "../../../src/domain/Level.ts"
import { CoveredEvent, Publication } from "../../../src/domain/Publication.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import { wipedMarker } from "../../../src/domain/Wiping.ts"
import * as FileArtifacts from "../../../src/layers/fleetd/FileArtifacts.ts"
import * as FleetCore from "../../../src/layers/fleetd/FleetCore.ts"
import * as SqliteRedactions from "../../../src/layers/fleetd/sqlite/SqliteRedactions.ts"
import { claimRoot } from "../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { Artifacts } from "../../../src/services/Artifacts.ts"
import { FleetDb } from "../../../src/services/Database.ts"
import { FleetOutbox } from "../../../src/services/FleetOutbox.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { BaseChanged, Publications } from "../../../src/services/Publications.ts"
import { Redactions } from "../../../src/services/Redactions.ts"
import { editor, registryIn, scratchFolder, smallFleet } from "../../support/FleetFile.ts"

const room = RoomId.make("!one")
const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
const slip = EventId.make("$slip")
const other = EventId.make("$other")
const position = new HistoryPosition({ offset: 10, lineOffset: 0, entry: "e1", lineHash: "00" })
const run = { runId: RunId.make("99999999-0000-4000-8000-000000000000"), bootId: "boot-1" }
const delivery = (digit: number) => DeliveryId.make(`${String(digit).repeat(8)}-0000-4000-8000-000000000000`)
const readManifest = Schema.decodeSync(Schema.parseJson(Manifest))
const hash = (text: string) => createHash("sha256").update(text).digest("hex")

const record = (eventId: EventId, text: string) =>
  new RoomRecord({
    eventId,
    roomId: room,
    kind: "wake",
    sender: UserId.make("@alice:test"),
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

const inputOf = (deliveryId: DeliveryId): BatchInput => ({
  deliveryId,
  agentName: "editor",
  rooms: [],
  records: [record(slip, "the slip"), record(other, "the rest")],
  items: []
})

const publication = (deliveryId: DeliveryId, parts: Partial<ConstructorParameters<typeof Publication>[0]> = {}) =>
  new Publication({
    deliveryId,
    agentId: editor,
    context: sharedContext,
    kind: "batch",
    state: "prepared",
    text: renderBatch(inputOf(deliveryId)),
    authorityRevision: 1,
    position,
    runId: null,
    bootId: null,
    turnId: null,
    failures: 0,
    inherits: null,
    moves: [],
    events: [slip, other].map((eventId) => new CoveredEvent({ roomId: room, eventId })),
    items: [],
    ...parts
  })

const levelOf = (redactions: ReadonlyArray<readonly [number, EventId]>, of = incarnation) =>
  new Level({
    agentId: editor,
    name: RegisteredName.make("editor"),
    standing: "active",
    incarnation: of,
    number: 1,
    authorityRevision: 1,
    wakes: [],
    rooms: [],
    redactions: redactions.map(([number, eventId]) => ({ number, roomId: room, eventId }))
  })

const setting = Effect.gen(function*() {
  const folder = yield* scratchFolder
  const files = new Map<string, string>()
  const layer = Layer.effectDiscard(Effect.gen(function*() {
    yield* claimRoot(folder)
    yield* (yield* FleetRegistry).introduce(smallFleet())
  })).pipe(
    Layer.provideMerge(SqliteRedactions.layer),
    Layer.provideMerge(FileArtifacts.layerMemory(folder, files)),
    Layer.provideMerge(FleetCore.stores),
    Layer.provideMerge(registryIn(folder))
  )
  return { files, layer }
})

const stored = (deliveryId: DeliveryId) =>
  Effect.flatMap(FleetDb, ({ sql }) =>
    Effect.map(
      sql<{ readonly state: string; readonly text: string }>`SELECT state, text FROM publication
        WHERE delivery_id = ${deliveryId}`,
      (rows) => rows[0] ?? { state: "", text: "" }
    ))

const numbers = (of = incarnation) =>
  Effect.flatMap(
    FleetOutbox,
    (outbox) =>
      Effect.map(outbox.waitingAcknowledgments(10, of), (waiting) =>
        waiting.map(({ acknowledgment }) => acknowledgment.redactionNumber))
  )

const fileName = (path: string) => path.split("/").at(-1) ?? ""

it.scopedLive("[F47] a prepared input with a removed event is discarded; its number is taken once, and acknowledged", () =>
  Effect.gen(function*() {
    const { layer } = yield* setting
    yield* Effect.gen(function*() {
      const publications = yield* Publications
      const redactions = yield* Redactions
      yield* publications.prepare(publication(delivery(1)))
      expect(yield* redactions.take(levelOf([]))).toBe(false)
      expect(yield* numbers()).toStrictEqual([])
      expect(yield* redactions.take(levelOf([[7, slip]]))).toBe(true)
      expect((yield* stored(delivery(1))).state).toBe("discarded")
      expect((yield* stored(delivery(1))).text).not.toContain("the slip")
      expect(yield* numbers()).toStrictEqual([7])
      // The same level again, before crossfire took the acknowledgment.
      expect(yield* redactions.take(levelOf([[7, slip]]))).toBe(false)
      expect(yield* numbers()).toStrictEqual([7])
      // A restored crossfire counts anew: nothing of the old count is acknowledged to it.
      const restored = Incarnation.make("00000000-0000-4000-8000-0000000000bb")
      expect(yield* numbers(restored)).toStrictEqual([0])
      expect(yield* redactions.take(levelOf([[2, other]], restored))).toBe(true)
      expect(yield* numbers(restored)).toStrictEqual([2, 2])
    }).pipe(Effect.provide(layer))
  }))

it.scopedLive("[F47] an input collected before a removal and stored after it is never submitted; one collected later is", () =>
  Effect.gen(function*() {
    const { layer } = yield* setting
    yield* Effect.gen(function*() {
      const publications = yield* Publications
      const redactions = yield* Redactions
      const before = yield* redactions.known(editor)
      yield* redactions.take(levelOf([[1, slip]]))
      yield* publications.prepare(publication(delivery(1), { redactionsKnown: before.noted }))
      expect(yield* Effect.flip(publications.submitted(delivery(1), run))).toBeInstanceOf(BaseChanged)
      yield* publications.discarded(delivery(1))
      const now = yield* redactions.known(editor)
      yield* publications.prepare(publication(delivery(2), { redactionsKnown: now.noted }))
      yield* publications.submitted(delivery(2), run)
      expect((yield* stored(delivery(2))).state).toBe("submitted")
    }).pipe(Effect.provide(layer))
  }))

it.scopedLive("[F47] in a submitted input the event's text is wiped from text and files, and nothing else; confirmed: nothing", () =>
  Effect.gen(function*() {
    const { files, layer } = yield* setting
    yield* Effect.gen(function*() {
      const { sql } = yield* FleetDb
      const artifacts = yield* Artifacts
      const publications = yield* Publications
      const redactions = yield* Redactions
      // Given long ago: it stands in the history.
      yield* publications.prepare(publication(delivery(1)))
      yield* sql`UPDATE publication SET state = 'confirmed', settled_at = 1`
      const input = inputOf(delivery(2))
      const write = (name: string, text: string) =>
        artifacts.write({ agentId: editor, deliveryId: delivery(2), name, text })
      const entries = yield* Effect.forEach(
        planFiles(input, []),
        ({ entry, text }) => Effect.map(write(entry.name, text), ({ bytes, sha256 }) => ({ ...entry, bytes, sha256 }))
      )
      const manifest = manifestOf(input, entries, 16)
      const file = yield* write("manifest.json", encodeManifest(manifest))
      yield* publications.prepare(publication(delivery(2), { text: renderFiled(input, manifest, file) }))
      yield* publications.submitted(delivery(2), run)

      yield* redactions.take(levelOf([[1, slip]]))
      expect((yield* stored(delivery(1))).text).toContain("the slip")
      expect((yield* stored(delivery(2))).state).toBe("submitted")
      const byName = new Map([...files].map(([path, content]) => [fileName(path), content]))
      const roomFile = byName.get("room-001.json") ?? ""
      expect(roomFile).not.toContain("the slip")
      expect(roomFile).toContain("the rest")
      expect(roomFile).toContain("$slip")
      const manifestFile = byName.get("manifest.json") ?? ""
      expect(readManifest(manifestFile).files[0]?.sha256).toBe(hash(roomFile))
      expect((yield* stored(delivery(2))).text).toContain(hash(manifestFile))
      const rows = yield* sql<{ readonly sha256: string }>`SELECT sha256 FROM artifact ORDER BY path`
      expect(rows.map(({ sha256 }) => sha256)).toStrictEqual([hash(manifestFile), hash(roomFile)])
    }).pipe(Effect.provide(layer))
  }))

it.scopedLive("[F47] [D-04] of an unknown input its notice's file is wiped too, and says so; one cut off in between is done again", () =>
  Effect.gen(function*() {
    const { files, layer } = yield* setting
    yield* Effect.gen(function*() {
      const { sql } = yield* FleetDb
      const artifacts = yield* Artifacts
      const publications = yield* Publications
      const redactions = yield* Redactions
      yield* publications.prepare(publication(delivery(1)))
      yield* publications.submitted(delivery(1), run)
      yield* publications.becameUnknown(delivery(1))
      const file = yield* artifacts.write({
        agentId: editor,
        deliveryId: delivery(2),
        name: "earlier-input.txt",
        text: renderBatch(inputOf(delivery(1)))
      })
      const text = renderNotice({
        deliveryId: delivery(2),
        agentName: "editor",
        earlier: delivery(1),
        file,
        reminderDue: false
      })
      yield* publications.prepare(
        publication(delivery(2), { kind: "notice", inherits: delivery(1), events: [], text })
      )
      yield* publications.submitted(delivery(2), run)

      // Cut off once the removal was noted.
      yield* sql`INSERT INTO redaction (agent_id, room_id, event_id, taken_at) VALUES (${editor}, ${room}, ${slip}, 0)`
      expect(yield* redactions.known(editor)).toStrictEqual({ noted: 1, wiped: 0 })
      yield* redactions.take(levelOf([[1, slip]]))
      expect(yield* redactions.known(editor)).toStrictEqual({ noted: 1, wiped: 1 })
      expect((yield* stored(delivery(1))).text).not.toContain("the slip")
      expect((yield* stored(delivery(1))).text).toContain(`[wake]\n${wipedMarker}\n`)
      const [content = ""] = files.values()
      expect(content).toBe((yield* stored(delivery(1))).text)
      expect((yield* stored(delivery(2))).text).toContain(`SHA-256 ${hash(content)}`)

      // A notice that only waits is made anew: its file has the text.
      yield* publications.absent(delivery(2), position)
      yield* redactions.take(levelOf([[2, other]]))
      expect((yield* stored(delivery(2))).state).toBe("discarded")
      expect((yield* stored(delivery(1))).state).toBe("unknown")
    }).pipe(Effect.provide(layer))
  }))
