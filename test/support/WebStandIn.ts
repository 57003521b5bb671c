// Stands in for crossfire before the web pages: the contract for people with its state in memory, over the real pages'
// routes. What it holds and how it fails is set by the test.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import type { Default as HttpApp } from "@effect/platform/HttpApp"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Context, Effect, Layer, PubSub, Redacted, Schema, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { Actor, type PersonRole } from "../../src/domain/Actor.ts"
import {
  AgentRetired,
  AlreadySettled,
  CodeWrong,
  LastAdministrator,
  NameTaken,
  OriginRefused,
  SignInRefused
} from "../../src/domain/api/AccessErrors.ts"
import { NotAllowed, NotFound, Unauthorized } from "../../src/domain/api/CrossfireErrors.ts"
import type { AgentView, FleetView, RequestDetail } from "../../src/domain/api/Management.ts"
import {
  Change,
  changesPath,
  type ChangeTopic,
  csrfHeader,
  InvitationId,
  type InvitationView,
  type ListedSession,
  PersonAuthorization,
  PersonPrincipal,
  type PersonView,
  type SignupView
} from "../../src/domain/api/People.ts"
import { PeopleApi } from "../../src/domain/api/PeopleApi.ts"
import { type AgentId, type EnrollmentId, UserId } from "../../src/domain/Ids.ts"
import { nameSkeleton } from "../../src/domain/Roster.ts"
import { askingCookie, LinkSecret, sessionCookie, type SessionId } from "../../src/domain/Session.ts"
import { mayInvitePeople } from "../../src/domain/Signup.ts"
import * as WebPages from "../../src/programs/crossfire/WebPages.ts"

export const bot = UserId.make("@cf-bot:example.org")
export const goodLink = LinkSecret.make("L".repeat(43))
export const goodCode = "4F7K-9QXM"
const csrf = "the-secret-of-this-session"
export const nowMillis = (): number => performance.timeOrigin + performance.now()
export const hourMillis = 60 * 60 * 1000

export interface StandInState {
  me: UserId
  role: PersonRole
  sessionId: SessionId
  /** Cookies that are taken. */
  cookies: Set<string>
  fleets: Array<FleetView>
  requests: Array<RequestDetail>
  people: Array<PersonView>
  invitations: Array<InvitationView>
  sessions: Array<ListedSession>
  signup: SignupView
  token: string
  /** Fails the next calls of `group.endpoint` with this answer. */
  fails: Map<string, { readonly status: number; readonly body: string }>
  /** Every call that changes something, in order. */
  changed: Array<string>
  asked: Array<string>
}

export class StandIn extends Context.Tag("crossfire/test/support/WebStandIn/StandIn")<StandIn, {
  readonly state: StandInState
  readonly publish: (topic: ChangeTopic) => Effect.Effect<void>
  /** Ends the streams that are open; new ones are refused until it is called with false. */
  readonly cutStreams: (refused: boolean) => Effect.Effect<void>
}>() {}

class Streams extends Context.Tag("crossfire/test/support/WebStandIn/Streams")<Streams, {
  readonly topics: PubSub.PubSub<ChangeTopic | null>
  readonly refused: () => boolean
}>() {}

const cookieOptions = { path: "/", sameSite: "strict" } as const
const session = HttpApiSecurity.apiKey({ in: "cookie", key: sessionCookie })
const asking = HttpApiSecurity.apiKey({ in: "cookie", key: askingCookie })

const authorization = Layer.effect(
  PersonAuthorization,
  Effect.map(StandIn, ({ state }) =>
    PersonAuthorization.of({
      session: (cookie) =>
        Effect.gen(function*() {
          if (!state.cookies.has(Redacted.value(cookie))) return yield* new Unauthorized()
          const { headers, method } = yield* HttpServerRequest.HttpServerRequest
          if (method !== "GET" && headers[csrfHeader] !== csrf) return yield* new OriginRefused({ problem: "no-proof" })
          return PersonPrincipal.of({ userId: state.me, role: state.role, sessionId: state.sessionId })
        })
    }))
)

const sessionView = (state: StandInState) => ({
  userId: state.me,
  role: state.role,
  sessionId: state.sessionId,
  csrf,
  serverName: "example.org",
  bot,
  endsAtMillis: nowMillis() + 200 * hourMillis
})

