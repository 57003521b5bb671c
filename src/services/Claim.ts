// The private material of one enrollment: the claim and every credential, made before anything is sent and saved with the
// roster they are for, so that any retry is the same request. One claim stands in a root folder at a time.
import { Context, type Effect, type Option, Schema } from "effect"
import { ClaimSecret } from "../domain/api/Crossfire.ts"
import { InstanceKey, Roster } from "../domain/Roster.ts"

export class ClaimMaterial extends Schema.Class<ClaimMaterial>("ClaimMaterial")({
  format: Schema.Literal(1),
  /** The address it is for: a credential is never shown to another server. */
  serverUrl: Schema.String,
  claim: Schema.Redacted(ClaimSecret),
  fleetToken: Schema.Redacted(Schema.String),
  agentTokens: Schema.Array(Schema.Struct({ key: InstanceKey, token: Schema.Redacted(Schema.String) })),
  /** The credentials take the place of those that the registry holds; otherwise the registry's own go before these. */
  renews: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  roster: Roster
}) {}

/** The file is there and cannot be trusted, or it could not be written. Nothing was sent. */
export class ClaimUnusable extends Schema.TaggedError<ClaimUnusable>()("ClaimUnusable", {
  path: Schema.String,
  problem: Schema.Literal("malformed", "not-private", "not-a-file", "unreadable", "not-saved"),
  code: Schema.NullOr(Schema.String)
}) {
  override get message(): string {
    const told = {
      malformed: "it is not in the form that fleet writes; move it away to start a new enrollment",
      "not-private": "others on this machine can read or own it; its credentials must be taken for known: move it away",
      "not-a-file": "it is no ordinary file",
      unreadable: "it cannot be read",
      "not-saved": "it could not be saved, so nothing was sent"
    }
    return `${this.path}: ${told[this.problem]}${this.code === null ? "" : ` (the system says ${this.code})`}`
  }
}

export class Claim extends Context.Tag("crossfire/services/Claim")<
  Claim,
  {
    /** None where no enrollment was ever begun. */
    readonly load: Effect.Effect<Option.Option<ClaimMaterial>, ClaimUnusable>
    /**
     * Saves the first one, on disk when it returns. Where two try at once, one is saved and both get that one: nothing
     * that was sent can be forgotten by the other.
     */
    readonly saveFirst: (material: ClaimMaterial) => Effect.Effect<ClaimMaterial, ClaimUnusable>
    /** Puts another one in its place, whole or not at all. */
    readonly replace: (material: ClaimMaterial) => Effect.Effect<void, ClaimUnusable>
  }
>() {}
