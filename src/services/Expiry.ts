// The registry's rows that are over: texts of settled inputs, answered messages, closed notices, old delivered IDs.
import { Context, type Effect } from "effect"
import type { StoreFailed } from "./Database.ts"

export class Expiry extends Context.Tag("crossfire/services/Expiry")<
  Expiry,
  {
    /** One bounded batch of each kind. True: there may be more. What is pending, or not accepted yet, always stays. */
    readonly batch: Effect.Effect<boolean, StoreFailed>
  }
>() {}
