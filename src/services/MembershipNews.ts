// Whose membership in some room just changed, for whoever looks at such users soon. In memory and bounded: what is dropped is
// found by looking at everybody now and then.
import { Context, type Effect } from "effect"
import type { UserId } from "../domain/Ids.ts"

export class MembershipNews extends Context.Tag("crossfire/services/MembershipNews")<
  MembershipNews,
  {
    readonly tell: (users: ReadonlyArray<UserId>) => Effect.Effect<void>
    /** Waits for the next one; each is handed to one taker. */
    readonly next: Effect.Effect<UserId>
  }
>() {}
