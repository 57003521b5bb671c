// The adapter against the real Pi: its binding, its turns, their proof in the history, and what a kill leaves.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Option, Scope } from "effect"
import { appendFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deliveryIdOfFirstLine } from "../../../src/domain/DeliveryHeader.ts"
import type { DeliveryId } from "../../../src/domain/Ids.ts"
import { decodeEntry, decodeHeader, userText } from "../../../src/layers/pi/PiEntries.ts"
import { turnIdOf } from "../../../src/layers/pi/PiTurn.ts"
import * as Pi from "./PiFixture.ts"

const timeoutMs = 60_000

const killed = (session: Pi.Watched) =>
  Effect.zipRight(Effect.sync(() => process.kill(-session.processId, "SIGKILL")), session.until("Exited"))

/** How many user entries name this delivery, whatever else the file holds. */
const entriesOf = (path: string, deliveryId: DeliveryId) =>
  Pi.linesOf(path).map(decodeEntry).filter((entry) =>
    typeof entry === "object" && deliveryIdOfFirstLine(userText(entry) ?? "") === deliveryId
  ).length

describe("PiEngine", () => {
  it.scopedLive("[D-01] the binding stands on disk before any input", () =>
    Effect.gen(function*() {
      const test = yield* Pi.setUp()
      const { binding } = yield* Pi.activate(test)
      const header = decodeHeader(Pi.linesOf(binding.path)[0] ?? "")
      expect(header).toMatchObject({ id: binding.nativeId, cwd: test.activation.workFolder })
      expect(statSync(binding.path).mode & 0o777).toBe(0o600)
      expect(statSync(join(test.home, "pi")).mode & 0o777).toBe(0o700)
      const position = yield* test.engine.history.guard(binding, null)
      expect(position.offset).toBe(statSync(binding.path).size)
      expect(yield* test.scripted.requests.get).toEqual([])
    }), timeoutMs)

  it.scopedLive(
    "[D-01] an input is proven by its entry alone, and its turn is told from start to end",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const { history } = test.engine
        const session = yield* Pi.activate(test)
        const before = yield* history.guard(session.binding, null)
        const deliveryId = Pi.newDelivery()
        const quoted = Pi.newDelivery()
        expect(yield* history.findReceipt(session.binding, before, deliveryId)).toEqual(Option.none())

        const script = [{ reasoning: "secret thoughts", text: "visible" }]
        const text = `${Pi.inputOf(deliveryId, ...script)}\u2028 and a quote:\n${Pi.inputOf(quoted)}`
        const { turnId } = yield* session.submit({ deliveryId, text })
        yield* session.until("UserEntrySeen")
        const receipt = yield* history.findReceipt(session.binding, before, deliveryId)
        expect(Option.getOrThrow(receipt)).toMatchObject({ form: "entry", turnId })
        expect(yield* history.findReceipt(session.binding, before, quoted)).toEqual(Option.none())

        yield* session.until("TurnEnded")
        expect(yield* session.seen).toEqual([
          { _tag: "TurnStarted", turnId },
          { _tag: "UserEntrySeen" },
          { _tag: "Output", turnId, text: "visible" },
          { _tag: "TurnEnded", turnId, status: "completed", error: null }
        ])
        const after = yield* history.guard(session.binding, Option.getOrThrow(receipt).position)
        expect(yield* history.findReceipt(session.binding, after, deliveryId)).toEqual(Option.none())
        // The standing instructions have reached the system prompt, which Pi keeps in the history.
        expect(Pi.linesOf(session.binding.path).some((line) => line.includes("Answer briefly."))).toBe(true)
      }),
    timeoutMs
  )

  it.scopedLive(
    "[D-01] an input of 2 MiB and a work folder under another name come through",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const alias = join(test.folder, "alias")
        symlinkSync(test.activation.workFolder, alias)
        const first = yield* Effect.scoped(test.engine.activate(test.activation))
        const session = yield* Pi.activate(test, { binding: first.binding, workFolder: alias })
        const before = yield* test.engine.history.guard(session.binding, null)
        const deliveryId = Pi.newDelivery()
        const text = `${Pi.inputOf(deliveryId, { text: "done" })}${"x".repeat(2 * 1024 * 1024)}`
        yield* session.submit({ deliveryId, text })
        yield* session.until("TurnEnded", ({ status }) => status === "completed")
        const receipt = Option.getOrThrow(yield* test.engine.history.findReceipt(session.binding, before, deliveryId))
        expect(yield* test.engine.history.finished(session.binding, receipt.position, receipt.turnId)).toBe(true)
      }),
    timeoutMs
  )

  it.scopedLive(
    "[C-11] [D-05] after a kill the same history goes on, without a running turn",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const { history } = test.engine
        const first = yield* Pi.activate(test)
        const start = yield* history.guard(first.binding, null)
        const cut = Pi.newDelivery()
        yield* first.submit({ deliveryId: cut, text: Pi.inputOf(cut, Pi.endless) })
        yield* Pi.outputStarted(test)
        const exited = yield* killed(first)
        expect(exited.reason).toContain("SIGKILL")
        expect((yield* first.seen).at(-1)).toEqual(exited)
        expect(yield* Effect.flip(first.submit({ deliveryId: cut, text: Pi.inputOf(cut) }))).toMatchObject({
          _tag: "EngineGone"
        })
        const known = yield* history.guard(first.binding, start)

        const second = yield* Pi.activate(test, { binding: first.binding, runId: Pi.newRun() })
        expect(second.binding).toEqual(first.binding)
        expect(yield* second.interrupt(turnIdOf(cut))).toBe("not-running")
        const next = Pi.newDelivery()
        yield* second.submit({ deliveryId: next, text: Pi.inputOf(next, { text: "again" }) })
        yield* second.until("TurnEnded", ({ status }) => status === "completed")
        expect(Option.isSome(yield* history.findReceipt(second.binding, known, next))).toBe(true)
        expect(entriesOf(second.binding.path, cut)).toBe(1)
        // The model was shown the cut input, too.
        const requests = yield* test.scripted.requests.get
        expect(requests.at(-1)?.itemCount).toBeGreaterThan(requests[0]?.itemCount ?? Infinity)
      }),
    timeoutMs
  )

  it.scopedLive(
    "[D-01] killed right after submit, an input is proven or absent, and never there twice",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const { history } = test.engine
        for (const delayMs of [0, 2, 5, 10, 40]) {
          const deliveryId = Pi.newDelivery()
          const text = Pi.inputOf(deliveryId, { text: "done" })
          const scope = yield* Scope.make()
          const session = yield* Scope.extend(Pi.activate(test, { runId: Pi.newRun() }), scope)
          const { binding } = session
          const known = yield* history.guard(binding, null)
          yield* Effect.fork(Effect.ignore(session.submit({ deliveryId, text })))
          yield* Effect.sleep(delayMs)
          yield* killed(session)
          yield* Scope.close(scope, Exit.void)

          yield* history.guard(binding, known)
          const receipt = yield* history.findReceipt(binding, known, deliveryId)
          const resumed = yield* Pi.activate(test, { binding, runId: Pi.newRun() })
          if (Option.isNone(receipt)) {
            yield* resumed.submit({ deliveryId, text })
            yield* resumed.until("TurnEnded")
          }
          expect(Option.isSome(yield* history.findReceipt(binding, known, deliveryId))).toBe(true)
          expect(entriesOf(binding.path, deliveryId)).toBe(1)
        }
      }),
    timeoutMs
  )

  it.scopedLive("an interrupt stops the turn that it names, and no other", () =>
    Effect.gen(function*() {
      const test = yield* Pi.setUp()
      const session = yield* Pi.activate(test)
      const deliveryId = Pi.newDelivery()
      const turnId = turnIdOf(deliveryId)
      const other = Pi.newDelivery()
      expect(yield* session.interrupt(turnId)).toBe("not-running")

      yield* session.submit({ deliveryId, text: Pi.inputOf(deliveryId, Pi.endless) })
      yield* session.until("UserEntrySeen")
      expect(yield* session.interrupt(turnIdOf(other))).toBe("other-turn")
      expect(yield* Effect.flip(session.submit({ deliveryId: other, text: Pi.inputOf(other) }))).toMatchObject({
        _tag: "InputRefused",
        reason: "busy: a turn is running"
      })
      yield* Effect.sleep("300 millis")
      expect((yield* session.seen).some(({ _tag }) => _tag === "TurnEnded")).toBe(false)

      expect(yield* session.interrupt(turnId)).toBe("requested")
      yield* session.until("TurnEnded", (event) => event.turnId === turnId && event.status === "interrupted")
      // What was visible before the cut is kept and told.
      expect(yield* session.until("Output")).toMatchObject({ text: expect.stringContaining("word 0 ") })

      yield* session.submit({ deliveryId: other, text: Pi.inputOf(other, { text: "done" }) })
      expect(yield* session.interrupt(turnId)).not.toBe("requested")
      yield* session.until("TurnEnded", (event) => event.turnId === turnIdOf(other) && event.status === "completed")
    }), timeoutMs)

  it.scopedLive(
    "a provider's refusal ends the turn as failed, and the input stays delivered",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const session = yield* Pi.activate(test)
        const before = yield* test.engine.history.guard(session.binding, null)
        const deliveryId = Pi.newDelivery()
        const key = "sk-0123456789abcdef0123456789"
        const script = { status: 401, message: `Incorrect API key provided: ${key}` }
        yield* session.submit({ deliveryId, text: Pi.inputOf(deliveryId, script) })
        const ended = yield* session.until("TurnEnded")
        expect(ended).toMatchObject({ status: "failed", error: "the provider failed (HTTP 401)" })
        expect(Option.isSome(yield* test.engine.history.findReceipt(session.binding, before, deliveryId))).toBe(true)
      }),
    timeoutMs
  )

  it.scopedLive(
    "[P-05] an unknown model or effort is refused by name, with what is offered, and leaves no session",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const { activation, engine } = test
        const refusal = (changes: Partial<typeof activation>) =>
          Effect.flip(Effect.scoped(engine.activate({ ...activation, ...changes })))
        expect(yield* engine.models(test.home)).toEqual([
          { model: Pi.model, efforts: ["low", "medium", "high"], isDefault: true }
        ])
        for (const wanted of [`${Pi.model}x`, "scripted-1", "other/scripted-1"]) {
          expect(yield* refusal({ model: wanted })).toMatchObject({
            _tag: "ModelNotOffered",
            setting: "model",
            wanted,
            offered: [Pi.model]
          })
        }
        for (const wanted of ["off", "xhigh", "bogus"]) {
          expect(yield* refusal({ effort: wanted })).toMatchObject({
            _tag: "ModelNotOffered",
            setting: "effort",
            wanted,
            offered: ["low", "medium", "high"]
          })
        }
        expect(readdirSync(join(test.home, "pi"))).not.toContain("sessions")
        expect(yield* test.scripted.requests.get).toEqual([])
        const session = yield* Pi.activate(test, { effort: "high" })
        const deliveryId = Pi.newDelivery()
        yield* session.submit({ deliveryId, text: Pi.inputOf(deliveryId) })
        yield* session.until("TurnEnded")
        expect((yield* test.scripted.requests.get).map(({ effort, model }) => [effort, model])).toEqual([[
          "high",
          "scripted-1"
        ]])
      }),
    timeoutMs
  )

  it.scopedLive(
    "[C-11] a missing, empty or foreign history starts nothing and is not replaced",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const scope = yield* Scope.make()
        const { binding } = yield* Scope.extend(test.engine.activate(test.activation), scope)
        const inUse = yield* Effect.flip(Effect.scoped(test.engine.activate({ ...test.activation, binding })))
        expect(inUse.message).toContain("is in use by a running session")
        yield* Scope.close(scope, Exit.void)

        const refusal = (changes = {}) =>
          Effect.map(
            Effect.flip(Effect.scoped(test.engine.activate({ ...test.activation, binding, ...changes }))),
            (error) => error.message
          )
        expect(yield* refusal({ workFolder: join(test.folder, "none") })).toContain("its work folder does not exist")
        expect(yield* refusal({ workFolder: test.folder })).toContain(`works in ${test.activation.workFolder}`)
        writeFileSync(binding.path, "")
        expect(yield* refusal()).toContain("it is empty")
        expect(statSync(binding.path).size).toBe(0)
        writeFileSync(binding.path, "")
        appendFileSync(binding.path, `{"type":"session","version":3,"id":"another","timestamp":"","cwd":"/"}\n`)
        expect(yield* refusal()).toContain("expected " + binding.nativeId + ", found another")
        rmSync(binding.path)
        expect(yield* refusal()).toContain("is missing")
        expect(readdirSync(join(test.home, "pi", "sessions"))).toEqual([])
      }),
    timeoutMs
  )
})
