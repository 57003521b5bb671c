// Invitations to sign up on the managed homeserver: made by crossfire from 32 random bytes, shown once, used once. The
// homeserver checks them when Element registers; crossfire sees no password and no registration.
import { Context, type Effect } from "effect"
import type { Actor } from "../domain/Actor.ts"
import type { AlreadySettled, TooMany } from "../domain/api/AccessErrors.ts"
import type { NotAllowed, NotFound } from "../domain/api/CrossfireErrors.ts"
import type { InvitationId, InvitationView, NewInvitation } from "../domain/api/People.ts"
import type { StoreFailed } from "./Database.ts"
import type { MatrixError } from "./Matrix.ts"

export class Invitations extends Context.Tag("crossfire/services/Invitations")<
  Invitations,
  {
    /** One's own, or all for administrators; newest first, at most 200. What was used is asked of the homeserver. */
    readonly list: (by: Actor) => Effect.Effect<ReadonlyArray<InvitationView>, NotAllowed | StoreFailed>
    /** Recorded before the homeserver has it, so that no token is good of which crossfire knows nothing. */
    readonly make: (by: Actor, invitation: {
      readonly note: string
      readonly lastsMillis: number
    }) => Effect.Effect<NewInvitation, NotAllowed | TooMany | MatrixError | StoreFailed>
    /** One's own, or any for administrators. */
    readonly revoke: (
      by: Actor,
      invitationId: InvitationId
    ) => Effect.Effect<InvitationView, NotAllowed | NotFound | AlreadySettled | MatrixError | StoreFailed>
  }
>() {}
