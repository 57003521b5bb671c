// The leases that crossfire grants: one controller a fleet, told by a number that only grows. Writes are fenced by the
// number; the clock only says when another controller may take over.
import { Context, type Effect, type Option } from "effect"
import type { LeaseGrant } from "../domain/api/Crossfire.ts"
import type { LeaseHeld, StaleGeneration } from "../domain/api/CrossfireErrors.ts"
import type { FleetId, Generation, Incarnation } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

/** The number under which a write is made, and the life of the database that gave it. */
export interface FleetStamp {
  readonly generation: Generation
  readonly incarnation: Incarnation
}

export class FleetLeases extends Context.Tag("crossfire/services/FleetLeases")<
  FleetLeases,
  {
    readonly incarnation: Incarnation
    /** Under a new generation, when the lease is free, over, of the same root, or taken over on purpose. */
    readonly acquire: (request: {
      readonly fleetId: FleetId
      readonly root: string
      readonly holder: string
      readonly takeOver: boolean
    }) => Effect.Effect<LeaseGrant, LeaseHeld | StoreFailed>
    /** Lasts its full time again, also when it was over and nobody else took it. */
    readonly renew: (fleetId: FleetId, stamp: FleetStamp) => Effect.Effect<LeaseGrant, StaleGeneration | StoreFailed>
    /** False when it was not this generation's any more. */
    readonly release: (fleetId: FleetId, stamp: FleetStamp) => Effect.Effect<boolean, StoreFailed>
    /** The fencing check. Inside a transaction of crossfire's database it holds for the whole transaction. */
    readonly require: (fleetId: FleetId, stamp: FleetStamp) => Effect.Effect<void, StaleGeneration | StoreFailed>
    /** Who holds it, as that one named itself; none where it is free or over. For people: nothing is decided by it. */
    readonly holder: (fleetId: FleetId) => Effect.Effect<Option.Option<string>, StoreFailed>
    /** Waits until this generation is replaced, released, or its time is over without a renewal. */
    readonly over: (fleetId: FleetId, stamp: FleetStamp) => Effect.Effect<void>
  }
>() {}
