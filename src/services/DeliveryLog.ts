// The newest inputs of all agents with how far each is: for the owner's eyes, read off the registry.
import { Context, type Effect } from "effect"
import type { DeliveryEntry } from "../domain/api/FleetSocket.ts"
import type { StoreFailed } from "./Database.ts"

export class DeliveryLog extends Context.Tag("crossfire/services/DeliveryLog")<
  DeliveryLog,
  {
    /** Newest first; at most `limit`. */
    readonly recent: (limit: number) => Effect.Effect<ReadonlyArray<DeliveryEntry>, StoreFailed>
  }
>() {}