const signInGroup = HttpApiBuilder.group(PeopleApi, "signIn", (handlers) =>
  Effect.map(StandIn, ({ state }) =>
    handlers
      .handle("ask", ({ payload }) =>
        Effect.gen(function*() {
          state.asked.push(payload.user)
          yield* HttpApiBuilder.securitySetCookie(asking, "asked", cookieOptions)
          return { bot, linkLastsMillis: 300_000 }
        }))
      .handle("complete", ({ payload }) =>
        Effect.gen(function*() {
          const { cookies } = yield* HttpServerRequest.HttpServerRequest
          state.changed.push("signIn.complete")
          if (cookies[askingCookie] !== "asked") return yield* new SignInRefused({ problem: "another-browser" })
          if (payload.link !== goodLink) return yield* new SignInRefused({ problem: "over" })
          const cookie = randomUUID()
          state.cookies.add(cookie)
          yield* HttpApiBuilder.securitySetCookie(session, cookie, cookieOptions)
          return sessionView(state)
        }))))

const done = { done: true } as const

const sessionGroup = HttpApiBuilder.group(
  PeopleApi,
  "session",
  (handlers) =>
    Effect.map(StandIn, ({ state }) =>
      handlers
        .handle("current", () => Effect.succeed(sessionView(state)))
        .handle("list", () => Effect.succeed(state.sessions))
        .handle("revoke", ({ path }) =>
          Effect.gen(function*() {
            state.changed.push("session.revoke")
            if (!state.sessions.some(({ sessionId }) => sessionId === path.sessionId)) {
              return yield* new NotFound({ what: "session" })
            }
            if (path.sessionId === state.sessionId) state.cookies.clear()
            state.sessions = state.sessions.filter(({ sessionId }) => sessionId !== path.sessionId)
            return done
          }))
        .handle("revokeOthers", () =>
          Effect.sync(() => {
            const before = state.sessions.length
            state.sessions = state.sessions.filter(({ current }) => current)
            return { ended: before - state.sessions.length }
          }))
        .handle("signOut", () =>
          Effect.sync(() => {
            state.cookies.clear()
            return done
          })))
).pipe(Layer.provide(authorization))

const administrator = (state: StandInState) =>
  state.role === "administrator"
    ? Effect.void
    : new NotAllowed({ reason: "This is for administrators" })

const peopleGroup = HttpApiBuilder.group(PeopleApi, "people", (handlers) =>
  Effect.map(StandIn, ({ state }) => {
    const change = (userId: UserId, changed: Partial<PersonView>) =>
      Effect.gen(function*() {
        yield* administrator(state)
        const person = state.people.find((one) => one.userId === userId)
        if (person === undefined) return yield* new NotFound({ what: "person" })
        const others = state.people.filter((one) => one !== person && one.role === "administrator" && one.active)
        const next = { ...person, ...changed }
        if (others.length === 0 && (next.role !== "administrator" || !next.active)) {
          return yield* new LastAdministrator()
        }
        state.people = state.people.map((one) => one === person ? next : one)
        return next
      })
    return handlers
      .handle("list", () => Effect.as(administrator(state), state.people))
      .handle("add", ({ payload }) =>
        Effect.gen(function*() {
          yield* administrator(state)
          if (state.people.some(({ userId }) => userId === payload.userId)) {
            return yield* new AlreadySettled({ what: "person", state: "known" })
          }
          const person: PersonView = {
            ...payload,
            active: true,
            addedBy: state.me,
            addedAtMillis: nowMillis(),
            sessions: 0,
            agents: 0
          }
          state.people.push(person)
          return person
        }))
      .handle("setRole", ({ path, payload }) => change(path.userId, payload))
      .handle("deactivate", ({ path }) =>
        Effect.catchTag(change(path.userId, { active: false }), "LastAdministrator", (error) => error))
      .handle("reactivate", ({ path }) =>
        Effect.catchTag(change(path.userId, { active: true }), "LastAdministrator", Effect.die))
  })).pipe(Layer.provide(authorization))

