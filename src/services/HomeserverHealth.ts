// Whether the homeserver answers at all. A return after an outage is told, since pushes were lost meanwhile.
import { Context, type Effect } from "effect"

export class HomeserverHealth extends Context.Tag("crossfire/services/HomeserverHealth")<
  HomeserverHealth,
  {
    readonly down: Effect.Effect<boolean>
    /** Waits until the homeserver answers again after an outage. For one listener; an outage nobody waited for is kept. */
    readonly recovered: Effect.Effect<void>
    /** Somebody else knows that it was away and answers again, though no call of ours met it down. */
    readonly wasAway: Effect.Effect<void>
  }
>() {}
