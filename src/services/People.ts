// The people of the instance: who is known, with which role, and whether they may act. What somebody may do to whom is
// decided by the domain's rules; accounts and passwords are the homeserver's.
import { Context, type Effect, type Option } from "effect"
import type { Actor, PersonRole } from "../domain/Actor.ts"
import type { AlreadySettled, LastAdministrator } from "../domain/api/AccessErrors.ts"
import type { NotAllowed, NotFound } from "../domain/api/CrossfireErrors.ts"
import type { PersonView } from "../domain/api/People.ts"
import type { UserId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export interface KnownPerson {
  readonly userId: UserId
  readonly role: PersonRole
  readonly active: boolean
}

export class People extends Context.Tag("crossfire/services/People")<
  People,
  {
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<KnownPerson>, StoreFailed>
    /**
     * Makes somebody known who proved to be this user and may come in by the instance's rule; whoever is known stays as
     * they are. None: somebody of another server, one of crossfire's own users, or not admitted. Joins a running
     * transaction.
     */
    readonly admit: (userId: UserId) => Effect.Effect<Option.Option<KnownPerson>, StoreFailed>
    /** Whether `admit` would give somebody who may act; changes nothing. */
    readonly wouldAdmit: (userId: UserId) => Effect.Effect<boolean, StoreFailed>
    /** By user ID, at most 1,000. For administrators. */
    readonly list: (by: Actor) => Effect.Effect<ReadonlyArray<PersonView>, NotAllowed | StoreFailed>
    readonly add: (
      by: Actor,
      userId: UserId,
      role: PersonRole
    ) => Effect.Effect<PersonView, NotAllowed | AlreadySettled | StoreFailed>
    /** A changed role ends every session of that person, open streams included. The same role again changes nothing. */
    readonly setRole: (
      by: Actor,
      userId: UserId,
      role: PersonRole
    ) => Effect.Effect<PersonView, NotAllowed | NotFound | LastAdministrator | StoreFailed>
    /** Ends sessions and the right to wake agents at once. */
    readonly deactivate: (
      by: Actor,
      userId: UserId
    ) => Effect.Effect<PersonView, NotAllowed | NotFound | LastAdministrator | StoreFailed>
    readonly reactivate: (by: Actor, userId: UserId) => Effect.Effect<PersonView, NotAllowed | NotFound | StoreFailed>
    /**
     * The homeserver says that the account is no more: as `deactivate`, without a rule against it. The last administrator
     * too: the account is gone whatever crossfire says, and the operator can name another.
     */
    readonly accountGone: (userId: UserId) => Effect.Effect<void, StoreFailed>
  }
>() {}
