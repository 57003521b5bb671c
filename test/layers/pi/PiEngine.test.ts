// The adapter against the real Pi: what is Pi's own beside the contract of every engine.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Option, Scope } from "effect"
import { readdirSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { deliveryIdOfFirstLine } from "../../../src/domain/DeliveryHeader.ts"
import type { DeliveryId } from "../../../src/domain/Ids.ts"
import { decodeEntry, decodeHeader, userText } from "../../../src/layers/pi/PiEntries.ts"
import * as Engine from "../../support/EngineSession.ts"
import * as Pi from "./PiFixture.ts"

const timeoutMs = 60_000

const killed = (session: Engine.Watched) => Effect.zipRight(Engine.kill9(session), session.until("Exited"))

/** How many user entries name this delivery, whatever else the file holds. */
const entriesOf = (path: string, deliveryId: DeliveryId) =>
  Pi.linesOf(path).map(decodeEntry).filter((entry) =>
    typeof entry === "object" && deliveryIdOfFirstLine(userText(entry) ?? "") === deliveryId
  ).length

describe("PiEngine", () => {
  it.scopedLive("[D-01] a new session file is private, and holds the header alone", () =>
    Effect.gen(function*() {
      const test = yield* Pi.setUp()
      const { binding } = yield* Engine.activate(test)
      const header = decodeHeader(Pi.linesOf(binding.path)[0] ?? "")
      expect(header).toMatchObject({ id: binding.nativeId, cwd: test.activation.workFolder })
      expect(statSync(binding.path).mode & 0o777).toBe(0o600)
      expect(statSync(join(test.home, "pi")).mode & 0o777).toBe(0o700)
      const position = yield* test.engine.history.guard(binding, null)
      expect(position.offset).toBe(statSync(binding.path).size)
      expect(yield* test.scripted.requests.get).toEqual([])
    }), timeoutMs)

  it.scopedLive(
    "[D-01] an input of 2 MiB and a work folder under another name come through",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const alias = join(test.folder, "alias")
        symlinkSync(test.activation.workFolder, alias)
        const first = yield* Effect.scoped(test.engine.activate(test.activation))
        const session = yield* Engine.activate(test, { binding: first.binding, workFolder: alias })
        const before = yield* test.engine.history.guard(session.binding, null)
        const deliveryId = Engine.newDelivery()
        const text = `${Engine.inputOf(deliveryId, { text: "done" })}${"x".repeat(2 * 1024 * 1024)}`
        yield* session.submit({ deliveryId, text })
        yield* session.until("TurnEnded", ({ status }) => status === "completed")
        // The standing instructions have reached the system prompt, which Pi keeps in the history.
        expect(Pi.linesOf(session.binding.path).some((line) => line.includes("Answer briefly."))).toBe(true)
        const receipt = Option.getOrThrow(yield* test.engine.history.findReceipt(session.binding, before, deliveryId))
        expect(yield* test.engine.history.finished(session.binding, receipt.position, receipt.turnId)).toBe(true)
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
          const deliveryId = Engine.newDelivery()
          const text = Engine.inputOf(deliveryId, { text: "done" })
          const scope = yield* Scope.make()
          const session = yield* Scope.extend(Engine.activate(test, { runId: Engine.newRun() }), scope)
          const { binding } = session
          const known = yield* history.guard(binding, null)
          yield* Effect.fork(Effect.ignore(session.submit({ deliveryId, text })))
          yield* Effect.sleep(delayMs)
          yield* killed(session)
          yield* Scope.close(scope, Exit.void)

          yield* history.guard(binding, known)
          const receipt = yield* history.findReceipt(binding, known, deliveryId)
          const resumed = yield* Engine.activate(test, { binding, runId: Engine.newRun() })
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

  it.scopedLive(
    "[P-05] names that Pi would take for another model or level are refused, and the chosen ones reach the provider",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        const { activation, engine } = test
        const refusal = (changes: Partial<typeof activation>) =>
          Effect.flip(Effect.scoped(engine.activate({ ...activation, ...changes })))
        for (const wanted of ["scripted-1", "other/scripted-1"]) {
          expect(yield* refusal({ model: wanted })).toMatchObject({ _tag: "ModelNotOffered", wanted })
        }
        expect(yield* refusal({ effort: "off" })).toMatchObject({ _tag: "ModelNotOffered", wanted: "off" })
        expect(readdirSync(join(test.home, "pi"))).not.toContain("sessions")
        expect(yield* test.scripted.requests.get).toEqual([])
        const session = yield* Engine.activate(test, { effort: "high" })
        const deliveryId = Engine.newDelivery()
        yield* session.submit({ deliveryId, text: Engine.inputOf(deliveryId) })
        yield* session.until("TurnEnded")
        expect((yield* test.scripted.requests.get).map(({ effort, model }) => [effort, model])).toEqual([[
          "high",
          "scripted-1"
        ]])
      }),
    timeoutMs
  )

  it.scopedLive(
    "[C-11] a history in use is named as that, and one of another work folder is not gone on with",
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
      }),
    timeoutMs
  )
})
