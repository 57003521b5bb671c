// What each route answers to whom, written by hand: one row a route. A route without a row, and a row without a route, fail
// the matrix. The request of a row is about something of alice's own, made anew for every cell.
import { Effect, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import type { LeaseHeld, NotAllowed, RosterRejected, Unauthorized } from "../../../../src/domain/api/CrossfireErrors.ts"
import { hashOf } from "../../../../src/layers/crypto/Secret.ts"
import type { StoreFailed } from "../../../../src/services/Database.ts"
import { alice } from "../../../layers/crossfire/World.ts"
import { hsToken } from "../Crossfire.ts"
import { type DoorWorld, root, secret } from "./DoorWorld.ts"

/**
 * `none`: nothing. `wrong`: well-formed and unknown. `expired`: a session that ended, a token that was replaced. `owner`:
 * alice, a member, who owns what is asked for. `other`: bob, a member. `fleet`, `agent`: alice's. `both`: the owner's cookie with a good bearer.
 */
export type Cell = "none" | "wrong" | "expired" | "owner" | "other" | "administrator" | "fleet" | "agent" | "both"

export interface Subject {
  readonly path: string
  readonly body?: unknown
}

export interface Row {
  readonly route: string
  readonly expected: Readonly<Record<Cell, number>>
  /** About something that does not exist, asked by whoever may most. */
  readonly absent?: number
  readonly make: (
    world: DoorWorld
  ) => Effect.Effect<Subject, Unauthorized | RosterRejected | NotAllowed | LeaseHeld | StoreFailed>
}

const people = (owner: number, other: number, administrator: number) => ({
  none: 401,
  wrong: 401,
  expired: 401,
  fleet: 401,
  agent: 401,
  both: 400,
  owner,
  other,
  administrator
})

const fleets = (fleet: number) => ({
  none: 401,
  wrong: 401,
  expired: 401,
  owner: 401,
  other: 401,
  administrator: 401,
  agent: 401,
  both: 400,
  fleet
})

const agents = (agent: number) => ({ ...fleets(401), agent })

/** Whatever it comes with, but never with two. */
const anybody = (status: number) => ({
  none: status,
  wrong: status,
  expired: status,
  owner: status,
  other: status,
  administrator: status,
  fleet: status,
  agent: status,
  both: 400
})

const at = (path: string, body?: unknown): Row["make"] => () =>
  Effect.succeed(body === undefined ? { path } : { path, body })

const onAgent = (what: string, body: (world: DoorWorld) => unknown = () => ({})): Row["make"] => (world) =>
  Effect.map(world.program(alice), ({ agentId }) => ({ path: `/v1/agents/${agentId}/${what}`, body: body(world) }))

const onPerson = (what: string, body: unknown): Row["make"] => (world) =>
  Effect.map(world.person(), (userId) => ({ path: `/v1/people/${encodeURIComponent(userId)}/${what}`, body }))

const page = (path: string): Row => ({ route: `GET ${path}`, expected: anybody(200), make: at(path) })

const push = (route: string, path: string, body?: unknown): Row => ({
  route,
  expected: anybody(403),
  make: at(path, body)
})

export const rows: ReadonlyArray<Row> = [
  { route: "POST /v1/sign-in/ask", expected: anybody(200), make: at("/v1/sign-in/ask", { user: "alice" }) },
  {
    route: "POST /v1/sign-in/complete",
    expected: anybody(403),
    make: () => Effect.succeed({ path: "/v1/sign-in/complete", body: { link: secret() } })
  },

  { route: "GET /v1/session", expected: people(200, 200, 200), make: at("/v1/session") },
  { route: "GET /v1/sessions", expected: people(200, 200, 200), make: at("/v1/sessions") },
  {
    route: "POST /v1/sessions/:sessionId/revoke",
    expected: people(200, 404, 404),
    absent: 404,
    make: (world) =>
      Effect.map(world.session(alice), ({ sessionId }) => ({ path: `/v1/sessions/${sessionId}/revoke`, body: {} }))
  },
  {
    route: "POST /v1/sessions/revoke-others",
    expected: people(200, 200, 200),
    make: at("/v1/sessions/revoke-others", {})
  },
  { route: "POST /v1/sign-out", expected: people(200, 200, 200), make: at("/v1/sign-out", {}) },

  { route: "GET /v1/people", expected: people(403, 403, 200), make: at("/v1/people") },
  {
    route: "POST /v1/people",
    expected: people(403, 403, 200),
    make: (world) =>
      Effect.succeed({ path: "/v1/people", body: { userId: `@${world.nextName("new")}:cf.test`, role: "member" } })
  },
  {
    route: "POST /v1/people/:userId/role",
    expected: people(403, 403, 200),
    absent: 404,
    make: onPerson("role", { role: "administrator" })
  },
  {
    route: "POST /v1/people/:userId/deactivate",
    expected: people(403, 403, 200),
    absent: 404,
    make: onPerson("deactivate", {})
  },
  {
    route: "POST /v1/people/:userId/reactivate",
    expected: people(403, 403, 200),
    absent: 404,
    make: onPerson("reactivate", {})
  },

  // The policy is `invite`: administrators alone.
  { route: "GET /v1/invitations", expected: people(200, 200, 200), make: at("/v1/invitations") },
  {
    route: "POST /v1/invitations",
    expected: people(403, 403, 200),
    make: at("/v1/invitations", { note: "x", lastsMillis: 3_600_000 })
  },
  {
    route: "POST /v1/invitations/:invitationId/revoke",
    expected: people(404, 404, 200),
    absent: 404,
    make: (world) =>
      Effect.gen(function*() {
        const { headers } = yield* world.session(root)
        const made = yield* world.asPage({
          path: "/v1/invitations",
          headers,
          body: { note: "x", lastsMillis: 3_600_000 }
        })
        const id = /"invitationId":"([^"]+)"/u.exec(made.text)?.[1] ?? "none"
        return { path: `/v1/invitations/${id}/revoke`, body: {} }
      })
  },

  { route: "GET /v1/signup", expected: people(200, 200, 200), make: at("/v1/signup") },
  { route: "POST /v1/signup", expected: people(403, 403, 200), make: at("/v1/signup", { policy: "invite" }) },

  { route: "GET /v1/fleets", expected: people(200, 200, 200), make: at("/v1/fleets") },
  {
    route: "POST /v1/fleets/:fleetId/revoke-credentials",
    expected: people(200, 404, 200),
    absent: 404,
    make: (world) =>
      Effect.map(world.program(alice), ({ fleetId }) => ({
        path: `/v1/fleets/${fleetId}/revoke-credentials`,
        body: {}
      }))
  },
  {
    route: "POST /v1/agents/:agentId/rename",
    expected: people(200, 404, 200),
    absent: 404,
    make: onAgent("rename", (world) => ({ name: world.nextName("named") }))
  },
  {
    route: "POST /v1/agents/:agentId/permissions",
    expected: people(200, 404, 200),
    absent: 404,
    make: onAgent("permissions", () => ({ mayInviteAgents: true }))
  },
  { route: "POST /v1/agents/:agentId/retire", expected: people(200, 404, 200), absent: 404, make: onAgent("retire") },
  {
    route: "POST /v1/agents/:agentId/revoke-credential",
    expected: people(200, 404, 200),
    absent: 404,
    make: onAgent("revoke-credential")
  },

  { route: "GET /v1/requests", expected: people(200, 200, 200), make: at("/v1/requests") },
  {
    route: "GET /v1/requests/:enrollmentId",
    expected: people(200, 404, 200),
    absent: 404,
    make: (world) => Effect.map(world.filed(alice), ({ enrollmentId }) => ({ path: `/v1/requests/${enrollmentId}` }))
  },
  {
    route: "POST /v1/requests/:enrollmentId/approve",
    // Nobody gives the owner's name away for them: an administrator sees the request and may only reject it.
    expected: people(200, 404, 403),
    absent: 404,
    make: (world) =>
      Effect.map(world.filed(alice), ({ code, enrollmentId }) => ({
        path: `/v1/requests/${enrollmentId}/approve`,
        body: { code }
      }))
  },
  {
    route: "POST /v1/requests/:enrollmentId/reject",
    expected: people(200, 404, 200),
    absent: 404,
    make: (world) =>
      Effect.map(world.filed(alice), ({ enrollmentId }) => ({ path: `/v1/requests/${enrollmentId}/reject`, body: {} }))
  },

  { route: "GET /v1/changes", expected: people(200, 200, 200), make: at("/v1/changes") },

  {
    route: "POST /v1/enrollments/preflight",
    expected: anybody(200),
    make: (world) => Effect.succeed({ path: "/v1/enrollments/preflight", body: { roster: world.roster(alice) } })
  },
  {
    route: "POST /v1/enrollments",
    expected: anybody(200),
    make: (world) => Effect.succeed({ path: "/v1/enrollments", body: { claim: secret(), roster: world.roster(root) } })
  },
  {
    route: "POST /v1/enrollments/state",
    expected: anybody(200),
    make: (world) => Effect.map(world.filed(root), ({ claim }) => ({ path: "/v1/enrollments/state", body: { claim } }))
  },
  {
    route: "POST /v1/enrollments/introduce",
    // The owner has not agreed: the claim alone makes nobody.
    expected: anybody(409),
    make: (world) =>
      Effect.map(world.filed(root), ({ claim }) => ({
        path: "/v1/enrollments/introduce",
        body: {
          claim,
          fleetToken: hashOf(Redacted.make(secret())),
          agentTokens: [{ key: "only", token: hashOf(Redacted.make(secret())) }]
        }
      }))
  },

  {
    route: "POST /v1/fleet/lease",
    expected: fleets(200),
    make: () =>
      Effect.succeed({ path: "/v1/fleet/lease", body: { root: randomUUID(), holder: "test", takeOver: true } })
  },
  { route: "POST /v1/fleet/lease/renew", expected: fleets(200), make: at("/v1/fleet/lease/renew") },
  { route: "POST /v1/fleet/lease/release", expected: fleets(200), make: at("/v1/fleet/lease/release") },
  { route: "POST /v1/fleet/boundary", expected: fleets(200), make: at("/v1/fleet/boundary") },
  {
    route: "POST /v1/fleet/notices",
    expected: fleets(200),
    make: () => Effect.succeed({ path: "/v1/fleet/notices", body: { operationId: randomUUID(), text: "x" } })
  },
  {
    route: "POST /v1/fleet/credentials",
    expected: fleets(200),
    make: () =>
      Effect.succeed({
        path: "/v1/fleet/credentials",
        body: { fleetToken: hashOf(Redacted.make(secret())), agentTokens: [] }
      })
  },
  { route: "GET /v1/fleet/levels", expected: fleets(200), make: at("/v1/fleet/levels") },

  {
    route: "POST /v1/agent/page",
    // The room is none of the agent's.
    expected: agents(403),
    make: at("/v1/agent/page", { roomId: "!none", from: "s1", to: null, direction: "backward", limit: 1 })
  },
  {
    route: "POST /v1/agent/acknowledge",
    expected: agents(200),
    make: () =>
      Effect.succeed({
        path: "/v1/agent/acknowledge",
        body: { deliveryId: randomUUID(), cursors: [], delivered: [], redactionNumber: 0 }
      })
  },
  {
    route: "POST /v1/agent/send",
    expected: agents(403),
    make: () =>
      Effect.succeed({
        path: "/v1/agent/send",
        body: { operationId: randomUUID(), roomId: "!none", text: "x", replyTo: null, mentions: [] }
      })
  },

  push("PUT /_matrix/app/v1/transactions/:txn", "/_matrix/app/v1/transactions/1", { events: [] }),
  push("POST /_matrix/app/v1/ping", "/_matrix/app/v1/ping", { transaction_id: "x" }),
  push("GET /_matrix/app/v1/users/:user", `/_matrix/app/v1/users/${encodeURIComponent("@cf-x:cf.test")}`),
  push("GET /_matrix/app/v1/rooms/:alias", `/_matrix/app/v1/rooms/${encodeURIComponent("#cf-x:cf.test")}`),

  { route: "GET /healthz", expected: anybody(200), make: at("/healthz") },
  { route: "GET /openapi.json", expected: anybody(200), make: at("/openapi.json") },

  page("/"),
  page("/requests"),
  { ...page("/requests/:enrollmentId"), make: at(`/requests/${randomUUID()}`) },
  page("/people"),
  page("/invitations"),
  page("/sessions"),
  page("/sign-in"),
  page("/sign-in/link"),
  { ...page("/assets/:file"), make: at("/assets/app-abc.js") },
  { ...page("/:file"), make: at("/mark.svg") }
]

/** What the homeserver's own token gets. */
export const homeserverAnswers: Readonly<Record<string, number>> = {
  "PUT /_matrix/app/v1/transactions/:txn": 200,
  "POST /_matrix/app/v1/ping": 200,
  "GET /_matrix/app/v1/users/:user": 404,
  "GET /_matrix/app/v1/rooms/:alias": 404
}

export const homeserverHeaders = { authorization: `Bearer ${Redacted.value(hsToken)}` }
