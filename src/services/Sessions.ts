// Browsers' sessions: begun after a proof of identity, found by the cookie's secret, ended at once. Secrets are stored as
// hashes alone and compared as such.
import { Context, type Effect, type Redacted } from "effect"
import type { NotFound, TooManyAttempts, Unauthorized } from "../domain/api/CrossfireErrors.ts"
import type { ListedSession, PersonPrincipal } from "../domain/api/People.ts"
import type { UserId } from "../domain/Ids.ts"
import type { SessionId } from "../domain/Session.ts"
import type { StoreFailed } from "./Database.ts"

export interface NewSession {
  readonly principal: Context.Tag.Service<typeof PersonPrincipal>
  /** The cookie's value: 32 random bytes in base64url. */
  readonly secret: Redacted.Redacted
  readonly endsAtMillis: number
}

export interface FoundSession {
  readonly principal: Context.Tag.Service<typeof PersonPrincipal>
  readonly endsAtMillis: number
}

export class Sessions extends Context.Tag("crossfire/services/Sessions")<
  Sessions,
  {
    /** Always a new secret and a new ID. The oldest ends where there are too many. Joins a running transaction. */
    readonly begin: (userId: UserId, browser: string) => Effect.Effect<NewSession, Unauthorized | StoreFailed>
    /** `peer` is the address it came from: refused secrets are counted by it, as `Credentials` does. */
    readonly find: (
      secret: Redacted.Redacted,
      peer: string
    ) => Effect.Effect<FoundSession, Unauthorized | TooManyAttempts | StoreFailed>
    /** One's own that are not over, newest first. */
    readonly list: (
      of: Context.Tag.Service<typeof PersonPrincipal>
    ) => Effect.Effect<ReadonlyArray<ListedSession>, StoreFailed>
    readonly revoke: (userId: UserId, sessionId: SessionId) => Effect.Effect<void, NotFound | StoreFailed>
    /** All of this person but the one named; null: all. Answers how many. */
    readonly revokeAll: (userId: UserId, but: SessionId | null) => Effect.Effect<number, StoreFailed>
  }
>() {}
