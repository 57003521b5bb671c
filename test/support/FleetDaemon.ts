// fleetd's delivery core over a real registry file, the engines' twin and a small crossfire: started, killed and started
// again over the same state, as a test wants.
import { Effect, Exit, Layer, Scope } from "effect"
import type { AgentId } from "../../src/domain/Ids.ts"
import { defaultMaxInputBytes } from "../../src/domain/InputText.ts"
import * as FleetCore from "../../src/layers/fleetd/FleetCore.ts"
import { defaultLimits } from "../../src/layers/fleetd/ReceiverLimits.ts"
import { claimRoot } from "../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { type MemoryEngines } from "../../src/layers/memory/MemoryEngine.ts"
import { Controller } from "../../src/services/Controller.ts"
import type { CredentialRotation } from "../../src/services/CredentialRotation.ts"
import type { CrossfireClient } from "../../src/services/CrossfireClient.ts"
import { DirectInputs } from "../../src/services/DirectInputs.ts"
import { FleetRegistry } from "../../src/services/FleetRegistry.ts"
import { registryIn, smallFleet } from "./FleetFile.ts"
import * as MemoryHost from "./MemoryHost.ts"

/** One life of the daemon in `folder`. Closing its scope is a clean end; `memory.killAll` before it is a harsher one. */
export const start = (options: {
  readonly folder: string
  readonly memory: MemoryEngines
  readonly machine: MemoryHost.MemoryHost
  readonly crossfire: Layer.Layer<CrossfireClient>
  readonly agents?: ReadonlyArray<AgentId>
}) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const registry = FleetCore.stores.pipe(Layer.provideMerge(registryIn(options.folder)))
    const hostLayer = MemoryHost.layer(options.machine, options.memory).pipe(Layer.provide(registry))
    const given = Layer.mergeAll(registry, options.crossfire, hostLayer)
    const enrolled = Layer.effectDiscard(Effect.gen(function*() {
      yield* claimRoot(options.folder)
      const fleet = smallFleet()
      const wanted = options.agents
      const agents = wanted === undefined
        ? fleet.agents
        : fleet.agents.filter((one) => wanted.includes(one.agent.agentId))
      yield* (yield* FleetRegistry).introduce({ ...fleet, agents })
    }))
    const core = FleetCore.layer({
      supervisor: {
        homeOf: (agent) => `/home/${agent.name}`,
        instructions: "",
        maxInputBytes: defaultMaxInputBytes,
        limits: defaultLimits
      }
    })
    const lease = FleetCore.lease({
      rootId: "44444444-4444-4444-8444-444444444444",
      holder: "test",
      takeOver: false
    })
    const context = yield* Layer.buildWithScope(
      core.pipe(
        Layer.provideMerge(lease),
        Layer.provideMerge(FleetCore.board),
        Layer.provideMerge(enrolled),
        Layer.provideMerge(given)
      ),
      scope
    )
    const run = <A, E>(effect: Effect.Effect<A, E, Controller | CredentialRotation | DirectInputs | FleetRegistry>) =>
      Effect.provide(effect, context)
    return { run, stop: Scope.close(scope, Exit.void) }
  })
