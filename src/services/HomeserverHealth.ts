// Whether the homeserver answers, as seen by every call of crossfire's. A return after an outage is told, since pushes
// were lost meanwhile.
import { Context, type Effect } from "effect"

export class HomeserverHealth extends Context.Tag("crossfire/services/HomeserverHealth")<
  HomeserverHealth,
  {
    readonly down: Effect.Effect<boolean>
    /** Waits for the next outage. Answers at once during one. */
    readonly failed: Effect.Effect<void>
    /**
     * Waits until the homeserver has answered again after an outage; one answer covers all outages since the last. For
     * one listener.
     */
    readonly recovered: Effect.Effect<void>
  }
>() {}
