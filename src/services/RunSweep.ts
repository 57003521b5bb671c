// Ends what a native run left behind. A process's run ID is its marker.
import { Context, type Effect } from "effect"
import type { RunId } from "../domain/Ids.ts"

export class RunSweep extends Context.Tag("crossfire/services/RunSweep")<
  RunSweep,
  {
    /** Process IDs that could not be ended; empty means that nothing of the run is alive. */
    readonly sweep: (runId: RunId) => Effect.Effect<ReadonlyArray<number>>
    /** The kernel's boot ID: another one than at submit means that the machine went down in between. */
    readonly bootId: Effect.Effect<string>
  }
>() {}
