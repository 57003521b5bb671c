import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Option, TestClock } from "effect"
import { deliveryIdOfFirstLine } from "../../../src/domain/DeliveryHeader.ts"
import { OperationId } from "../../../src/domain/Ids.ts"
import * as MemoryEngine from "../../../src/layers/memory/MemoryEngine.ts"
import { Controller } from "../../../src/services/Controller.ts"
import * as FakeCrossfire from "../../support/FakeCrossfire.ts"
import { start } from "../../support/FleetDaemon.ts"
import { editor, scratchFolder } from "../../support/FleetFile.ts"
import { makeHost } from "../../support/MemoryHost.ts"

const steady: MemoryEngine.EngineBehaviour = {
  onSubmit: () => Effect.succeed({ delayMillis: 10, turn: "completed" }),
  onTurn: () => Effect.void,
  onActivate: () => Effect.succeed(true)
}

/** A behaviour whose next submits go as listed, and then steadily. */
const scripted = (plans: Array<Partial<MemoryEngine.SubmitPlan>>): MemoryEngine.EngineBehaviour => ({
  ...steady,
  onSubmit: () => Effect.sync(() => ({ delayMillis: 10, turn: "completed" as const, ...plans.shift() }))
})

const setting = (behaviour: MemoryEngine.EngineBehaviour) =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const crossfire = yield* FakeCrossfire.make(editor)
    const memory = MemoryEngine.make(behaviour)
    const machine = makeHost()
    // Started interruptibly: what a daemon forks would inherit the mask of an acquisition.
    const daemon = Effect.acquireRelease(
      Effect.interruptible(start({ folder, memory, machine, crossfire: crossfire.layer, agents: [editor] })),
      (running) => running.stop
    )
    return { crossfire, memory, machine, daemon }
  })

/** Every user entry of every history, in order. */
const inputs = (memory: MemoryEngine.MemoryEngines): ReadonlyArray<string> =>
  [...memory.histories.files.values()].flatMap((file) =>
    file.lines.flatMap((line) => line.kind === "user" ? [line.text] : [])
  )

const eventsIn = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.flatMap((text) => [...text.matchAll(/── message (\$\S+)/gu)].map((match) => match[1] ?? ""))

const pass = TestClock.adjust("10 seconds").pipe(Effect.repeatN(5))

it.scoped("[D-01] [D-02] a waking message is delivered once, then acknowledged with its cursor", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(steady)
    yield* daemon
    const eventId = yield* crossfire.say("hello")
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([eventId])
    expect(crossfire.acknowledgments.map((one) => one.delivered.map((event) => event.eventId))).toStrictEqual([[
      eventId
    ]])
    expect(crossfire.acknowledgments[0]?.cursors[0]?.cursor.from).toBe("s1")
    const [text] = inputs(memory)
    expect(deliveryIdOfFirstLine(text ?? "")).toBe(crossfire.acknowledgments[0]?.deliveryId)
  }))

it.scoped("[M-05] a message that wakes nobody travels with the next one that does", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(steady)
    yield* daemon
    const first = yield* crossfire.say("only context", "context")
    yield* pass
    expect(inputs(memory)).toStrictEqual([])
    const second = yield* crossfire.say("wake up")
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([first, second])
    expect(inputs(memory)).toHaveLength(1)
  }))

it.scoped("[M-09] the agent's own messages and control notices are never given, and what was read past them is read once", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(steady)
    yield* daemon
    yield* crossfire.say("mine", "own")
    yield* crossfire.say("a notice", "control")
    const asked = yield* crossfire.say("a question")
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([asked])
    expect(crossfire.acknowledgments[0]?.cursors[0]?.cursor.from).toBe("s3")
  }))

it.scoped("[D-03] an engine that dies before the entry gets the same input again, one that dies after it does not", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(scripted([{ dieBefore: true }, { dieAfter: true }]))
    yield* daemon
    const first = yield* crossfire.say("one")
    yield* pass
    yield* pass
    const texts = inputs(memory)
    expect(eventsIn(texts)).toStrictEqual([first])
    // The turn was cut after the receipt: one reminder follows in the restarted process, and no second copy.
    expect(texts.map((text) => /kind=(\w+)/u.exec(text)?.[1])).toStrictEqual(["batch", "reminder"])
    expect(crossfire.notices).toStrictEqual([])
  }))

it.scoped("[D-03] a lost answer is no receipt and no absence: the engine is ended, then its history is read", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(scripted([{ loseAnswer: true }]))
    yield* daemon
    const first = yield* crossfire.say("one")
    yield* pass
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([first])
    expect(crossfire.acknowledgments.map((one) => one.delivered.map((event) => event.eventId))).toStrictEqual([[first]])
  }))

it.scoped("[D-05] a daemon that starts again resolves what was submitted from the history and sends nothing twice", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(scripted([{ delayMillis: 5_000 }]))
    yield* Effect.scoped(Effect.gen(function*() {
      yield* daemon
      yield* crossfire.say("one")
      yield* TestClock.adjust("6 seconds")
    }))
    const before = inputs(memory)
    yield* daemon
    yield* crossfire.say("two")
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual(["$event-1", "$event-2"])
    expect(before.length).toBeLessThanOrEqual(1)
  }))

