import { expect, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { RunId, sharedContext } from "../../../src/domain/Ids.ts"
import * as HostProcesses from "../../../src/layers/fleetd/HostProcesses.ts"
import * as MemorySignals from "../../../src/layers/fleetd/MemorySignals.ts"
import * as SqliteOutbox from "../../../src/layers/fleetd/sqlite/SqliteOutbox.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { claimRoot } from "../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import * as StartSweep from "../../../src/layers/fleetd/StartSweep.ts"
import { FleetOutbox } from "../../../src/services/FleetOutbox.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { editor, registryIn, reporter, scratchFolder, smallFleet } from "../../support/FleetFile.ts"

const run = (n: number) => RunId.make(`44444444-4444-4444-8444-44444444444${n}`)

it.scopedLive("what an earlier daemon left is ended before anything starts; an agent with a survivor stays down", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const swept = yield* Ref.make<ReadonlyArray<RunId>>([])
    const host = HostProcesses.layerMemory({
      bootId: yield* Ref.make("boot"),
      survivors: yield* Ref.make<ReadonlyMap<RunId, ReadonlyArray<number>>>(new Map([[run(2), [4711]]])),
      onSweep: (runId) => Ref.update(swept, (before) => [...before, runId])
    })
    yield* Effect.gen(function*() {
      yield* claimRoot(folder)
      const registry = yield* FleetRegistry
      yield* registry.introduce(smallFleet())
      for (const [n, agentId] of [[1, editor], [2, reporter]] as const) {
        yield* registry.runStarted({ runId: run(n), agentId, context: sharedContext, bootId: "boot" })
      }
      yield* StartSweep.make
      expect(yield* Ref.get(swept)).toStrictEqual([run(1), run(2)])
      expect((yield* registry.openRuns).map(({ runId }) => runId)).toStrictEqual([run(2)])
      expect((yield* registry.agent(editor)).problem).toBeNull()
      expect((yield* registry.agent(reporter)).problem).toContain("4711")
      const notices = yield* (yield* FleetOutbox).waitingNotices(10)
      expect(notices.map(({ text }) => text)).toStrictEqual([expect.stringContaining("reporter is held")])
    }).pipe(
      Effect.provide(
        Layer.mergeAll(SqliteRegistry.layer, SqliteOutbox.layer, MemorySignals.layer, host).pipe(
          Layer.provideMerge(registryIn(folder))
        )
      )
    )
  }))
