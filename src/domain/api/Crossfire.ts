// crossfire's HTTP contract: here what programs use (enrollment by claim, the lease, levels, pages, acknowledgments,
// sending), in People.ts and Management.ts what people use. Declarations only; handlers and clients are derived from it.
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import { Context, Schema } from "effect"
import { Cursor } from "../Cursor.ts"
import {
  AgentId,
  DeliveryId,
  EnrollmentId,
  EventId,
  FleetId,
  Generation,
  Incarnation,
  OperationId,
  RoomId,
  StreamToken,
  UserId
} from "../Ids.ts"
import { Level, RoomRecord } from "../Level.ts"
import { InstanceKey, RegisteredName, Roster } from "../Roster.ts"
import { AnswerTooSlow, BodyTooLarge, HostUnknown, MediaTypeRefused, OriginRefused } from "./AccessErrors.ts"
import {
  CredentialMisplaced,
  EnrollmentNotReady,
  HomeserverDown,
  LeaseHeld,
  MessageRefused,
  NotAllowed,
  NotFound,
  PageUnusable,
  RosterRejected,
  ServerBusy,
  StaleGeneration,
  TooManyAttempts,
  Unauthorized
} from "./CrossfireErrors.ts"
import { Bounds, enrollmentBounds, enrollmentWriteBounds, programBounds, Surface } from "./Doors.ts"
import { PeopleApi } from "./PeopleApi.ts"

/** SHA-256 in hex of a secret that only its holder has. */
export const SecretHash = Schema.String.pipe(
  Schema.pattern(/^[0-9a-f]{64}$/u, { message: () => "a SHA-256 takes 64 hexadecimal digits" }),
  Schema.brand("SecretHash")
)
export type SecretHash = typeof SecretHash.Type

/** 32 random bytes in base64url; saved by fleetd before it is first sent, so that a retry is the same request. */
export const ClaimSecret = Schema.String.pipe(
  // The message names no value: what was sent in its place may be a secret too.
  Schema.pattern(/^[A-Za-z0-9_-]{43}$/u, { message: () => "a claim takes 32 bytes in base64url" }),
  Schema.brand("ClaimSecret")
)
export type ClaimSecret = typeof ClaimSecret.Type

export class FleetPrincipal extends Context.Tag("crossfire/domain/api/Crossfire/FleetPrincipal")<
  FleetPrincipal,
  { readonly fleetId: FleetId; readonly owner: UserId }
>() {}

export class AgentPrincipal extends Context.Tag("crossfire/domain/api/Crossfire/AgentPrincipal")<
  AgentPrincipal,
  { readonly agentId: AgentId; readonly fleetId: FleetId; readonly owner: UserId; readonly userId: UserId }
>() {}