const invitationsGroup = HttpApiBuilder.group(
  PeopleApi,
  "invitations",
  (handlers) =>
    Effect.map(StandIn, ({ state }) =>
      handlers
        .handle("list", () => Effect.succeed(state.invitations))
        .handle("make", ({ payload }) =>
          Effect.sync(() => {
            state.changed.push("invitations.make")
            const invitation: InvitationView = {
              invitationId: InvitationId.make(randomUUID()),
              madeBy: state.me,
              note: payload.note,
              state: "open",
              createdAtMillis: nowMillis(),
              expiresAtMillis: nowMillis() + payload.lastsMillis
            }
            state.invitations = [invitation, ...state.invitations]
            const { elementUrl, homeserverUrl } = state.signup
            return { invitation, token: state.token, homeserverUrl, elementUrl }
          }))
        .handle("revoke", ({ path }) =>
          Effect.gen(function*() {
            const found = state.invitations.find(({ invitationId }) => invitationId === path.invitationId)
            if (found === undefined) return yield* new NotFound({ what: "invitation" })
            if (found.state !== "open") return yield* new AlreadySettled({ what: "invitation", state: found.state })
            const revoked = { ...found, state: "revoked" as const }
            state.invitations = state.invitations.map((one) => one === found ? revoked : one)
            return revoked
          })))
).pipe(Layer.provide(authorization))

const signupGroup = HttpApiBuilder.group(PeopleApi, "signup", (handlers) =>
  Effect.map(StandIn, ({ state }) => {
    const view = () => {
      const actor = Actor.Person({ userId: state.me, role: state.role })
      return {
        ...state.signup,
        mayInvite: mayInvitePeople(actor, state.signup.policy),
        mayChange: state.role === "administrator"
      }
    }
    return handlers
      .handle("get", () => Effect.sync(view))
      .handle("set", ({ payload }) =>
        Effect.map(administrator(state), () => {
          state.signup = { ...state.signup, policy: payload.policy }
          return view()
        }))
  })).pipe(Layer.provide(authorization))

const fleetsGroup = HttpApiBuilder.group(PeopleApi, "fleets", (handlers) =>
  Effect.map(StandIn, ({ state }) => {
    const change = (agentId: AgentId, changed: Partial<AgentView>) =>
      Effect.gen(function*() {
        const agents = state.fleets.flatMap((fleet) => fleet.agents)
        const agent = agents.find((one) => one.agentId === agentId)
        if (agent === undefined) return yield* new NotFound({ what: "agent" })
        if (agent.standing === "retired") return yield* new AgentRetired({ name: agent.name })
        const like = agents.find((one) =>
          one !== agent && changed.name !== undefined && nameSkeleton(one.name) === nameSkeleton(changed.name)
        )
        if (like !== undefined) return yield* new NameTaken({ name: changed.name ?? "", like: like.name })
        const next = { ...agent, ...changed }
        state.changed.push(`fleets.change ${agent.name}`)
        state.fleets = state.fleets.map((fleet) => ({
          ...fleet,
          agents: fleet.agents.map((one) => one === agent ? next : one)
        }))
        return next
      })
    return handlers
      .handle("list", () => Effect.succeed(state.fleets))
      .handle("revokeCredentials", ({ path }) =>
        Effect.gen(function*() {
          const fleet = state.fleets.find(({ fleetId }) => fleetId === path.fleetId)
          if (fleet === undefined) return yield* new NotFound({ what: "fleet" })
          const next = { ...fleet, credential: "revoked" as const, controller: null }
          state.fleets = state.fleets.map((one) => one === fleet ? next : one)
          return next
        }))
      .handle("renameAgent", ({ path, payload }) => change(path.agentId, { name: payload.name }))
      .handle("setPermissions", ({ path, payload }) =>
        Effect.catchTag(change(path.agentId, payload), "NameTaken", Effect.die))
      .handle("retireAgent", ({ path }) =>
        Effect.catchTag(change(path.agentId, { standing: "retired", credential: "revoked" }), "NameTaken", Effect.die))
      .handle("revokeAgentCredential", ({ path }) =>
        Effect.catchTag(change(path.agentId, { credential: "revoked" }), "NameTaken", Effect.die))
  })).pipe(Layer.provide(authorization))

