// Making a person's account on the managed homeserver, for its first person and the demonstration. Everyone else registers
// in their Matrix client, with a token.
import { Context, type Effect, type Redacted, Schema } from "effect"
import type { HomeserverBusy, HomeserverUnavailable, MatrixRefused } from "./Matrix.ts"

export class AccountExists extends Schema.TaggedError<AccountExists>()("AccountExists", { localpart: Schema.String }) {
  override get message(): string {
    return `There is an account "${this.localpart}" on the homeserver already`
  }
}

export class AccountNameInvalid extends Schema.TaggedError<AccountNameInvalid>()("AccountNameInvalid", {
  localpart: Schema.String,
  reason: Schema.Literal("characters", "reserved")
}) {
  override get message(): string {
    const told = {
      characters: "an account name has only a-z, 0-9 and . _ = - / +, and at least one of them",
      reserved: "names that start with cf- are kept for agents"
    }
    return `"${this.localpart}" cannot be an account name: ${told[this.reason]}`
  }
}

export class PersonAccounts extends Context.Tag("crossfire/services/PersonAccounts")<
  PersonAccounts,
  {
    /** Makes an ordinary account (no administrator) and signs in nowhere. The password is passed on and kept nowhere. */
    readonly create: (
      localpart: string,
      password: Redacted.Redacted
    ) => Effect.Effect<
      void,
      AccountExists | AccountNameInvalid | HomeserverUnavailable | HomeserverBusy | MatrixRefused
    >
  }
>() {}
