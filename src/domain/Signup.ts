// How people come into the instance: the policy, who may invite under it, and the form of an invitation's token.
import { Schema } from "effect"
import { type Actor, mayAdminister } from "./Actor.ts"

/**
 * `invite`: administrators invite. `members`: every member may. `open`: anybody who reaches the homeserver signs up.
 */
export const SignupPolicy = Schema.Literal("invite", "members", "open")
export type SignupPolicy = typeof SignupPolicy.Type

export const mayInvitePeople = (actor: Actor, policy: SignupPolicy): boolean =>
  mayAdminister(actor) || (actor._tag === "Person" && policy !== "invite")

/** What the homeserver asks of whoever registers. */
export type RegistrationGate = "token" | "none"
export const registrationGate = (policy: SignupPolicy): RegistrationGate => policy === "open" ? "none" : "token"

export const invitationBytes = 32
export const minInvitationMillis = 60 * 60 * 1000
export const usualInvitationMillis = 7 * 24 * 60 * 60 * 1000
export const maxInvitationMillis = 30 * 24 * 60 * 60 * 1000
/** Open invitations at the same time: of one member, of the instance. */
export const maxOpenInvitationsPerMember = 10
export const maxOpenInvitations = 1_000
