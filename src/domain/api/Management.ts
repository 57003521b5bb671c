// The part of crossfire's contract by which people manage fleets, agents and enrollment requests. Owners manage theirs,
// administrators any; what is not one's own is answered like what does not exist.
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import { Schema } from "effect"
import { EngineKind } from "../Engine.ts"
import { AgentId, EnrollmentId, FleetId, UserId } from "../Ids.ts"
import { FleetKey, InstanceKey, RegisteredName, Roster } from "../Roster.ts"
import { AgentRetired, AlreadySettled, CodeWrong, NameTaken } from "./AccessErrors.ts"
import { NotAllowed, NotFound, ServerBusy, TooManyAttempts } from "./CrossfireErrors.ts"
import { Bounds, peopleBounds, Surface } from "./Doors.ts"
import { PersonAuthorization } from "./People.ts"

export const AgentView = Schema.Struct({
  agentId: AgentId,
  key: InstanceKey,
  name: RegisteredName,
  /** `name (owner)`, as rooms show it. It grants nothing. */
  displayName: Schema.String,
  /** What people invite into rooms. */
  userId: UserId,
  engine: EngineKind,
  standing: Schema.Literal("active", "retired"),
  credential: Schema.Literal("valid", "revoked"),
  mayInviteAgents: Schema.Boolean,
  createdAtMillis: Schema.Number
})
export type AgentView = typeof AgentView.Type

export const FleetView = Schema.Struct({
  fleetId: FleetId,
  key: FleetKey,
  owner: UserId,
  credential: Schema.Literal("valid", "revoked"),
  /** Who holds the lease; null while nobody does. */
  controller: Schema.NullOr(Schema.String),
  createdAtMillis: Schema.Number,
  agents: Schema.Array(AgentView)
})
export type FleetView = typeof FleetView.Type

const Nothing = Schema.Struct({})
const oneAgent = Schema.Struct({ agentId: AgentId })
const oneFleet = Schema.Struct({ fleetId: FleetId })

export const fleets = HttpApiGroup.make("fleets")
  .add(
    /** One's own; for administrators all, at most 1,000 agents in all. */
    HttpApiEndpoint.get("list", "/v1/fleets").addSuccess(Schema.Array(FleetView))
  )
  .add(
    /** Ends the fleet's credential and those of all its agents; open streams end with it. Enrolling again gives new ones. */
    HttpApiEndpoint.post("revokeCredentials", "/v1/fleets/:fleetId/revoke-credentials")
      .setPath(oneFleet).setPayload(Nothing).addSuccess(FleetView).addError(NotFound)
  )
  .add(
    /** UUID, Matrix user, rooms and histories stay; the display name follows. */
    HttpApiEndpoint.post("renameAgent", "/v1/agents/:agentId/rename")
      .setPath(oneAgent)
      .setPayload(Schema.Struct({ name: RegisteredName }))
      .addSuccess(AgentView).addError(NotFound).addError(NameTaken).addError(AgentRetired)
  )
  .add(
    HttpApiEndpoint.post("setPermissions", "/v1/agents/:agentId/permissions")
      .setPath(oneAgent)
      .setPayload(Schema.Struct({ mayInviteAgents: Schema.Boolean }))
      .addSuccess(AgentView).addError(NotFound).addError(AgentRetired)
  )
  .add(
    /** For ever: the credential ends, the agent leaves its rooms; its identity and name stay its own. */
    HttpApiEndpoint.post("retireAgent", "/v1/agents/:agentId/retire")
      .setPath(oneAgent).setPayload(Nothing).addSuccess(AgentView).addError(NotFound).addError(AgentRetired)
  )
  .add(
    /** fleetd gives it a new one with `fleet credentials rotate`. */
    HttpApiEndpoint.post("revokeAgentCredential", "/v1/agents/:agentId/revoke-credential")
      .setPath(oneAgent).setPayload(Nothing).addSuccess(AgentView).addError(NotFound).addError(AgentRetired)
  )
  .addError(ServerBusy)
  .middleware(PersonAuthorization)
  .annotate(Surface, "people")
  .annotate(Bounds, peopleBounds)

export const RequestState = Schema.Literal("pending", "approved", "introduced", "rejected", "expired")

/** A filed enrollment without its code: whoever approves reads the code where `fleet enroll` runs. */
export const RequestView = Schema.Struct({
  enrollmentId: EnrollmentId,
  owner: UserId,
  fleetKey: FleetKey,
  names: Schema.Array(RegisteredName),
  state: RequestState,
  createdAtMillis: Schema.Number,
  expiresAtMillis: Schema.Number
})
export type RequestView = typeof RequestView.Type

export const RequestDetail = Schema.Struct({
  ...RequestView.fields,
  roster: Roster,
  /** The agents that this fleet has already, by key: an entry with another name renames, one that is not named stays. */
  existing: Schema.Array(Schema.Struct({ key: InstanceKey, name: RegisteredName })),
  /** Approving is the owner's alone; rejecting is also an administrator's. */
  mayApprove: Schema.Boolean
})
export type RequestDetail = typeof RequestDetail.Type

const oneRequest = Schema.Struct({ enrollmentId: EnrollmentId })

export const requests = HttpApiGroup.make("requests")
  .add(
    /** Those that wait: one's own; for administrators all. Oldest first, at most 200. */
    HttpApiEndpoint.get("list", "/v1/requests").addSuccess(Schema.Array(RequestView))
  )
  .add(
    /** Reads only, whatever the address carries. */
    HttpApiEndpoint.get("detail", "/v1/requests/:enrollmentId")
      .setPath(oneRequest).addSuccess(RequestDetail).addError(NotFound)
  )
  .add(
    HttpApiEndpoint.post("approve", "/v1/requests/:enrollmentId/approve")
      .setPath(oneRequest)
      .setPayload(Schema.Struct({
        /** As `fleet enroll` shows it; capitals, hyphen and look-alikes do not matter. */
        code: Schema.String.pipe(Schema.maxLength(40))
      }))
      .addSuccess(RequestView)
      .addError(NotFound).addError(NotAllowed).addError(CodeWrong).addError(AlreadySettled).addError(TooManyAttempts)
  )
  .add(
    HttpApiEndpoint.post("reject", "/v1/requests/:enrollmentId/reject")
      .setPath(oneRequest).setPayload(Nothing).addSuccess(RequestView).addError(NotFound).addError(AlreadySettled)
  )
  .addError(ServerBusy)
  .middleware(PersonAuthorization)
  .annotate(Surface, "people")
  .annotate(Bounds, peopleBounds)
