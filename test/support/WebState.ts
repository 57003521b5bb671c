// What the stand-in before the web pages holds: an ordinary instance, and one in which every outside string attacks.
import { randomUUID } from "node:crypto"
import type { AgentView, FleetView, RequestDetail } from "../../src/domain/api/Management.ts"
import { InvitationId } from "../../src/domain/api/People.ts"
import { AgentId, EnrollmentId, FleetId, UserId } from "../../src/domain/Ids.ts"
import { displayName, FleetKey, InstanceKey, RegisteredName, type RosterAgent } from "../../src/domain/Roster.ts"
import { SessionId } from "../../src/domain/Session.ts"
import { hourMillis, nowMillis, type StandInState } from "./WebStandIn.ts"

export const alice = UserId.make("@alice:example.org")
export const bob = UserId.make("@bob:example.org")
/** Came by signing in. */
export const gus = UserId.make("@gus:example.org")

export const agent = (name: string, changed: Partial<AgentView> = {}): AgentView => ({
  agentId: AgentId.make(randomUUID()),
  key: InstanceKey.make(name),
  name: RegisteredName.make(name),
  displayName: displayName(name, alice),
  userId: UserId.make(`@cf-${randomUUID().replaceAll("-", "").slice(0, 16)}:example.org`),
  engine: "codex",
  standing: "active",
  credential: "valid",
  mayInviteAgents: false,
  createdAtMillis: nowMillis() - 40 * hourMillis,
  ...changed
})

export const fleet = (key: string, agents: ReadonlyArray<AgentView>, changed: Partial<FleetView> = {}): FleetView => ({
  fleetId: FleetId.make(randomUUID()),
  key: FleetKey.make(key),
  owner: alice,
  credential: "valid",
  controller: "studio, process 41207",
  createdAtMillis: nowMillis() - 40 * hourMillis,
  agents,
  ...changed
})

export const entry = (name: string, changed: Partial<RosterAgent> = {}): RosterAgent => ({
  key: InstanceKey.make(name),
  name: RegisteredName.make(name),
  engine: "codex",
  model: "gpt-6-codex",
  effort: "high",
  work_folder: `/home/alice/work/${name}`,
  history_mode: "shared",
  instructions: [
    `You are ${name}. You read every draft before it leaves the house.`,
    "",
    "- Check names, dates and figures against their sources.",
    "- Ask before you tell one room what you learnt in another.",
    "- Say what you do not know."
  ].join("\n"),
  ...changed
})

export const request = (
  key: string,
  agents: ReadonlyArray<RosterAgent>,
  changed: Partial<RequestDetail> = {}
): RequestDetail => {
  const owner = changed.owner ?? alice
  return {
    enrollmentId: EnrollmentId.make(randomUUID()),
    owner,
    fleetKey: FleetKey.make(key),
    names: agents.map(({ name }) => name),
    state: "pending",
    createdAtMillis: nowMillis() - 12 * 60_000,
    expiresAtMillis: nowMillis() + 167 * hourMillis,
    roster: { fleet: FleetKey.make(key), owner, agents },
    existing: [],
    mayApprove: true,
    ...changed
  }
}

const session = (browser: string, current: boolean, seenAgoHours: number) => ({
  sessionId: SessionId.make(randomUUID()),
  browser,
  signedInAtMillis: nowMillis() - 50 * hourMillis,
  seenAtMillis: nowMillis() - seenAgoHours * hourMillis,
  endsAtMillis: nowMillis() + 280 * hourMillis,
  current
})

const invitation = (note: string, state: "open" | "used" | "revoked" | "expired", agoHours: number) => ({
  invitationId: InvitationId.make(randomUUID()),
  madeBy: alice,
  note,
  state,
  createdAtMillis: nowMillis() - agoHours * hourMillis,
  expiresAtMillis: nowMillis() + (168 - agoHours) * hourMillis
})

/** Nobody and nothing but the administrator alice, who is not signed in. */
export const emptyState = (): StandInState => {
  const own = session("Firefox on Linux", true, 0)
  return {
    me: alice,
    role: "administrator",
    sessionId: own.sessionId,
    cookies: new Set(),
    fleets: [],
    requests: [],
    people: [{
      userId: alice,
      role: "administrator",
      active: true,
      addedBy: null,
      addedAtMillis: nowMillis() - 900 * hourMillis,
      sessions: 1,
      agents: 0
    }],
    invitations: [],
    sessions: [own],
    signup: {
      policy: "invite",
      homeserver: "managed",
      homeserverUrl: "https://matrix.example.org",
      elementUrl: "https://app.element.io",
      mayInvite: true,
      mayChange: true,
      steps: null
    },
    token: "k3v9Qm-0aZ_7Yw2uRr5tPq8sLd1fGh4jKx6cVb3nMzE",
    fails: new Map(),
    changed: [],
    asked: []
  }
}

const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"

