import { expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Redacted } from "effect"
import { Binding, HistoryPosition } from "../../../../src/domain/History.ts"
import { RunId, sharedContext } from "../../../../src/domain/Ids.ts"
import * as SqliteRegistry from "../../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { claimRoot, RootMoved } from "../../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { FleetRegistry } from "../../../../src/services/FleetRegistry.ts"
import { editor, registryIn, reporter, scratchFolder, smallFleet } from "../../../support/FleetFile.ts"

const registry = (folder: string) => SqliteRegistry.layer.pipe(Layer.provideMerge(registryIn(folder)))

const binding = new Binding({ engine: "pi", nativeId: "n1", path: "/histories/n1.jsonl" })
const position = new HistoryPosition({ offset: 10, lineOffset: 0, entry: "e1", lineHash: "00" })

it.scopedLive("[C-01] identity, agents, desired state, credentials and bindings stand after a restart", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const root = yield* Effect.gen(function*() {
      const { rootId } = yield* claimRoot(folder)
      const fleet = yield* FleetRegistry
      expect(yield* fleet.identity).toStrictEqual(Option.none())
      yield* fleet.introduce(smallFleet())
      yield* fleet.setEnabled(editor, false)
      yield* fleet.setPaused(reporter, true)
      yield* fleet.setProblem(reporter, "held for a reason")
      yield* fleet.bind(editor, sharedContext, binding, position)
      return rootId
    }).pipe(Effect.provide(registry(folder)))

    yield* Effect.gen(function*() {
      expect((yield* claimRoot(folder)).rootId).toBe(root)
      const fleet = yield* FleetRegistry
      expect(Option.getOrThrow(yield* fleet.identity)).toMatchObject({ fleetKey: "street", rootId: root })
      const agents = yield* fleet.agents
      expect(agents.map(({ name, enabled, paused, problem }) => [name, enabled, paused, problem])).toStrictEqual([
        ["editor", false, false, null],
        ["reporter", true, true, "held for a reason"]
      ])
      expect(Redacted.value(yield* fleet.fleetToken)).toBe("token-of-fleet")
      expect(Redacted.value(yield* fleet.agentToken(reporter))).toBe("token-of-reporter")
      const bound = Option.getOrThrow(yield* fleet.binding(editor, sharedContext))
      expect(bound).toStrictEqual({ binding, position })
      expect(yield* fleet.binding(reporter, sharedContext)).toStrictEqual(Option.none())
    }).pipe(Effect.provide(registry(folder)))
  }))

it.scopedLive("the same introduction again changes settings and nothing else", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    yield* Effect.gen(function*() {
      yield* claimRoot(folder)
      const fleet = yield* FleetRegistry
      const first = smallFleet()
      yield* fleet.introduce(first)
      yield* fleet.setEnabled(editor, false)
      yield* fleet.bind(editor, sharedContext, binding, position)
      yield* fleet.introduce({
        ...first,
        agents: first.agents.map(({ agent, token }) => ({ agent: { ...agent, model: "another" }, token }))
      })
      const agent = yield* fleet.agent(editor)
      expect([agent.model, agent.enabled]).toStrictEqual(["another", false])
      expect(Option.isSome(yield* fleet.binding(editor, sharedContext))).toBe(true)
    }).pipe(Effect.provide(registry(folder)))
  }))

it.scopedLive("an established binding is never replaced by another one", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    yield* Effect.gen(function*() {
      yield* claimRoot(folder)
      const fleet = yield* FleetRegistry
      yield* fleet.introduce(smallFleet())
      yield* fleet.bind(editor, sharedContext, binding, position)
      yield* fleet.bind(editor, sharedContext, binding, position)
      const other = new Binding({ ...binding, nativeId: "n2" })
      const exit = yield* Effect.exit(fleet.bind(editor, sharedContext, other, position))
      expect(Exit.isFailure(exit) && exit.cause._tag).toBe("Die")
      expect(Option.getOrThrow(yield* fleet.binding(editor, sharedContext)).binding.nativeId).toBe("n1")
    }).pipe(Effect.provide(registry(folder)))
  }))

it.scopedLive("a run is open from before its process until it ended", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const [one, two] = [1, 2].map((n) => ({
      runId: RunId.make(`44444444-4444-4444-8444-44444444444${n}`),
      agentId: editor,
      context: sharedContext,
      bootId: "boot"
    }))
    if (one === undefined || two === undefined) return
    yield* Effect.gen(function*() {
      const fleet = yield* FleetRegistry
      yield* fleet.runStarted(one)
      yield* fleet.runStarted(two)
      yield* fleet.runEnded(one.runId, true)
      expect(yield* fleet.openRuns).toStrictEqual([two])
    }).pipe(Effect.provide(registry(folder)))
  }))

it.scopedLive("[C-11] a registry in another folder says where its histories live", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    yield* claimRoot("/first/place").pipe(Effect.provide(registryIn(folder)))
    const error = yield* Effect.flip(claimRoot("/second/place").pipe(Effect.provide(registryIn(folder))))
    expect(error).toStrictEqual(new RootMoved({ root: "/second/place", madeIn: "/first/place" }))
    expect(error.message).toContain("histories live at /first/place")
  }))
