// Whether the homeserver answers at all. A return after an outage is told, since pushes were lost meanwhile.
import { Context, type Effect } from "effect"

export class HomeserverHealth extends Context.Tag("crossfire/services/HomeserverHealth")<
  HomeserverHealth,
  {
    readonly down: Effect.Effect<boolean>
    /** Waits until the homeserver answers again after an outage. For one listener; an outage nobody waited for is kept. */
    readonly recovered: Effect.Effect<void>
  }
>() {}
