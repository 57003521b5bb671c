// Who can be a person of the instance, who is let in by its rule, and which change would leave it without an administrator.
// Pure: it knows people by their full Matrix ID and by nothing else.
import type { PersonRole } from "./Actor.ts"
import type { UserId } from "./Ids.ts"
import type { SignupPolicy } from "./Signup.ts"
import { serverOf } from "./SystemUsers.ts"

/** Every account of a managed homeserver came in by crossfire's own rule; on a homeserver of one's own none need have. */
export type HomeserverKind = "managed" | "own"

/** The user names that are crossfire's and its agents' own: the homeserver gives them to nobody else. */
const reserved = /^@cf-/iu

/** One of this very server, compared whole, whose name is not crossfire's own. */
export const canBePerson = (userId: UserId, serverName: string): boolean =>
  serverOf(userId) === serverName && !reserved.test(userId)

/** Whether somebody whom nobody added is let in when they prove to have an account. */
export const letsIn = (homeserver: HomeserverKind, policy: SignupPolicy): boolean =>
  homeserver === "managed" || policy === "open"

/** Whether nobody would administer if this one no longer did. */
export const isLastAdministrator = (
  person: { readonly role: PersonRole; readonly active: boolean },
  otherActiveAdministrators: number
): boolean => person.active && person.role === "administrator" && otherActiveAdministrators === 0