/** The bearer token of a fleet. Identity comes from it alone. */
export class FleetAuthorization extends HttpApiMiddleware.Tag<FleetAuthorization>()("FleetAuthorization", {
  failure: Schema.Union(Unauthorized, TooManyAttempts, ServerBusy),
  provides: FleetPrincipal,
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** The bearer token of one agent. No payload names an agent. */
export class AgentAuthorization extends HttpApiMiddleware.Tag<AgentAuthorization>()("AgentAuthorization", {
  failure: Schema.Union(Unauthorized, TooManyAttempts, ServerBusy),
  provides: AgentPrincipal,
  security: { bearer: HttpApiSecurity.bearer }
}) {}

export const EnrollmentView = Schema.Struct({
  enrollmentId: EnrollmentId,
  state: Schema.Literal("pending", "approved", "introduced", "rejected", "expired"),
  /** What the owner sends to the bot; shown only while it can be used. */
  code: Schema.NullOr(Schema.String),
  bot: UserId,
  /** The page where the owner reviews and decides, as the bot does in the chat. */
  reviewUrl: Schema.String,
  expiresAtMillis: Schema.Number
})
export type EnrollmentView = typeof EnrollmentView.Type

export const IntroducedAgent = Schema.Struct({
  agentId: AgentId,
  key: InstanceKey,
  name: RegisteredName,
  userId: UserId
})

export const Introduction = Schema.Struct({ fleetId: FleetId, agents: Schema.Array(IntroducedAgent) })
export type Introduction = typeof Introduction.Type

const enrollment = HttpApiGroup.make("enrollment")
  .add(
    /** Checks names and capacity; reserves nothing. */
    HttpApiEndpoint.post("preflight", "/v1/enrollments/preflight")
      .setPayload(Schema.Struct({ roster: Roster }))
      .addSuccess(Schema.Struct({ ok: Schema.Literal(true) }))
      .addError(RosterRejected).addError(ServerBusy).addError(TooManyAttempts)
  )
  .add(
    /** Files the request. The same claim again gives the same enrollment, whatever happened in between. */
    HttpApiEndpoint.post("submit", "/v1/enrollments")
      .setPayload(Schema.Struct({ claim: ClaimSecret, roster: Roster }))
      .addSuccess(EnrollmentView)
      .addError(RosterRejected).addError(NotAllowed).addError(ServerBusy).addError(TooManyAttempts)
      .annotate(Bounds, enrollmentWriteBounds)
  )
  .add(
    HttpApiEndpoint.post("state", "/v1/enrollments/state")
      .setPayload(Schema.Struct({ claim: ClaimSecret }))
      .addSuccess(EnrollmentView)
      .addError(NotFound).addError(ServerBusy).addError(TooManyAttempts)
  )
  .add(
    /**
     * Claims the whole roster after approval: identities and credentials, all or nothing. fleetd made the tokens and
     * saved them with the claim; only their hashes come here. The same claim again gives the same result.
     */
    HttpApiEndpoint.post("introduce", "/v1/enrollments/introduce")
      .setPayload(Schema.Struct({
        claim: ClaimSecret,
        fleetToken: SecretHash,
        agentTokens: Schema.Array(Schema.Struct({ key: InstanceKey, token: SecretHash }))
      }))
      .addSuccess(Introduction)
      .addError(RosterRejected).addError(EnrollmentNotReady).addError(NotFound).addError(NotAllowed)
      .addError(HomeserverDown).addError(ServerBusy).addError(TooManyAttempts)
      .annotate(Bounds, enrollmentWriteBounds)
  )
  .annotate(Surface, "programs")
  .annotate(Bounds, enrollmentBounds)

/** The lease that a write was made under. A stale one changes nothing. */
export const LeaseHeaders = Schema.Struct({
  "x-crossfire-generation": Schema.NumberFromString.pipe(Schema.compose(Generation)),
  "x-crossfire-incarnation": Incarnation
})

export const LeaseGrant = Schema.Struct({
  generation: Generation,
  incarnation: Incarnation,
  /** How long the lease lasts from now unless renewed. Measured with a monotonic clock on both sides. */
  lastsMillis: Schema.Int
})
export type LeaseGrant = typeof LeaseGrant.Type

const fleet = HttpApiGroup.make("fleet")
  .add(
    /** Takes the lease under a new generation, when it is free, over, or the same holder's. */
    HttpApiEndpoint.post("acquireLease", "/v1/fleet/lease")
      .setPayload(Schema.Struct({
        /** Random, made once per root folder: the same root takes over its own lease after a crash. */
        root: Schema.UUID,
        /** For people: host and process. */
        holder: Schema.String.pipe(Schema.maxLength(200)),
        takeOver: Schema.Boolean
      }))
      .addSuccess(LeaseGrant)
      .addError(LeaseHeld).addError(ServerBusy)
  )
  .add(
    HttpApiEndpoint.post("renewLease", "/v1/fleet/lease/renew")
      .setHeaders(LeaseHeaders)
      .addSuccess(LeaseGrant)
      .addError(StaleGeneration).addError(ServerBusy)
  )
  .add(
    HttpApiEndpoint.post("releaseLease", "/v1/fleet/lease/release")
      .setHeaders(LeaseHeaders)
      .addSuccess(Schema.Struct({ released: Schema.Boolean }))
      .addError(ServerBusy)
  )
  .add(
    /** A boundary token of now, for one collection of all agents in a tick. */
    HttpApiEndpoint.post("boundary", "/v1/fleet/boundary")
      .setHeaders(LeaseHeaders)
      .addSuccess(Schema.Struct({ boundary: StreamToken }))
      .addError(StaleGeneration).addError(HomeserverDown).addError(ServerBusy)
  )
  .add(
    /** A notice for the owner, sent by the bot to the management DM; once per operation ID. */
    HttpApiEndpoint.post("notice", "/v1/fleet/notices")
      .setHeaders(LeaseHeaders)
      .setPayload(Schema.Struct({ operationId: OperationId, text: Schema.String.pipe(Schema.maxLength(8_000)) }))
      .addSuccess(Schema.Struct({ recorded: Schema.Literal(true) }))
      .addError(StaleGeneration).addError(ServerBusy)
  )
  .add(
    /**
     * Replaces the fleet's credential and those of the agents named, all or none; the former ones end at once. fleetd made
     * the tokens and saved them before: the same request again, under the new credential, gives the same answer.
     */
    HttpApiEndpoint.post("rotateCredentials", "/v1/fleet/credentials")
      .setHeaders(LeaseHeaders)
      .setPayload(Schema.Struct({
        fleetToken: SecretHash,
        agentTokens: Schema.Array(Schema.Struct({ agentId: AgentId, token: SecretHash })).pipe(Schema.maxItems(1_000))
      }))
      .addSuccess(Schema.Struct({ rotated: Schema.Int }))
      .addError(StaleGeneration).addError(NotAllowed).addError(ServerBusy)
  )
  .middleware(FleetAuthorization)
  .annotate(Surface, "programs")
  .annotate(Bounds, programBounds)

export const PagePayload = Schema.Struct({
  roomId: RoomId,
  from: StreamToken,
  to: Schema.NullOr(StreamToken),
  direction: Schema.Literal("forward", "backward"),
  limit: Schema.Int.pipe(Schema.between(1, 1000))
})

export const PageAnswer = Schema.Struct({
  records: Schema.Array(RoomRecord),
  end: Schema.NullOr(StreamToken)
})
export type PageAnswer = typeof PageAnswer.Type

/** What was delivered: the new cursors and every event ID that was given to the agent. Idempotent by delivery ID. */
export const Acknowledgment = Schema.Struct({
  deliveryId: DeliveryId,
  cursors: Schema.Array(Schema.Struct({ roomId: RoomId, cursor: Cursor })),
  delivered: Schema.Array(Schema.Struct({ roomId: RoomId, eventId: EventId })),
  redactionNumber: Schema.Int
})
export type Acknowledgment = typeof Acknowledgment.Type

/** Text of at most this many UTF-8 bytes is taken; what Matrix cannot carry in one event goes as an uploaded file. */
export const maxSendBytes = 1_000_000

export const SendPayload = Schema.Struct({
  operationId: OperationId,
  roomId: RoomId,
  /** Markdown. */
  text: Schema.NonEmptyString,
  replyTo: Schema.NullOr(EventId),
  mentions: Schema.Array(UserId).pipe(Schema.maxItems(50))
})

/** `queued`: recorded and sent as soon as the homeserver takes it; the same operation ID tells how it went. */
export const SendAnswer = Schema.Union(
  Schema.Struct({ status: Schema.Literal("sent"), eventId: EventId }),
  Schema.Struct({ status: Schema.Literal("queued") })
)
export type SendAnswer = typeof SendAnswer.Type

const agent = HttpApiGroup.make("agent")
  .add(
    HttpApiEndpoint.post("page", "/v1/agent/page")
      .setHeaders(LeaseHeaders)
      .setPayload(PagePayload)
      .addSuccess(PageAnswer)
      .addError(StaleGeneration).addError(NotAllowed).addError(HomeserverDown).addError(PageUnusable).addError(
        ServerBusy
      )
  )
  .add(
    /** Closes the wakes of what was delivered. Never refused for authority, only for the generation. */
    HttpApiEndpoint.post("acknowledge", "/v1/agent/acknowledge")
      .setHeaders(LeaseHeaders)
      .setPayload(Acknowledgment)
      .addSuccess(Schema.Struct({ levelNumber: Schema.Int }))
      .addError(StaleGeneration).addError(ServerBusy)
  )
  .add(
    HttpApiEndpoint.post("send", "/v1/agent/send")
      .setHeaders(LeaseHeaders)
      .setPayload(SendPayload)
      .addSuccess(SendAnswer)
      .addError(StaleGeneration).addError(NotAllowed).addError(MessageRefused).addError(ServerBusy)
  )
  .middleware(AgentAuthorization)
  .annotate(Surface, "programs")
  .annotate(Bounds, programBounds)

/** The programs' part: what fleetd's client is derived from. Its groups are those of the whole contract. */
export class ProgramsApi extends HttpApi.make("crossfire")
  .add(enrollment)
  .add(fleet)
  .add(agent)
  .addError(CredentialMisplaced)
  .addError(HostUnknown)
  .addError(OriginRefused)
  .addError(MediaTypeRefused)
  .addError(BodyTooLarge)
  .addError(TooManyAttempts)
  .addError(AnswerTooSlow)
  .annotate(OpenApi.Title, "crossfire")
{}

export class CrossfireApi extends ProgramsApi.addHttpApi(PeopleApi) {}

/**
 * `GET /v1/fleet/levels` (fleet's bearer, lease headers) is a stream of server-sent events, outside of the declared
 * groups: each `data:` is one `Level`; all agents' levels come first, then each again when it changed; a comment line
 * comes at least every 15 s. The stream ends when the lease is over or the token is revoked.
 */
export const levelsPath = "/v1/fleet/levels"
export const LevelEvent = Schema.parseJson(Level)
/** The longest silence on the stream; a client takes twice of it for a dead connection. */
export const levelsHeartbeatMillis = 15_000
