// Replaces the fleet's credential and its agents', all or none, over any crash of either side.
import { Context, type Effect } from "effect"
import type { RotationFailed } from "../domain/api/FleetSocket.ts"
import type { StoreFailed } from "./Database.ts"

export class CredentialRotation extends Context.Tag("crossfire/services/CredentialRotation")<
  CredentialRotation,
  {
    /** How many agents have new ones. One that was begun before is finished, and is the answer. */
    readonly rotate: Effect.Effect<number, RotationFailed | StoreFailed>
  }
>() {}
