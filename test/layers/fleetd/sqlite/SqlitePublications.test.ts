import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { Checkpoint } from "../../../../src/domain/Checkpoint.ts"
import { advanced, cursorAt } from "../../../../src/domain/Cursor.ts"
import { Binding, HistoryPosition, Receipt } from "../../../../src/domain/History.ts"
import {
  DeliveryId,
  EventId,
  Incarnation,
  OperationId,
  RoomId,
  RunId,
  sharedContext,
  StreamToken
} from "../../../../src/domain/Ids.ts"
import { CoveredEvent, CursorMove, Publication } from "../../../../src/domain/Publication.ts"
import * as FleetCore from "../../../../src/layers/fleetd/FleetCore.ts"
import { claimRoot } from "../../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { DirectInputs } from "../../../../src/services/DirectInputs.ts"
import { FleetOutbox } from "../../../../src/services/FleetOutbox.ts"
import { FleetRegistry } from "../../../../src/services/FleetRegistry.ts"
import { BaseChanged, Publications } from "../../../../src/services/Publications.ts"
import { ReadState } from "../../../../src/services/ReadState.ts"
import { editor, registryIn, scratchFolder, smallFleet } from "../../../support/FleetFile.ts"

const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
const room = RoomId.make("!room")
const token = (at: number) => StreamToken.make(`s${at}`)
const idOf = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`
const delivery = (digit: number) => DeliveryId.make(idOf(digit))
const run = { runId: RunId.make(idOf(9)), bootId: "boot-1" }
const position = new HistoryPosition({ offset: 10, lineOffset: 0, entry: "e1", lineHash: "00" })
const item = OperationId.make(idOf(8))

const publication = (digit: number, parts: Partial<Publication> = {}) =>
  new Publication({
    deliveryId: delivery(digit),
    agentId: editor,
    context: sharedContext,
    kind: "batch",
    state: "prepared",
    text: "text",
    authorityRevision: 1,
    position,
    runId: null,
    bootId: null,
    turnId: null,
    failures: 0,
    inherits: null,
    moves: [],
    events: [],
    items: [],
    ...parts
  })

const move = (base: number | null, next: number) =>
  new CursorMove({
    roomId: room,
    base: base === null ? null : cursorAt(token(base)),
    next: cursorAt(token(next)),
    seenLatest: next
  })

const confirm = (digit: number) =>
  Effect.flatMap(Publications, (publications) =>
    publications.confirmed(
      delivery(digit),
      new Receipt({ entry: `entry-${digit}`, form: "entry", turnId: null, position }),
      new Checkpoint({
        agentId: editor,
        context: sharedContext,
        nativeId: "n1",
        deliveryId: delivery(digit),
        runId: run.runId,
        turnId: null,
        turnEnd: null,
        continues: 0
      })
    ))

/** Prepared, submitted, and then neither proven. */
const unknown = (made: Publication) =>
  Effect.gen(function*() {
    const publications = yield* Publications
    yield* publications.prepare(made)
    yield* publications.submitted(made.deliveryId, run)
    yield* publications.becameUnknown(made.deliveryId)
  })

const cursors = Effect.flatMap(ReadState, (state) => state.cursors(editor))

const enrolled = Effect.map(scratchFolder, (folder) =>
  Layer.effectDiscard(Effect.gen(function*() {
    yield* claimRoot(folder)
    const registry = yield* FleetRegistry
    yield* registry.introduce(smallFleet())
    yield* registry.bind(
      editor,
      sharedContext,
      new Binding({ engine: "pi", nativeId: "n1", path: "/histories/n1" }),
      position
    )
  })).pipe(Layer.provideMerge(FleetCore.stores), Layer.provideMerge(registryIn(folder))))

it.scopedLive("[D-04] the notice that is confirmed writes all that the unknown inputs behind it would have written", () =>
  Effect.gen(function*() {
    const stores = yield* enrolled
    yield* Effect.gen(function*() {
      const inputs = yield* DirectInputs
      const publications = yield* Publications
      const event = EventId.make("$one")
      yield* inputs.store({ operationId: item, agentId: editor, context: sharedContext, kind: "direct", text: "do it" })
      yield* unknown(publication(1, {
        moves: [move(null, 5)],
        events: [new CoveredEvent({ roomId: room, eventId: event })],
        items: [item]
      }))
      yield* unknown(publication(2, { kind: "notice", inherits: delivery(1) }))
      const told = yield* publications.unknown(editor, sharedContext)
      expect(Option.getOrThrow(told).deliveryId).toBe(delivery(2))
      yield* publications.prepare(publication(3, { kind: "notice", inherits: delivery(2) }))
      yield* publications.submitted(delivery(3), run)
      // Nothing of it before the proof.
      expect(yield* cursors).toStrictEqual([])
      expect(yield* inputs.waitingCount(editor, sharedContext)).toBe(1)

      yield* confirm(3)
      expect(yield* cursors).toStrictEqual([{ roomId: room, cursor: cursorAt(token(5)), seenLatest: 5 }])
      const readState = yield* ReadState
      expect(yield* readState.deliveredAmong(editor, [event])).toStrictEqual(new Set([event]))
      expect(yield* inputs.waitingCount(editor, sharedContext)).toBe(0)
      expect(yield* publications.unknown(editor, sharedContext)).toStrictEqual(Option.none())
      const outbox = yield* FleetOutbox
      expect(yield* outbox.waitingAcknowledgments(10, incarnation)).toStrictEqual([{
        agentId: editor,
        acknowledgment: {
          deliveryId: delivery(3),
          cursors: [{ roomId: room, cursor: cursorAt(token(5)) }],
          delivered: [{ roomId: room, eventId: event }],
          redactionNumber: 0
        }
      }])
      // Found in the history once more: nothing is written twice.
      yield* confirm(3)
      expect(yield* outbox.waitingAcknowledgments(10, incarnation)).toHaveLength(1)
    }).pipe(Effect.provide(stores))
  }))

it.scopedLive("[M-01] an input that was collected from another cursor than the stored one is never submitted", () =>
  Effect.gen(function*() {
    const stores = yield* enrolled
    yield* Effect.gen(function*() {
      const publications = yield* Publications
      const submit = (digit: number, made: CursorMove) =>
        Effect.gen(function*() {
          yield* publications.prepare(publication(digit, { moves: [made] }))
          return yield* Effect.flip(publications.submitted(delivery(digit), run)).pipe(
            Effect.zipLeft(publications.discarded(delivery(digit)))
          )
        })
      yield* publications.prepare(publication(1, { moves: [move(null, 5)] }))
      yield* publications.submitted(delivery(1), run)
      yield* confirm(1)

      expect(yield* submit(2, move(null, 6))).toBeInstanceOf(BaseChanged)
      expect(yield* submit(3, move(4, 6))).toBeInstanceOf(BaseChanged)
      const partly = advanced(cursorAt(token(5)), token(9), StreamToken.make("t7"), null)
      expect(yield* submit(4, new CursorMove({ ...move(5, 6), base: partly }))).toBeInstanceOf(BaseChanged)
      expect((yield* cursors).map((known) => known.cursor.from)).toStrictEqual([token(5)])

      yield* publications.prepare(publication(5, { moves: [move(5, 6)] }))
      yield* publications.submitted(delivery(5), run)
      // Submitted once: not again, and no discarding either.
      expect(yield* Effect.flip(publications.submitted(delivery(5), run))).toBeInstanceOf(BaseChanged)
      yield* publications.discarded(delivery(5))
      expect(Option.getOrThrow(yield* publications.open(editor, sharedContext)).state).toBe("submitted")
    }).pipe(Effect.provide(stores))
  }))
