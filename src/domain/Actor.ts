// Who acts, and what that one may do with whose things. Pure: who it is was proven by a credential elsewhere.
import { Data, Schema } from "effect"
import type { AgentId, FleetId, UserId } from "./Ids.ts"

export const PersonRole = Schema.Literal("member", "administrator")
export type PersonRole = typeof PersonRole.Type

/**
 * `Operator` is whoever holds the data folder: the command line on the server's own machine. An agent never acts for its
 * owner: it has its own few rights.
 */
export type Actor = Data.TaggedEnum<{
  readonly Person: { readonly userId: UserId; readonly role: PersonRole }
  readonly Agent: { readonly agentId: AgentId; readonly fleetId: FleetId; readonly owner: UserId }
  readonly Operator: {}
}>
export const Actor = Data.taggedEnum<Actor>()

/** Decides for the whole instance: people, signup, anybody's agents. */
export const mayAdminister = (actor: Actor): boolean =>
  actor._tag === "Operator" || (actor._tag === "Person" && actor.role === "administrator")

/** Owners manage their own agents and fleets, administrators any. */
export const mayManageAgentsOf = (actor: Actor, owner: UserId): boolean =>
  mayAdminister(actor) || (actor._tag === "Person" && actor.userId === owner)

/** Approving an enrollment gives the owner's name away: nobody does it for somebody else, whatever their role. */
export const mayApproveFor = (actor: Actor, owner: UserId): boolean => actor._tag === "Person" && actor.userId === owner
