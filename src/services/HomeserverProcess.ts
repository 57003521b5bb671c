// The homeserver that this installation talks to, whoever runs it: where it answers, and whether it does.
import { Context, type Effect } from "effect"
import type { HomeserverUnavailable } from "./Matrix.ts"

export class HomeserverProcess extends Context.Tag("crossfire/services/HomeserverProcess")<
  HomeserverProcess,
  {
    /** Where its client API answers, without a slash at the end. */
    readonly baseUrl: string
    readonly serverName: string
    /** Waits until it answers; returns at once while it does. Never fails: a homeserver that is down may come back. */
    readonly ready: Effect.Effect<void>
    /** The process ID of a managed homeserver that answers; another number means it was started again. Null for one of your own. */
    readonly pid: Effect.Effect<number | null>
    /**
     * Starts a managed homeserver anew with this gate for registrations and waits until it answers; at once where it has
     * that gate already. Nothing on a homeserver of your own: its administrator sets it there.
     */
    readonly setRegistration: (gate: "token" | "none") => Effect.Effect<void, HomeserverUnavailable>
  }
>() {}