it.scoped("[D-04] after the machine went down, an input without proof is told as unknown, with its text in a file", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, machine, memory } = yield* setting(scripted([{ delayMillis: 60_000 }]))
    yield* Effect.scoped(Effect.gen(function*() {
      yield* daemon
      yield* crossfire.say("one")
      yield* TestClock.adjust("1 seconds")
    }))
    memory.histories.losePower()
    machine.bootId = "boot-2"
    yield* daemon
    const second = yield* crossfire.say("two")
    yield* pass
    const texts = inputs(memory)
    expect(texts.map((text) => /kind=(\w+)/u.exec(text)?.[1])).toStrictEqual(["notice", "batch"])
    expect(eventsIn(texts)).toStrictEqual([second])
    const [file] = [...machine.files.values()]
    expect(file).toContain("| one")
    const acknowledged = crossfire.acknowledgments.flatMap((one) => one.delivered.map((event) => event.eventId))
    expect(acknowledged).toStrictEqual(["$event-1", "$event-2"])
    expect(crossfire.notices).toHaveLength(1)
  }))

it.scoped("[C-11] a missing history holds the agent with the file's name, and nothing fresh is made", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(steady)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* daemon
      yield* crossfire.say("one")
      yield* pass
    }))
    const [path] = [...memory.histories.files.keys()]
    memory.histories.files.clear()
    const running = yield* daemon
    yield* crossfire.say("two")
    yield* pass
    const { agents } = yield* running.run(Effect.flatMap(Controller, (controller) => controller.status))
    expect(agents[0]?.session.state).toBe("held")
    expect(agents[0]?.session.reason).toContain(path ?? "?")
    expect(memory.histories.files.size).toBe(0)
    expect(crossfire.notices).toHaveLength(1)
  }))

it.scoped("[C-03] [C-04] after the lease was lost nothing is delivered; after it is taken again, everything is", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(steady)
    yield* daemon
    yield* pass
    yield* crossfire.takeLease
    const event = yield* crossfire.say("one")
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual([event])
  }))

it.scoped("[C-05] [C-09] messages do not start a stopped agent, also after a restart; start delivers what waited", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(steady)
    yield* Effect.scoped(Effect.gen(function*() {
      const running = yield* daemon
      yield* pass
      expect(yield* running.run(Effect.flatMap(Controller, (controller) => controller.stop(editor)))).toBe(true)
      yield* crossfire.say("one")
      yield* pass
    }))
    const running = yield* daemon
    yield* pass
    expect(inputs(memory)).toStrictEqual([])
    expect(yield* running.run(Effect.flatMap(Controller, (controller) => controller.start(editor)))).toBe(true)
    yield* pass
    expect(eventsIn(inputs(memory))).toStrictEqual(["$event-1"])
  }))

it.scoped("[C-05] a stop during a start is answered when nothing runs any more", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting({
      ...steady,
      onActivate: () => Effect.as(Effect.sleep("5 seconds"), true)
    })
    const running = yield* daemon
    yield* crossfire.say("one")
    yield* TestClock.adjust("2 seconds")
    const stopping = yield* Effect.fork(
      running.run(Effect.flatMap(Controller, (controller) => controller.stop(editor)))
    )
    yield* TestClock.adjust("1 second")
    expect(Option.isNone(yield* Fiber.poll(stopping))).toBe(true)
    yield* TestClock.adjust("10 seconds")
    expect(yield* Fiber.join(stopping)).toBe(true)
    expect(memory.running()).toHaveLength(0)
    expect(inputs(memory)).toStrictEqual([])
  }))

it.scoped("[F-04] a direct message is stored once per operation, delivered, and told with its native entry", () =>
  Effect.gen(function*() {
    const { daemon, memory } = yield* setting(steady)
    const running = yield* daemon
    yield* pass
    const operationId = OperationId.make("55555555-5555-4555-8555-555555555555")
    const send = Effect.flatMap(
      Controller,
      (controller) => controller.send({ agentId: editor, text: "look at the tests", operationId })
    )
    yield* running.run(send)
    yield* running.run(send)
    yield* pass
    expect(inputs(memory)).toHaveLength(1)
    expect(inputs(memory)[0]).toContain("| look at the tests")
    const state = yield* running.run(Effect.flatMap(Controller, (controller) => controller.delivery(operationId)))
    expect(Option.getOrThrow(state).state).toBe("delivered")
  }))

it.scoped("a turn that failed is continued a bounded number of times, later each time", () =>
  Effect.gen(function*() {
    const failing = { turn: "failed" as const }
    const { crossfire, daemon, memory } = yield* setting(
      scripted([failing, failing, failing, failing])
    )
    yield* daemon
    yield* crossfire.say("one")
    yield* TestClock.adjust("10 minutes").pipe(Effect.repeatN(3))
    expect(inputs(memory).map((text) => /kind=(\w+)/u.exec(text)?.[1])).toStrictEqual([
      "batch",
      "continue",
      "continue",
      "continue"
    ])
    // Told once that it failed for good, and again only after it had worked.
    expect(crossfire.notices.filter((text) => text.includes("failed"))).toHaveLength(1)
    yield* crossfire.say("two")
    yield* TestClock.adjust("10 minutes")
    yield* TestClock.adjust("10 minutes")
    expect(eventsIn(inputs(memory))).toStrictEqual(["$event-1", "$event-2"])
    expect(crossfire.notices.filter((text) => text.includes("failed"))).toHaveLength(1)
  }))

it.scoped("[C-08] an idle engine sleeps after thirty minutes, and the next message wakes it on the same history", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, memory } = yield* setting(steady)
    yield* daemon
    yield* crossfire.say("one")
    yield* pass
    expect(memory.running()).toHaveLength(1)
    yield* TestClock.adjust("31 minutes")
    expect(memory.running()).toHaveLength(0)
    yield* crossfire.say("two")
    yield* pass
    expect(memory.histories.files.size).toBe(1)
    expect(inputs(memory).map((text) => /kind=(\w+)/u.exec(text)?.[1])).toStrictEqual(["batch", "batch"])
  }))
