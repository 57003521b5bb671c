import { expect, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import type { AgentStatus, SessionStatus } from "../../../src/domain/api/FleetSocket.ts"
import { UserId } from "../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import * as Cleanup from "../../../src/layers/fleetd/Cleanup.ts"
import { ArtifactFailed, Artifacts } from "../../../src/services/Artifacts.ts"
import { Controller } from "../../../src/services/Controller.ts"
import { StoreFailed } from "../../../src/services/Database.ts"
import { Expiry } from "../../../src/services/Expiry.ts"
import { editor, reporter } from "../../support/FleetFile.ts"

const statusOf = (agentId: AgentStatus["agentId"], state: SessionStatus["state"]): AgentStatus => ({
  agentId,
  name: RegisteredName.make("agent"),
  userId: UserId.make("@agent:test"),
  engine: "pi",
  model: "m",
  desired: "started",
  paused: false,
  session: { state, reason: null },
  openWakes: null,
  stoppedRooms: [],
  contexts: []
})

/** Two agents, of which the test says whether they work, and how many batches of their files are over. */
const setting = () => {
  const state = {
    editor: "idle" as SessionStatus["state"],
    fileFails: false,
    storeFails: false,
    batchesLeft: 0
  }
  const done: Array<string> = []
  const layer = Cleanup.layer.pipe(Layer.provide(Layer.mergeAll(
    Layer.mock(Controller, {
      status: Effect.suspend(() =>
        state.storeFails
          ? Effect.fail(new StoreFailed({ database: "fleetd", reason: "full" }))
          : Effect.succeed({
            lease: { state: "not-held" as const, reason: "" },
            agents: [statusOf(editor, state.editor), statusOf(reporter, "sleeping")]
          })
      )
    }),
    Layer.mock(Artifacts, {
      expire: (agentId, beforeMillis, limit) =>
        Effect.suspend(() => {
          if (agentId === editor && state.fileFails) return new ArtifactFailed({ path: "/f", reason: "no permission" })
          done.push(`${agentId === editor ? "editor" : "reporter"} before ${beforeMillis / 3_600_000} h`)
          return Effect.succeed(state.batchesLeft-- > 0 ? limit : 0)
        })
    }),
    Layer.succeed(
      Expiry,
      Expiry.of({
        batch: Effect.sync(() => {
          done.push("rows")
          return false
        })
      })
    )
  )))
  return { state, taken: () => done.splice(0), layer }
}

it.scoped("[F-05] files go at the start and then hourly, 24 hours after their input; of an agent at work they wait", () =>
  Effect.gen(function*() {
    const { layer, state, taken } = setting()
    yield* Layer.build(layer)
    yield* Effect.yieldNow()
    yield* TestClock.adjust("1 millis")
    expect(taken()).toStrictEqual(["editor before -24 h", "reporter before -24 h", "rows"])
    yield* TestClock.adjust("59 minutes")
    expect(taken()).toStrictEqual([])
    state.editor = "working"
    yield* TestClock.adjust("1 minutes")
    expect(taken()).toStrictEqual(["reporter before -23 h", "rows"])
    state.editor = "starting"
    yield* TestClock.adjust("5 minutes")
    expect(taken().filter((one) => one.startsWith("editor"))).toStrictEqual([])
    state.editor = "idle"
    yield* TestClock.adjust("5 minutes")
    expect(taken().filter((one) => one.startsWith("editor"))).toHaveLength(1)
    yield* TestClock.adjust("59 minutes")
    expect(taken()).toStrictEqual([])
  }))

it.scoped("[F-05] what is more than one batch goes in several; a file or a registry that fails is tried again", () =>
  Effect.gen(function*() {
    const { layer, state, taken } = setting()
    state.batchesLeft = 3
    yield* Layer.build(layer)
    yield* TestClock.adjust("1 millis")
    expect(taken().filter((one) => one.startsWith("editor"))).toHaveLength(4)
    state.fileFails = true
    yield* TestClock.adjust("1 hours")
    expect(taken().map((one) => one.split(" ")[0])).toStrictEqual(["reporter", "rows"])
    state.fileFails = false
    state.storeFails = true
    yield* TestClock.adjust("1 hours")
    expect(taken()).toStrictEqual([])
    state.storeFails = false
    yield* TestClock.adjust("5 minutes")
    expect(taken().map((one) => one.split(" ")[0])).toStrictEqual(["editor", "reporter", "rows"])
  }))
