// What fleetd says was delivered: wakes close, the cursor mirror follows, the level rises.
import { Context, type Effect } from "effect"
import type { Acknowledgment } from "../domain/api/Crossfire.ts"
import type { StaleGeneration } from "../domain/api/CrossfireErrors.ts"
import type { AgentId, FleetId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"
import type { FleetStamp } from "./FleetLeases.ts"

export class Acknowledgments extends Context.Tag("crossfire/services/Acknowledgments")<
  Acknowledgments,
  {
    /**
     * Idempotent by delivery ID, refused for the generation alone. Closes what is still open, ignores the rest, and answers
     * the level number that covers it.
     */
    readonly accept: (
      from: { readonly agentId: AgentId; readonly fleetId: FleetId; readonly stamp: FleetStamp },
      acknowledgment: Acknowledgment
    ) => Effect.Effect<number, StaleGeneration | StoreFailed>
  }
>() {}
