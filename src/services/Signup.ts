// The instance's signup policy, kept in its database and in force on the managed homeserver.
import { Context, type Effect } from "effect"
import type { Actor } from "../domain/Actor.ts"
import type { NotAllowed } from "../domain/api/CrossfireErrors.ts"
import type { SignupView } from "../domain/api/People.ts"
import type { SignupPolicy } from "../domain/Signup.ts"
import type { StoreFailed } from "./Database.ts"
import type { HomeserverUnavailable } from "./Matrix.ts"

export class Signup extends Context.Tag("crossfire/services/Signup")<
  Signup,
  {
    readonly policy: Effect.Effect<SignupPolicy, StoreFailed>
    readonly view: (by: Actor) => Effect.Effect<SignupView, StoreFailed>
    /**
     * Recorded first; a managed homeserver whose gate changes is started anew and answers when this does. When it does not
     * come up in time that is `HomeserverUnavailable`, and the policy stands: it holds from the homeserver's next start.
     */
    readonly set: (
      by: Actor,
      policy: SignupPolicy
    ) => Effect.Effect<SignupView, NotAllowed | HomeserverUnavailable | StoreFailed>
  }
>() {}
