// What every native engine promises through its port, as one suite for every implementation of it.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Option, Scope } from "effect"
import { renderDeliveryHeader } from "../../../src/domain/DeliveryHeader.ts"
import type { Binding, HistoryPosition } from "../../../src/domain/History.ts"
import { type DeliveryId, TurnId } from "../../../src/domain/Ids.ts"
import { findMarked } from "../../../src/layers/process/ProcessSweep.ts"
import { runMarker } from "../../../src/layers/process/RunMarker.ts"
import type { Activation, NativeSession } from "../../../src/services/NativeEngine.ts"
import {
  activate,
  type EngineTest,
  newDelivery,
  newRun,
  proven,
  watch,
  type Watched
} from "../../support/EngineSession.ts"

/**
 * What the agent does with an input: thinks and says `visibleText`; says "word 0 word 1 …" until it is stopped; or has its
 * model's provider fail with a status and `failureText`.
 */
export type Work = "answer" | "endless" | "fail"
export const visibleText = "visible words"
export const hiddenText = "hidden thoughts"
export const failureText = "the provider's own words"

/** History files, as something other than the engine damages them. */
export interface HistoryFiles {
  /** How many there are of this test's agent. */
  readonly count: Effect.Effect<number>
  readonly remove: (binding: Binding) => Effect.Effect<void>
  readonly empty: (binding: Binding) => Effect.Effect<void>
  /** Everything behind the position is gone. */
  readonly cut: (binding: Binding, behind: HistoryPosition) => Effect.Effect<void>
  /** The position's line is another one of the same length. */
  readonly rewriteLine: (binding: Binding, position: HistoryPosition) => Effect.Effect<void>
  /** The file is that of another session. */
  readonly replace: (binding: Binding) => Effect.Effect<void>
}

export interface EngineWorld extends EngineTest {
  /** The lines behind an input's header that bring this about. */
  readonly textFor: (work: Work) => string
  /** Waits until the agent is at its endless work. */
  readonly working: Effect.Effect<void>
  /** How much of the conversation the model was shown each time that it was asked. */
  readonly shown: Effect.Effect<ReadonlyArray<number>>
  /** Ends the process at once, as `kill -9` does. */
  readonly kill: (session: NativeSession) => Effect.Effect<void>
  readonly files: HistoryFiles
  /** How the engine names the provider's failure. */
  readonly failure: string
  /** Whether the history says that a turn ended. */
  readonly tellsTurnEnds: boolean
}

const timeoutMs = 60_000