export const ordinaryState = (): StandInState => {
  const state = emptyState()
  state.fleets = [
    fleet("fleet-street", [
      agent("stage-manager", { mayInviteAgents: true }),
      agent("reporter"),
      agent("proofreader", { engine: "pi" }),
      agent("night-editor", { credential: "revoked" }),
      agent("cub", { standing: "retired", credential: "revoked" })
    ]),
    fleet("workshop", [agent("scout"), agent("scribe", { engine: "pi" })], { controller: null }),
    fleet("bobs-lab", [agent("bench", { displayName: "bench (bob)" })], {
      owner: bob,
      controller: "attic, process 912"
    })
  ]
  state.requests = [
    request("fleet-street", [
      entry("stage-manager"),
      entry("writer", { key: InstanceKey.make("reporter") }),
      entry("archivist", {
        engine: "pi",
        model: "anthropic/claude-sonnet-6",
        effort: null,
        history_mode: "per-room",
        work_folder: "/home/alice",
        instructions: null
      })
    ], {
      existing: [
        { key: InstanceKey.make("stage-manager"), name: RegisteredName.make("stage-manager") },
        { key: InstanceKey.make("reporter"), name: RegisteredName.make("reporter") },
        { key: InstanceKey.make("proofreader"), name: RegisteredName.make("proofreader") }
      ]
    }),
    request("bobs-lab", [entry("bench")], { owner: bob, mayApprove: false })
  ]
  state.people.push(
    {
      userId: gus,
      role: "member",
      active: true,
      addedBy: gus,
      addedAtMillis: nowMillis() - 4 * hourMillis,
      sessions: 1,
      agents: 0
    },
    {
      userId: bob,
      role: "member",
      active: true,
      addedBy: alice,
      addedAtMillis: nowMillis() - 500 * hourMillis,
      sessions: 2,
      agents: 1
    },
    {
      userId: UserId.make("@carol/editorial:example.org"),
      role: "member",
      active: false,
      addedBy: alice,
      addedAtMillis: nowMillis() - 700 * hourMillis,
      sessions: 0,
      agents: 0
    }
  )
  state.invitations = [
    invitation("Dora, from the picture desk", "open", 3),
    invitation("Eve", "used", 60),
    invitation("", "revoked", 90)
  ]
  state.sessions = [
    ...state.sessions,
    session("Chrome on Android", false, 5),
    session("Safari on macOS", false, 22),
    session(userAgent, false, 30)
  ]
  return state
}

/** Strings that break out of HTML, attributes, addresses, styles, templates, or the reading direction. */
export const payloads: ReadonlyArray<string> = [
  "<script>window.__pwned=1</script>",
  "<img src=x onerror=\"window.__pwned=1\">",
  "\"><svg onload=window.__pwned=1>",
  "'-window.__pwned=1-'",
  "javascript:window.__pwned=1",
  "</title></style></textarea><script>window.__pwned=1</script>",
  "<iframe srcdoc=\"<script>parent.__pwned=1</script>\"></iframe>",
  "<a href=\"javascript:window.__pwned=1\" id=bait>click</a>",
  "<style>body{display:none}</style>",
  "{{constructor.constructor('window.__pwned=1')()}}${window.__pwned=1}",
  "&lt;script&gt;window.__pwned=1&lt;/script&gt;",
  "\u202Egro.elpmaxe:ecila@\u202C \u200B\u2066hidden\u2069 \u{E0041}",
  "line one\nline two\r\u0000\u001B[31mred",
  "x".repeat(190)
]

export const hostileUser = UserId.make("@\"><img/src=x/onerror=window.__pwned=1>:example.org")

/** An instance in which each of these stands in every string that somebody outside can choose. */
export const hostileState = (attacks: ReadonlyArray<string>): StandInState => {
  const state = ordinaryState()
  const all = attacks.map((text, index) => ({ text, short: text.slice(0, 190), name: `agent-${index + 1}` }))
  state.fleets = [
    ...all.map(({ name, short, text }, index) =>
      fleet(`fleet-${index + 1}`, [agent(name, { displayName: text })], { controller: short })
    ),
    fleet("other", [agent("bench", { userId: hostileUser })], { owner: hostileUser })
  ]
  state.requests = [
    request(
      "fleet-street",
      all.map(({ name, short, text }) =>
        entry(name, { model: short, effort: text.slice(0, 40), work_folder: short, instructions: text })
      )
    ),
    request("other", [entry("bench")], { owner: hostileUser, mayApprove: false })
  ]
  state.people = state.people.slice(0, 2).map((person, index) => ({
    ...person,
    userId: index === 0 ? person.userId : hostileUser,
    addedBy: hostileUser
  }))
  state.invitations = all.map(({ short }) => ({ ...invitation(short, "open", 3), madeBy: hostileUser }))
  state.sessions = all.map(({ short }, index) => session(short, index === 0, index))
  const steps = attacks.join("\n")
  state.signup = { ...state.signup, steps, elementUrl: steps, homeserverUrl: steps, homeserver: "own" }
  state.token = steps
  return state
}