const requestsGroup = HttpApiBuilder.group(PeopleApi, "requests", (handlers) =>
  Effect.map(StandIn, ({ state }) => {
    const find = (enrollmentId: EnrollmentId) =>
      Effect.suspend(() => {
        const found = state.requests.find((one) => one.enrollmentId === enrollmentId)
        return found === undefined ? new NotFound({ what: "request" }) : Effect.succeed(found)
      })
    const settle = (request: RequestDetail, to: RequestDetail["state"]) =>
      Effect.sync(() => {
        const next = { ...request, state: to }
        state.changed.push(`requests.${to}`)
        state.requests = state.requests.map((one) => one === request ? next : one)
        return next
      })
    return handlers
      .handle("list", () => Effect.sync(() => state.requests.filter((one) => one.state === "pending")))
      .handle("detail", ({ path }) => find(path.enrollmentId))
      .handle("approve", ({ path, payload }) =>
        Effect.gen(function*() {
          const request = yield* find(path.enrollmentId)
          if (!request.mayApprove) return yield* new NotAllowed({ reason: "Only the owner approves" })
          if (request.state !== "pending") return yield* new AlreadySettled({ what: "request", state: request.state })
          if (payload.code.toUpperCase() !== goodCode) return yield* new CodeWrong()
          return yield* settle(request, "approved")
        }))
      .handle("reject", ({ path }) => Effect.flatMap(find(path.enrollmentId), (request) => settle(request, "rejected")))
  })).pipe(Layer.provide(authorization))

const encodeChange = Schema.encodeSync(Change)

const changesRoute = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function*() {
    const { state } = yield* StandIn
    const { refused, topics } = yield* Streams
    yield* router.get(
      changesPath,
      Effect.gen(function*() {
        const { cookies } = yield* HttpServerRequest.HttpServerRequest
        if (!state.cookies.has(cookies[sessionCookie] ?? "")) return HttpServerResponse.empty({ status: 401 })
        if (refused()) return HttpServerResponse.empty({ status: 503 })
        const changes = Stream.fromPubSub(topics).pipe(
          Stream.takeWhile((topic) => topic !== null),
          Stream.filter((topic) => topic !== null),
          Stream.map((topic) => `data: ${encodeChange({ topic })}\n\n`)
        )
        return HttpServerResponse.stream(Stream.encodeText(Stream.concat(Stream.succeed(": open\n\n"), changes)), {
          contentType: "text/event-stream",
          headers: { "cache-control": "no-store" }
        })
      })
    )
  })
)

/** Answers the next request of this method and path with what the test set, and nothing is done. */
const failing = HttpApiBuilder.middleware(Effect.map(StandIn, ({ state }) => (app: HttpApp) =>
  Effect.gen(function*() {
    const { method, url } = yield* HttpServerRequest.HttpServerRequest
    const failure = state.fails.get(`${method} ${url}`)
    if (failure === undefined) return yield* app
    state.fails.delete(`${method} ${url}`)
    return HttpServerResponse.text(failure.body, { status: failure.status, contentType: "application/json" })
  })))

/** Serves it on a free port of loopback until the scope closes; answers with its address. */
export const serve = (state: StandInState) =>
  Effect.gen(function*() {
    const topics = yield* PubSub.unbounded<ChangeTopic | null>()
    let refusing = false
    const standIn = StandIn.of({
      state,
      publish: (topic) => Effect.asVoid(PubSub.publish(topics, topic)),
      cutStreams: (refused) => {
        refusing = refused
        return Effect.asVoid(PubSub.publish(topics, null))
      }
    })
    const api = HttpApiBuilder.api(PeopleApi).pipe(
      Layer.provide(signInGroup),
      Layer.provide(sessionGroup),
      Layer.provide(peopleGroup),
      Layer.provide(invitationsGroup),
      Layer.provide(signupGroup),
      Layer.provide(fleetsGroup),
      Layer.provide(requestsGroup)
    )
    const context = yield* Layer.build(
      HttpApiBuilder.serve().pipe(
        Layer.provide([api, changesRoute, failing, WebPages.routes(WebPages.builtFolder)]),
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
        Layer.provide(Layer.succeed(StandIn, standIn)),
        Layer.provide(Layer.succeed(Streams, { topics, refused: () => refusing }))
      )
    )
    const { address } = Context.get(context, HttpServer.HttpServer)
    if (address._tag !== "TcpAddress") return yield* Effect.dieMessage("no port")
    return { ...standIn, origin: `http://127.0.0.1:${address.port}` }
  })
