// The fleet's lease as this daemon holds it. Whoever delivers asks here first; losing it shuts the gate at once.
import { Context, type Effect, type Stream } from "effect"
import type { LeaseStamp } from "./CrossfireClient.ts"

export type LeaseState =
  | { readonly _tag: "Held"; readonly stamp: LeaseStamp }
  /**
   * `reason` is for people: not connected yet, held by another, expired. `credentialRefused`: it is not given, since
   * crossfire does not accept the fleet's credential.
   */
  | { readonly _tag: "NotHeld"; readonly reason: string; readonly credentialRefused?: boolean }

export class Lease extends Context.Tag("crossfire/services/Lease")<
  Lease,
  {
    /** Checked against the monotonic clock at the moment of asking, less a margin: never held by memory alone. */
    readonly state: Effect.Effect<LeaseState>
    /** Every change of the state, the present one first. */
    readonly changes: Stream.Stream<LeaseState>
    /** A write was refused as stale: what was held is over, whatever the clock says. */
    readonly lost: (stamp: LeaseStamp, reason: string) => Effect.Effect<void>
  }
>() {}
