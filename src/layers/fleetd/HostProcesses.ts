// RunSweep on this host: every native process carries its run ID as an environment variable, and so does all that it
// starts. The twin in memory has no processes but those that a simulation says are left.
import { Effect, Layer, Ref } from "effect"
import { readFile } from "node:fs/promises"
import type { RunId } from "../../domain/Ids.ts"
import { RunSweep } from "../../services/RunSweep.ts"
import { sweepMarked } from "../process/ProcessSweep.ts"
import { runMarker } from "../process/RunMarker.ts"

export const layer: Layer.Layer<RunSweep> = Layer.effect(
  RunSweep,
  Effect.gen(function*() {
    // It cannot change while this process lives; a Linux without it is not one this runs on.
    const bootId = yield* Effect.orDie(Effect.tryPromise(() => readFile("/proc/sys/kernel/random/boot_id", "utf8")))
    return RunSweep.of({
      sweep: (runId) => sweepMarked(runMarker(runId)),
      bootId: Effect.succeed(bootId.trim())
    })
  })
)

/** What a simulated host is like: it can boot anew, and some processes cannot be ended. */
export interface SimulatedHost {
  readonly bootId: Ref.Ref<string>
  readonly survivors: Ref.Ref<ReadonlyMap<RunId, ReadonlyArray<number>>>
  /** Called with every run that is swept, so that the simulation can end what belongs to it. */
  readonly onSweep: (runId: RunId) => Effect.Effect<void>
}

export const layerMemory = (host: SimulatedHost): Layer.Layer<RunSweep> =>
  Layer.succeed(
    RunSweep,
    RunSweep.of({
      sweep: (runId) =>
        Effect.zipRight(
          host.onSweep(runId),
          Effect.map(Ref.get(host.survivors), (survivors) => survivors.get(runId) ?? [])
        ),
      bootId: Ref.get(host.bootId)
    })
  )