export const contract = <E>(name: string, make: Effect.Effect<EngineWorld, E, Scope.Scope>): void => {
  describe(name, () => {
    const promise = <F>(what: string, test: (world: EngineWorld) => Effect.Effect<void, F, Scope.Scope>) =>
      it.scopedLive(what, () => Effect.flatMap(make, test), timeoutMs)

    const inputOf = (world: EngineWorld, deliveryId: DeliveryId, work: Work, more = "") => ({
      deliveryId,
      text: `${renderDeliveryHeader(deliveryId, { agent: "test" })}\n${world.textFor(work)}\n${more}`
    })

    /** Submits and waits for the proof. */
    const deliver = (world: EngineWorld, session: Watched, after: HistoryPosition, work: Work) =>
      Effect.gen(function*() {
        const deliveryId = newDelivery()
        const { turnId } = yield* session.submit(inputOf(world, deliveryId, work))
        const receipt = yield* proven(world, session, after, deliveryId)
        if (turnId === null) return expect.unreachable("the turn is named")
        return { deliveryId, receipt, turnId }
      })

    const ended = (session: Watched, turnId: TurnId) => session.until("TurnEnded", (event) => event.turnId === turnId)

    /** What the history says of a turn's end, where this engine's says it at all. */
    const told = ({ tellsTurnEnds }: EngineWorld, end: "completed" | "aborted") =>
      tellsTurnEnds ? Option.some(end) : Option.none()

    const refusal = ({ activation, engine }: EngineWorld, changes: Partial<Activation>) =>
      Effect.flip(Effect.scoped(engine.activate({ ...activation, runId: newRun(), ...changes })))

    /** The next activation on the same history. */
    const again = (world: EngineWorld, binding: Binding) => activate(world, { binding, runId: newRun() })

    promise(
      "[D-01] a first binding stands on disk before any input, and is gone on with after a kill",
      (world) =>
        Effect.gen(function*() {
          const session = yield* activate(world)
          const { binding } = session
          expect(binding.engine).toBe(world.engine.kind)
          const position = yield* world.engine.history.guard(binding, null)
          expect(position.offset).toBeGreaterThan(0)
          expect(yield* world.shown).toEqual([])
          yield* world.kill(session)
          yield* session.until("Exited")

          const next = yield* again(world, binding)
          expect(next.binding).toEqual(binding)
          expect((yield* deliver(world, next, position, "answer")).receipt.form).toBe("entry")
          yield* next.until("TurnEnded")
          expect(yield* world.files.count).toBe(1)
        })
    )

    promise(
      "[D-01] an input is proven by its header in the history alone, and its turn is told to its end",
      (world) =>
        Effect.gen(function*() {
          const { history } = world.engine
          const session = yield* activate(world)
          const { binding } = session
          const before = yield* history.guard(binding, null)
          const deliveryId = newDelivery()
          const quoted = newDelivery()
          expect(yield* history.findReceipt(binding, before, deliveryId)).toEqual(Option.none())

          const quote = `\u2028 and a quote:\n${renderDeliveryHeader(quoted, { agent: "test" })}\nhello\n`
          const { turnId } = yield* session.submit(inputOf(world, deliveryId, "answer", quote))
          if (turnId === null) return expect.unreachable("the turn is named")
          yield* session.until("UserEntrySeen")
          const receipt = Option.getOrThrow(yield* history.findReceipt(binding, before, deliveryId))
          expect(receipt).toMatchObject({ form: "entry", turnId })
          expect(yield* history.findReceipt(binding, before, quoted)).toEqual(Option.none())

          const end = yield* ended(session, turnId)
          expect(yield* session.seen).toEqual([
            { _tag: "TurnStarted", turnId },
            { _tag: "UserEntrySeen" },
            { _tag: "Output", turnId, text: visibleText },
            { _tag: "TurnEnded", turnId, status: "completed", error: null }
          ])
          expect(end.status).toBe("completed")
          expect(yield* history.turnEnd(binding, before, turnId)).toEqual(told(world, "completed"))
          expect(yield* history.finished(binding, receipt.position, turnId)).toBe(true)

          // The lines that follow change nothing about what was found.
          const after = yield* history.guard(binding, receipt.position)
          expect(after.offset).toBeGreaterThan(receipt.position.offset)
          expect(yield* history.findReceipt(binding, before, deliveryId)).toEqual(Option.some(receipt))
          expect(yield* history.findReceipt(binding, after, deliveryId)).toEqual(Option.none())
          const second = yield* deliver(world, session, after, "answer")
          expect(second.receipt.position.offset).toBeGreaterThan(after.offset)
          yield* ended(session, second.turnId)
        })
    )

    promise(
      "[N-02] a running turn takes no other input, and is stopped by an interrupt that names it alone",
      (world) =>
        Effect.gen(function*() {
          const { history } = world.engine
          const session = yield* activate(world)
          const { binding } = session
          const another = TurnId.make("01a22d29-449b-7d51-aa29-77e9cbfda7c0")
          expect(yield* session.interrupt(another)).toBe("not-running")
          const start = yield* history.guard(binding, null)
          const { receipt, turnId } = yield* deliver(world, session, start, "endless")
          yield* session.until("TurnStarted")
          yield* world.working

          expect(yield* session.interrupt(another)).toBe("other-turn")
          const refused = newDelivery()
          expect(yield* Effect.flip(session.submit(inputOf(world, refused, "answer")))).toMatchObject({
            _tag: "InputRefused",
            engine: world.engine.kind,
            reason: expect.stringContaining("a turn is running")
          })
          yield* Effect.sleep("300 millis")
          expect((yield* session.seen).some(({ _tag }) => _tag === "TurnEnded")).toBe(false)
          expect(yield* history.turnEnd(binding, start, turnId)).toEqual(Option.none())
          expect(yield* history.finished(binding, receipt.position, turnId)).toBe(false)

          expect(yield* session.interrupt(turnId)).toBe("requested")
          expect(yield* ended(session, turnId)).toMatchObject({ status: "interrupted", error: null })
          // What was visible before the cut is told; some engines write it nowhere else.
          expect((yield* session.until("Output")).text).toMatch(/^word 0 word 1 /u)
          expect(yield* history.turnEnd(binding, start, turnId)).toEqual(told(world, "aborted"))
          expect(yield* history.finished(binding, receipt.position, turnId)).toBe(false)
          expect(yield* session.interrupt(turnId)).toBe("not-running")

          const next = yield* deliver(world, session, yield* history.guard(binding, start), "answer")
          expect(yield* session.interrupt(turnId)).not.toBe("requested")
          expect(yield* ended(session, next.turnId)).toMatchObject({ status: "completed" })
          expect(yield* history.findReceipt(binding, start, refused)).toEqual(Option.none())
        })
    )

    promise(
      "[C-11] after its scope closed the session is gone, and the same history goes on in the next",
      (world) =>
        Effect.gen(function*() {
          const { history } = world.engine
          const scope = yield* Scope.make()
          const session = yield* world.engine.activate(world.activation).pipe(
            Scope.extend(scope),
            Effect.flatMap(watch)
          )
          const { binding } = session
          const start = yield* history.guard(binding, null)
          const first = yield* deliver(world, session, start, "answer")
          yield* ended(session, first.turnId)
          yield* Scope.close(scope, Exit.void)
          expect(yield* findMarked(runMarker(world.activation.runId))).toEqual([])
          yield* session.until("Exited")
          expect((yield* session.seen).at(-1)?._tag).toBe("Exited")
          expect(yield* Effect.flip(session.submit(inputOf(world, newDelivery(), "answer")))).toMatchObject({
            _tag: "EngineGone"
          })

          const known = yield* history.guard(binding, first.receipt.position)
          const next = yield* again(world, binding)
          expect(next.binding).toEqual(binding)
          const second = yield* deliver(world, next, known, "answer")
          yield* ended(next, second.turnId)
          for (const { deliveryId, receipt } of [first, second]) {
            expect(yield* history.findReceipt(binding, start, deliveryId)).toEqual(Option.some(receipt))
          }
          // The model gets the earlier conversation with it.
          const shown = yield* world.shown
          expect(shown.at(-1)).toBeGreaterThan(shown[0] ?? Infinity)
          expect(yield* world.files.count).toBe(1)
        })
    )

    promise(
      "[D-05] [C-11] after a kill in a turn the same history goes on, and no old turn runs",
      (world) =>
        Effect.gen(function*() {
          const { history } = world.engine
          const first = yield* activate(world)
          const { binding } = first
          const start = yield* history.guard(binding, null)
          const cut = yield* deliver(world, first, start, "endless")
          yield* world.working
          yield* world.kill(first)
          const exited = yield* first.until("Exited")
          expect(exited.reason).toContain("it was ended by SIGKILL")
          expect((yield* first.seen).at(-1)).toEqual(exited)
          expect(yield* Effect.flip(first.submit(inputOf(world, newDelivery(), "answer")))).toMatchObject({
            _tag: "EngineGone"
          })
          expect(yield* history.turnEnd(binding, start, cut.turnId)).toEqual(Option.none())
          expect(yield* history.finished(binding, cut.receipt.position, cut.turnId)).toBe(false)

          const second = yield* again(world, binding)
          expect(second.binding).toEqual(binding)
          expect(yield* second.interrupt(cut.turnId)).toBe("not-running")
          const known = yield* history.guard(binding, cut.receipt.position)
          const next = yield* deliver(world, second, known, "answer")
          expect(yield* ended(second, next.turnId)).toMatchObject({ status: "completed" })
          const turns = (yield* second.seen).flatMap((event) => "turnId" in event ? [event.turnId] : [])
          expect(new Set(turns)).toEqual(new Set([next.turnId]))
          // The cut input is there once, and the model is shown it, too.
          expect(yield* history.findReceipt(binding, start, cut.deliveryId)).toEqual(Option.some(cut.receipt))
          expect(yield* history.findReceipt(binding, cut.receipt.position, cut.deliveryId)).toEqual(Option.none())
          const shown = yield* world.shown
          expect(shown.at(-1)).toBeGreaterThan(shown[0] ?? Infinity)
        })
    )

    promise(
      "[C-11] a history that a running session holds is not gone on with by another",
      (world) =>
        Effect.gen(function*() {
          const { binding } = yield* activate(world)
          expect(yield* refusal(world, { binding })).toMatchObject({ _tag: "EngineUnavailable" })
        })
    )

    promise(
      "[C-11] a missing, empty, foreign, shorter or rewritten history is named, and none made instead",
      (world) =>
        Effect.gen(function*() {
          const { files } = world
          const { history } = world.engine
          /** A history with one finished turn, and positions before and behind that. */
          const { binding, known, receipt, start } = yield* Effect.scoped(Effect.gen(function*() {
            const session = yield* activate(world)
            const start = yield* history.guard(session.binding, null)
            const { receipt, turnId } = yield* deliver(world, session, start, "answer")
            yield* ended(session, turnId)
            const known = yield* history.guard(session.binding, receipt.position)
            return { binding: session.binding, known, receipt, start }
          }))
          const broken = Effect.flip(history.guard(binding, known))
          const deliveryId = newDelivery()
          const readers = [
            Effect.asVoid(history.guard(binding, known)),
            Effect.asVoid(history.findReceipt(binding, known, deliveryId)),
            Effect.asVoid(history.finished(binding, known, receipt.turnId))
          ]
          const eachFails = (tag: string) =>
            Effect.forEach(readers, (read) => Effect.map(Effect.flip(read), ({ _tag }) => expect(_tag).toBe(tag)))
          const notActivated = Effect.gen(function*() {
            const refused = yield* refusal(world, { binding })
            expect(refused._tag).toBe("EngineUnavailable")
            expect(refused.message).toContain((yield* broken).message)
          })

          yield* files.rewriteLine(binding, known)
          yield* eachFails("HistoryUnreadable")
          yield* files.cut(binding, start)
          yield* eachFails("HistoryShorter")
          expect(yield* broken).toMatchObject({ expectedBytes: known.offset, foundBytes: start.offset })
          yield* files.replace(binding)
          yield* eachFails("HistoryForeign")
          expect(yield* broken).toMatchObject({ path: binding.path, expected: binding.nativeId })
          yield* notActivated
          yield* files.empty(binding)
          yield* eachFails("HistoryUnreadable")
          yield* notActivated
          yield* eachFails("HistoryUnreadable")
          yield* files.remove(binding)
          yield* eachFails("HistoryMissing")
          expect(yield* broken).toMatchObject({ path: binding.path })
          yield* notActivated
          expect(yield* files.count).toBe(0)
        })
    )

    promise(
      "[P-05] a model or effort that is not offered is refused by name, before anything is begun",
      (world) =>
        Effect.gen(function*() {
          const { activation, engine } = world
          const { runId } = activation
          const efforts = ["low", "medium", "high"]
          expect(yield* engine.models(activation.home)).toMatchObject([
            { model: activation.model, efforts, isDefault: true }
          ])
          for (const wanted of [`${activation.model}x`, "gpt-0"]) {
            expect(yield* refusal(world, { model: wanted, runId })).toMatchObject({
              _tag: "ModelNotOffered",
              setting: "model",
              wanted,
              offered: [activation.model]
            })
          }
          for (const wanted of ["bogus", "xhigh"]) {
            expect(yield* refusal(world, { effort: wanted, runId })).toMatchObject({
              _tag: "ModelNotOffered",
              setting: "effort",
              wanted,
              offered: efforts
            })
          }
          expect(yield* world.files.count).toBe(0)
          expect(yield* world.shown).toEqual([])
          expect(yield* findMarked(runMarker(runId))).toEqual([])
        })
    )

    promise(
      "[D-01] a turn that the provider refuses ends as failed, without its words, and stays delivered",
      (world) =>
        Effect.gen(function*() {
          const { history } = world.engine
          const session = yield* activate(world)
          const start = yield* history.guard(session.binding, null)
          const failed = yield* deliver(world, session, start, "fail")
          const { error, status } = yield* ended(session, failed.turnId)
          expect({ error, status }).toEqual({ error: world.failure, status: "failed" })
          expect(error).not.toContain(failureText)
          expect(yield* history.finished(session.binding, failed.receipt.position, failed.turnId)).toBe(false)
          const receipt = yield* history.findReceipt(session.binding, start, failed.deliveryId)
          expect(receipt).toEqual(Option.some(failed.receipt))
          const next = yield* deliver(world, session, failed.receipt.position, "answer")
          expect(yield* ended(session, next.turnId)).toMatchObject({ status: "completed" })
        })
    )
  })
}
