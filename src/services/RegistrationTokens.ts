// The homeserver's registration tokens, which it asks of whoever signs up. The only thing for which crossfire uses an
// administrator's account of the homeserver, and it can do nothing else with it.
import { Context, type Effect, type Redacted, Schema } from "effect"
import type { MatrixError } from "./Matrix.ts"

/** A homeserver of your own gives no administrator's account to crossfire: its tokens are made there. */
export class TokensElsewhere extends Schema.TaggedError<TokensElsewhere>()("TokensElsewhere", {}) {
  override get message(): string {
    return "People of a homeserver of your own get their accounts there; an administrator makes them known here"
  }
}

export interface TokenState {
  /** SHA-256 in hex of the token. */
  readonly tokenHash: string
  readonly used: boolean
}

export class RegistrationTokens extends Context.Tag("crossfire/services/RegistrationTokens")<
  RegistrationTokens,
  {
    /** Good for one registration, until then. Milliseconds since 1970. */
    readonly make: (
      token: Redacted.Redacted,
      expiresAtMillis: number
    ) => Effect.Effect<void, MatrixError | TokensElsewhere>
    /** All that the homeserver has; at most 10,000. */
    readonly states: Effect.Effect<ReadonlyArray<TokenState>, MatrixError | TokensElsewhere>
    /** Finds it by its hash. One that is gone already is no error. */
    readonly remove: (tokenHash: string) => Effect.Effect<void, MatrixError | TokensElsewhere>
  }
>() {}
