import { expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { OperationId } from "../../../src/domain/Ids.ts"
import * as MemoryEngine from "../../../src/layers/memory/MemoryEngine.ts"
import { Controller } from "../../../src/services/Controller.ts"
import { CrossfireUnavailable, RoomPageFailed } from "../../../src/services/CrossfireClient.ts"
import { start } from "../../support/FleetDaemon.ts"
import { editor, scratchFolder } from "../../support/FleetFile.ts"
import { makeHost } from "../../support/MemoryHost.ts"
import * as RoomsCrossfire from "../../support/RoomsCrossfire.ts"

const { owner, stranger } = RoomsCrossfire

const steady: MemoryEngine.EngineBehaviour = {
  onSubmit: () => Effect.succeed({ delayMillis: 10, turn: "completed" }),
  onTurn: () => Effect.void,
  onActivate: () => Effect.succeed(true)
}

const settingOf = (behaviour: MemoryEngine.EngineBehaviour) =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const crossfire = yield* RoomsCrossfire.make(editor)
    const memory = MemoryEngine.make(behaviour)
    const options = { folder, memory, machine: makeHost(), crossfire: crossfire.layer, agents: [editor] }
    const daemon = Effect.acquireRelease(Effect.interruptible(start(options)), (running) => running.stop)
    return { crossfire, memory, daemon }
  })
const setting = settingOf(steady)

const inputs = (memory: MemoryEngine.MemoryEngines): ReadonlyArray<string> =>
  [...memory.histories.files.values()].flatMap((file) =>
    file.lines.flatMap((line) => line.kind === "user" ? [line.text] : [])
  )

const eventsIn = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.flatMap((text) => [...text.matchAll(/── (?:message|removed message) (\$\S+)/gu)].map((match) => match[1] ?? ""))

const pass = TestClock.adjust("10 seconds").pipe(Effect.repeatN(11))

it.scoped("[D-01] [F47] a message that was removed before it was given stands in the next input, which is given all the same", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting
    const room = crossfire.room("one")
    yield* daemon
    const gone = yield* crossfire.say(room, stranger)
    yield* crossfire.redact(gone)
    const asked = yield* crossfire.say(room, owner)
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([gone, asked])
    expect(inputs(memory)).toHaveLength(1)
    expect(crossfire.asked.boundaries).toBeLessThan(5)
    // The removal's number is acknowledged by itself, and with whatever follows.
    const numbers = crossfire.acknowledgments.map(({ redactionNumber }) => redactionNumber)
    expect(numbers).toStrictEqual([1, 1])
    expect(crossfire.acknowledgments[0]).toMatchObject({ cursors: [], delivered: [] })
  }))

it.scoped("[D-01] a message that is removed while its input waits to be given is given as a removed one", () =>
  Effect.gen(function*() {
    const refusals = ["no key", "no key"]
    const { crossfire, daemon, memory } = yield* settingOf({
      ...steady,
      onSubmit: () =>
        Effect.sync(() => {
          const refuse = refusals.shift()
          return { delayMillis: 10, turn: "completed" as const, ...refuse === undefined ? {} : { refuse } }
        })
    })
    const room = crossfire.room("one")
    const first = yield* Effect.scoped(Effect.gen(function*() {
      const running = yield* daemon
      const gone = yield* crossfire.say(room, stranger)
      yield* crossfire.say(room, owner)
      yield* pass
      yield* crossfire.redact(gone)
      yield* running.run(Effect.flatMap(Controller, (controller) => controller.start(editor)))
      yield* pass
      return gone
    }))
    // Refused once more with the removed one in it; the next daemon does not know how it was prepared.
    const running = yield* daemon
    yield* running.run(Effect.flatMap(Controller, (controller) => controller.start(editor)))
    yield* pass
    expect(inputs(memory)).toHaveLength(1)
    expect(inputs(memory)[0]).toContain(`── removed message ${first}`)
    expect(inputs(memory)[0]).not.toContain("| text 1\n")
  }))

it.scoped("[M-05] while a waking message cannot be read, nobody else's messages start the agent", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting
    const broken = crossfire.room("broken")
    const lively = crossfire.room("lively")
    yield* daemon
    crossfire.failing.set(broken, new RoomPageFailed({ reason: "too-large" }))
    const asked = yield* crossfire.say(broken, owner)
    yield* pass
    const chatter = yield* crossfire.say(lively, stranger)
    yield* pass
    expect(inputs(memory)).toStrictEqual([])
    const other = yield* crossfire.say(lively, owner)
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([chatter, other])
    crossfire.failing.clear()
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([chatter, other, asked])
  }))

it.scoped("[F-04] a direct message is given while the homeserver is down and a waking message waits", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting
    const room = crossfire.room("one")
    const running = yield* daemon
    crossfire.failBoundary(new CrossfireUnavailable({ operation: "take a boundary", reason: "homeserver down" }))
    const asked = yield* crossfire.say(room, owner)
    yield* pass
    const operationId = OperationId.make("55555555-5555-4555-8555-555555555555")
    yield* running.run(Effect.flatMap(
      Controller,
      (controller) => controller.send({ agentId: editor, text: "look at the tests", operationId })
    ))
    yield* pass
    expect(inputs(memory)).toHaveLength(1)
    expect(inputs(memory)[0]).toContain("| look at the tests")
    crossfire.failBoundary(null)
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([asked])
  }))

it.scoped("[M-06] a room that the homeserver fails for holds up no other room", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting
    const broken = crossfire.room("broken")
    const lively = crossfire.room("lively")
    yield* daemon
    crossfire.failing.set(broken, new CrossfireUnavailable({ operation: "read a page", reason: "homeserver down" }))
    const waiting = yield* crossfire.say(broken, owner)
    const asked = yield* crossfire.say(lively, owner)
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([asked])
    crossfire.failing.clear()
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([asked, waiting])
  }))

it.scoped("[M-09] many own messages before a waking one are passed by, whatever the room's share is", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting
    const rooms = Array.from({ length: 12 }, (_, at) => crossfire.room(`room-${at}`))
    yield* daemon
    const [first] = rooms
    if (first === undefined) return
    for (const room of rooms) yield* crossfire.fill(room, "own", 1)
    yield* crossfire.fill(first, "own", 700)
    const asked = yield* crossfire.say(first, owner)
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([asked])
  }))
