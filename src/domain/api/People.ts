// The part of crossfire's contract about people themselves: signing in, sessions, who is known, invitations, signup.
// Browsers use it with a session's cookie; identity comes from the cookie alone.
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import { Context, Schema } from "effect"
import { PersonRole } from "../Actor.ts"
import { UserId } from "../Ids.ts"
import { LinkSecret, sessionCookie, SessionId } from "../Session.ts"
import { maxInvitationMillis, minInvitationMillis, SignupPolicy } from "../Signup.ts"
import { AlreadySettled, LastAdministrator, OriginRefused, SignInRefused, TooMany } from "./AccessErrors.ts"
import { HomeserverDown, NotAllowed, NotFound, ServerBusy, TooManyAttempts, Unauthorized } from "./CrossfireErrors.ts"
import { Bounds, peopleBounds, signInBounds, Surface } from "./Doors.ts"

/** The person who asks, proven by a session's cookie. */
export class PersonPrincipal extends Context.Tag("crossfire/domain/api/People/PersonPrincipal")<
  PersonPrincipal,
  { readonly userId: UserId; readonly role: PersonRole; readonly sessionId: SessionId }
>() {}

/** Every request that changes something carries the session's secret for this in a header, too. */
export const csrfHeader = "x-crossfire-csrf"

export class PersonAuthorization extends HttpApiMiddleware.Tag<PersonAuthorization>()("PersonAuthorization", {
  failure: Schema.Union(Unauthorized, OriginRefused, TooManyAttempts, ServerBusy),
  provides: PersonPrincipal,
  security: { session: HttpApiSecurity.apiKey({ in: "cookie", key: sessionCookie }) }
}) {}

export const SessionView = Schema.Struct({
  userId: UserId,
  role: PersonRole,
  sessionId: SessionId,
  /** For the header of `csrfHeader`. */
  csrf: Schema.String,
  serverName: Schema.String,
  bot: UserId,
  endsAtMillis: Schema.Number
})
export type SessionView = typeof SessionView.Type

export const ListedSession = Schema.Struct({
  sessionId: SessionId,
  /** As the browser described itself when it signed in: a hint, nothing proven. */
  browser: Schema.String,
  signedInAtMillis: Schema.Number,
  seenAtMillis: Schema.Number,
  endsAtMillis: Schema.Number,
  current: Schema.Boolean
})
export type ListedSession = typeof ListedSession.Type

/** What a person types: `alice` or `@alice:example.org`. Anything is answered alike. */
const TypedUser = Schema.String.pipe(Schema.maxLength(300))
const Nothing = Schema.Struct({})
const Done = Schema.Struct({ done: Schema.Literal(true) })

export const signIn = HttpApiGroup.make("signIn")
  .add(
    /**
     * Asks for a link. The bot sends it to this person, if there is one who may sign in; the answer is the same in any
     * case. The asking browser gets a cookie, without which the link is good for nothing.
     */
    HttpApiEndpoint.post("ask", "/v1/sign-in/ask")
      .setPayload(Schema.Struct({ user: TypedUser }))
      .addSuccess(Schema.Struct({ bot: UserId, linkLastsMillis: Schema.Int }))
      .addError(ServerBusy)
  )
  .add(
    /** Uses the link: once, in the browser that asked, within its time. Sets the session's cookie. */
    HttpApiEndpoint.post("complete", "/v1/sign-in/complete")
      .setPayload(Schema.Struct({ link: LinkSecret }))
      .addSuccess(SessionView)
      .addError(SignInRefused).addError(ServerBusy)
  )
  .addError(OriginRefused).addError(TooManyAttempts)
  .annotate(Surface, "people")
  .annotate(Bounds, signInBounds)

export const session = HttpApiGroup.make("session")
  .add(HttpApiEndpoint.get("current", "/v1/session").addSuccess(SessionView))
  .add(HttpApiEndpoint.get("list", "/v1/sessions").addSuccess(Schema.Array(ListedSession)))
  .add(
    /** One of one's own; the current one too. */
    HttpApiEndpoint.post("revoke", "/v1/sessions/:sessionId/revoke")
      .setPath(Schema.Struct({ sessionId: SessionId }))
      .setPayload(Nothing).addSuccess(Done).addError(NotFound)
  )
  .add(
    HttpApiEndpoint.post("revokeOthers", "/v1/sessions/revoke-others")
      .setPayload(Nothing).addSuccess(Schema.Struct({ ended: Schema.Int }))
  )
  .add(HttpApiEndpoint.post("signOut", "/v1/sign-out").setPayload(Nothing).addSuccess(Done))
  .middleware(PersonAuthorization)
  .annotate(Surface, "people")
  .annotate(Bounds, peopleBounds)

export const PersonView = Schema.Struct({
  userId: UserId,
  role: PersonRole,
  active: Schema.Boolean,
  /** Null: the operator. The person's own ID: they came by signing in. */
  addedBy: Schema.NullOr(UserId),
  addedAtMillis: Schema.Number,
  sessions: Schema.Int,
  agents: Schema.Int
})
export type PersonView = typeof PersonView.Type

/**
 * A user ID as one segment of a path, where it may hold a slash or a question mark. A client writes it encoded; the server's
 * router has decoded it already when it comes to be read.
 */
const UserIdSegment = Schema.transform(Schema.String, UserId, {
  strict: true,
  decode: (segment) => segment,
  encode: (userId) => encodeURIComponent(userId)
})

