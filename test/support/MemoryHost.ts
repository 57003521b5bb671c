// The host of a fleetd in tests: what stands on its disk, which boot it is in, and whose processes can be swept. It
// outlives every daemon's life on it.
import { Effect, Layer } from "effect"
import * as FileArtifacts from "../../src/layers/fleetd/FileArtifacts.ts"
import type { MemoryEngines } from "../../src/layers/memory/MemoryEngine.ts"
import { NativeEngines } from "../../src/services/NativeEngine.ts"
import { RunSweep } from "../../src/services/RunSweep.ts"
import { ToolAccess } from "../../src/services/ToolAccess.ts"

export interface MemoryHost {
  /** Another value than before: the machine went down in between. */
  bootId: string
  /** Artifacts by path. */
  readonly files: Map<string, string>
}

export const makeHost = (): MemoryHost => ({ bootId: "boot-1", files: new Map() })

/** The host's ports over the engines' twin: a sweep ends exactly the run that it names. */
export const layer = (host: MemoryHost, engines: MemoryEngines) =>
  Layer.mergeAll(
    Layer.succeed(NativeEngines, NativeEngines.of({ get: (kind) => engines.engine(kind) })),
    Layer.succeed(
      RunSweep,
      RunSweep.of({
        sweep: (runId) => Effect.as(engines.kill(runId), []),
        bootId: Effect.sync(() => host.bootId)
      })
    ),
    FileArtifacts.layerMemory("/host", host.files),
    Layer.succeed(
      ToolAccess,
      ToolAccess.of({ open: () => Effect.succeed({ mcpUrl: "http://127.0.0.1:1", mcpToken: "t", socketPath: "/s" }) })
    )
  )
