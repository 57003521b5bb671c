import { expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import * as MemoryEngine from "../../../src/layers/memory/MemoryEngine.ts"
import { Controller } from "../../../src/services/Controller.ts"
import { start } from "../../support/FleetDaemon.ts"
import { editor, scratchFolder } from "../../support/FleetFile.ts"
import { makeHost } from "../../support/MemoryHost.ts"
import * as RoomsCrossfire from "../../support/RoomsCrossfire.ts"

const { owner } = RoomsCrossfire

const settingOf = (behaviour: Partial<MemoryEngine.EngineBehaviour>) =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const crossfire = yield* RoomsCrossfire.make(editor)
    const memory = MemoryEngine.make({
      onSubmit: () => Effect.succeed({ delayMillis: 10, turn: "completed" }),
      onTurn: () => Effect.void,
      onActivate: () => Effect.succeed(true),
      ...behaviour
    })
    const options = { folder, memory, machine: makeHost(), crossfire: crossfire.layer, agents: [editor] }
    const running = yield* Effect.acquireRelease(Effect.interruptible(start(options)), (daemon) => daemon.stop)
    const room = crossfire.room("one")
    const session = running.run(Effect.flatMap(Controller, (controller) => controller.status)).pipe(
      Effect.map(({ agents }) => agents[0]?.session.state)
    )
    const free = running.run(Effect.flatMap(Controller, (controller) => controller.start(editor)))
    return { crossfire, memory, room, session, free }
  })

const inputs = (memory: MemoryEngine.MemoryEngines): ReadonlyArray<string> =>
  [...memory.histories.files.values()].flatMap((file) =>
    file.lines.flatMap((line) => line.kind === "user" ? [/kind=(\w+)/u.exec(line.text)?.[1] ?? ""] : [])
  )

const minutes = TestClock.adjust("10 seconds").pipe(Effect.repeatN(17))

it.scoped("an engine that dies in every start is held after five; the owner's start tries as often again", () =>
  Effect.gen(function*() {
    let starts = 0
    let healthy = false
    const { crossfire, free, memory, room, session } = yield* settingOf({
      onActivate: () =>
        Effect.sync(() => {
          starts++
          return healthy
        })
    })
    yield* crossfire.say(room, owner)
    yield* minutes
    expect(yield* session).toBe("held")
    expect(starts).toBe(5)
    yield* free
    yield* minutes
    expect(yield* session).toBe("held")
    expect(starts).toBe(10)
    healthy = true
    yield* free
    yield* minutes
    expect(inputs(memory)).toStrictEqual(["batch"])
  }))

it.scoped("[C-12] an engine that dies in every turn is reminded a bounded number of times, then held", () =>
  Effect.gen(function*() {
    let healthy = false
    const { crossfire, free, memory, room, session } = yield* settingOf({
      onSubmit: () => Effect.sync(() => ({ delayMillis: 10, turn: "completed" as const, dieAfter: !healthy }))
    })
    yield* crossfire.say(room, owner)
    yield* minutes
    const given = inputs(memory)
    expect(given.length).toBeLessThan(10)
    expect(given[0]).toBe("batch")
    expect(yield* session).toBe("held")
    healthy = true
    yield* free
    yield* minutes
    expect(inputs(memory)).toStrictEqual([...given, "reminder"])
  }))