const onePerson = Schema.Struct({ userId: UserIdSegment })

/** For administrators. Whoever is concerned loses every session with a change of role and with deactivation. */
export const people = HttpApiGroup.make("people")
  .add(HttpApiEndpoint.get("list", "/v1/people").addSuccess(Schema.Array(PersonView)).addError(NotAllowed))
  .add(
    /** Makes somebody of this homeserver known before they first come; the account itself is the homeserver's. */
    HttpApiEndpoint.post("add", "/v1/people")
      .setPayload(Schema.Struct({ userId: UserId, role: PersonRole }))
      .addSuccess(PersonView).addError(NotAllowed).addError(AlreadySettled)
  )
  .add(
    HttpApiEndpoint.post("setRole", "/v1/people/:userId/role")
      .setPath(onePerson)
      .setPayload(Schema.Struct({ role: PersonRole }))
      .addSuccess(PersonView).addError(NotAllowed).addError(NotFound).addError(LastAdministrator)
  )
  .add(
    /** Ends sessions and the right to wake agents. Their agents stay as they are; an administrator can retire them. */
    HttpApiEndpoint.post("deactivate", "/v1/people/:userId/deactivate")
      .setPath(onePerson)
      .setPayload(Nothing)
      .addSuccess(PersonView).addError(NotAllowed).addError(NotFound).addError(LastAdministrator)
  )
  .add(
    HttpApiEndpoint.post("reactivate", "/v1/people/:userId/reactivate")
      .setPath(onePerson)
      .setPayload(Nothing)
      .addSuccess(PersonView).addError(NotAllowed).addError(NotFound)
  )
  .middleware(PersonAuthorization)
  .annotate(Surface, "people")
  .annotate(Bounds, peopleBounds)

export const InvitationId = Schema.UUID.pipe(Schema.brand("InvitationId"))
export type InvitationId = typeof InvitationId.Type

export const InvitationView = Schema.Struct({
  invitationId: InvitationId,
  /** Null: the operator. */
  madeBy: Schema.NullOr(UserId),
  note: Schema.String,
  state: Schema.Literal("open", "used", "revoked", "expired"),
  createdAtMillis: Schema.Number,
  expiresAtMillis: Schema.Number
})
export type InvitationView = typeof InvitationView.Type

/** The token is shown this once; the homeserver alone keeps it. */
export const NewInvitation = Schema.Struct({
  invitation: InvitationView,
  token: Schema.String,
  homeserverUrl: Schema.String,
  elementUrl: Schema.String
})
export type NewInvitation = typeof NewInvitation.Type

export const invitations = HttpApiGroup.make("invitations")
  .add(
    /** One's own; for administrators all. Newest first, at most 200. */
    HttpApiEndpoint.get("list", "/v1/invitations").addSuccess(Schema.Array(InvitationView)).addError(NotAllowed)
  )
  .add(
    HttpApiEndpoint.post("make", "/v1/invitations")
      .setPayload(Schema.Struct({
        /** For oneself: who it is for. */
        note: Schema.String.pipe(Schema.maxLength(200)),
        lastsMillis: Schema.Int.pipe(Schema.between(minInvitationMillis, maxInvitationMillis))
      }))
      .addSuccess(NewInvitation).addError(NotAllowed).addError(TooMany).addError(HomeserverDown)
  )
  .add(
    HttpApiEndpoint.post("revoke", "/v1/invitations/:invitationId/revoke")
      .setPath(Schema.Struct({ invitationId: InvitationId }))
      .setPayload(Nothing)
      .addSuccess(InvitationView).addError(NotAllowed).addError(NotFound).addError(AlreadySettled)
      .addError(HomeserverDown)
  )
  .middleware(PersonAuthorization)
  .annotate(Surface, "people")
  .annotate(Bounds, peopleBounds)

export const SignupView = Schema.Struct({
  policy: SignupPolicy,
  homeserver: Schema.Literal("managed", "own"),
  homeserverUrl: Schema.String,
  elementUrl: Schema.String,
  mayInvite: Schema.Boolean,
  mayChange: Schema.Boolean,
  /** For a homeserver of your own: what its administrator does so that the policy holds there. */
  steps: Schema.NullOr(Schema.String)
})
export type SignupView = typeof SignupView.Type

export const signup = HttpApiGroup.make("signup")
  .add(HttpApiEndpoint.get("get", "/v1/signup").addSuccess(SignupView))
  .add(
    /** A managed homeserver is started anew with it: people's clients reconnect by themselves within seconds. */
    HttpApiEndpoint.post("set", "/v1/signup")
      .setPayload(Schema.Struct({ policy: SignupPolicy }))
      .addSuccess(SignupView).addError(NotAllowed).addError(HomeserverDown)
  )
  .middleware(PersonAuthorization)
  .annotate(Surface, "people")
  .annotate(Bounds, peopleBounds)

/**
 * `GET /v1/changes` (a session's cookie) is a stream of server-sent events, outside of the declared groups: each `data:` is
 * one `Change`, saying what to ask for again; a comment line comes at least every 15 s. It ends with the session.
 */
export const changesPath = "/v1/changes"
export const ChangeTopic = Schema.Literal("fleets", "requests", "people", "invitations", "signup", "sessions")
export type ChangeTopic = typeof ChangeTopic.Type
export const Change = Schema.parseJson(Schema.Struct({ topic: ChangeTopic }))
