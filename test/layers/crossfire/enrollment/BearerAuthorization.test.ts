import { expect, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Schema } from "effect"
import { entry, introduced, newClaim, newTokens, roster, scratch, start } from "./EnrollmentFixture.ts"
import { serve } from "./HttpFixture.ts"

const lease = {
  "x-crossfire-generation": "1",
  "x-crossfire-incarnation": "99999999-9999-4999-8999-999999999999"
}
const json = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

interface Ask {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const running = Effect.gen(function*() {
  const crossfire = yield* start(yield* scratch)
  const enrolled = yield* introduced(crossfire, roster([entry("w", "writer")]))
  const server = yield* serve(crossfire)
  const ask = ({ body, headers = {}, path }: Ask) =>
    Effect.promise(async () => {
      const answer = await fetch(`${server.url}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: json(body) })
      })
      return { status: answer.status, text: await answer.text() }
    })
  const fleet = Redacted.value(enrolled.tokens.fleet)
  const agent = Redacted.value(enrolled.tokens.agents[0]?.token ?? Redacted.make(""))
  const page = { roomId: "!r:test", from: "s1", to: null, direction: "backward", limit: 1 }
  return { ...server, crossfire, enrolled, ask, fleet, agent, page }
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, ...lease })
const release = "/v1/fleet/lease/release"
const refused = { status: 401, text: "{\"_tag\":\"Unauthorized\"}" }

it.scopedLive("[H-04] a bearer opens its own kind of route and no other, whatever the payload says", () =>
  Effect.gen(function*() {
    const { agent, ask, fleet, page } = yield* running
    expect((yield* ask({ path: release, headers: bearer(fleet), body: {} })).status).toBe(200)
    expect((yield* ask({ path: "/v1/agent/page", headers: bearer(agent), body: page })).status).toBe(200)
    expect((yield* ask({ path: "/plain", headers: bearer(fleet) })).status).toBe(200)
    expect(yield* ask({ path: release, headers: bearer(agent), body: { owner: "@alice:test" } })).toStrictEqual(refused)
    const named = { ...page, agentId: "11111111-1111-4111-8111-111111111111" }
    expect(yield* ask({ path: "/v1/agent/page", headers: bearer(fleet), body: named })).toStrictEqual(refused)
  }))

it.scopedLive("[A13] unknown, malformed, missing and nearly right credentials are answered alike, then by 429", () =>
  Effect.gen(function*() {
    const { ask, fleet } = yield* running
    const wrong = [
      {},
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: "Bearer " },
      { authorization: fleet },
      { authorization: `Basic ${fleet}` },
      { authorization: `Bearer ${fleet}x` },
      { authorization: `Bearer ${fleet.slice(0, -1)}` },
      { authorization: `Bearer ${fleet.slice(0, -1)}${fleet.endsWith("A") ? "B" : "A"}` },
      { authorization: `Bearer cff_${"A".repeat(43)}` },
      { authorization: `Bearer ${"x".repeat(4_000)}` },
      { authorization: `Bearer ${fleet} ${fleet}` },
      { cookie: `token=${fleet}` }
    ]
    for (const headers of wrong) {
      expect(yield* ask({ path: release, headers: { ...lease, ...headers }, body: {} })).toStrictEqual(refused)
    }
    for (let tries = wrong.length; tries < 30; tries++) {
      expect((yield* ask({ path: release, headers: lease, body: {} })).status).toBe(401)
    }
    const late = yield* ask({ path: release, headers: bearer(`cff_${"B".repeat(43)}`), body: {} })
    expect(late.status).toBe(429)
    expect(late.text).toMatch(/^\{"retryAfterMillis":\d+,"_tag":"TooManyAttempts"\}$/u)
    // Whoever shares the address and has a valid one is not shut out.
    expect((yield* ask({ path: release, headers: bearer(fleet), body: {} })).status).toBe(200)
  }))

it.scopedLive("[H-04] [A12] a retired agent and a replaced credential are refused at the next request", () =>
  Effect.gen(function*() {
    const { agent, ask, crossfire, fleet, page } = yield* running
    yield* crossfire.database.transaction(crossfire.database.sql`UPDATE agent SET retired_at = 1`)
    expect(yield* ask({ path: "/v1/agent/page", headers: bearer(agent), body: page })).toStrictEqual(refused)
    yield* crossfire.database.transaction(crossfire.database.sql`UPDATE fleet SET token_hash = 'another'`)
    expect(yield* ask({ path: release, headers: bearer(fleet), body: {} })).toStrictEqual(refused)
  }))

it.scopedLive("[A5] [H-04] a request with cookie and bearer is refused before either is looked at", () =>
  Effect.gen(function*() {
    const { ask, fleet } = yield* running
    for (const token of [fleet, "wrong"]) {
      for (const path of [release, "/v1/enrollments/preflight", "/plain"]) {
        const answer = yield* ask({ path, headers: { ...bearer(token), cookie: "__Host-session=1" }, body: {} })
        expect(answer).toStrictEqual({
          status: 400,
          text: "{\"problem\":\"cookie-and-bearer\",\"_tag\":\"CredentialMisplaced\"}"
        })
      }
    }
  }))

it.scopedLive("[A15] a credential in the address is refused on every route, and stands in no log line", () =>
  Effect.gen(function*() {
    const { agent, ask, enrolled, fleet, lines } = yield* running
    const addresses = [
      `${release}?access_token=${fleet}`,
      `${release}?x=1&ToKeN=abc`,
      `/v1/agent/page?a=${agent}`,
      `/v1/enrollments/state?claim=${enrolled.claim}`,
      `/plain?q=${encodeURIComponent(`Bearer ${fleet}`)}`,
      `/plain?q=%63ff_${fleet.slice(4)}`,
      `/nowhere/${fleet}`,
      `/v1/agent/page?a%63cess_token=${agent}`
    ]
    for (const path of addresses) {
      const answer = yield* ask({ path, headers: bearer(fleet), body: {} })
      expect(answer).toStrictEqual({
        status: 400,
        text: "{\"problem\":\"in-the-address\",\"_tag\":\"CredentialMisplaced\"}"
      })
    }
    yield* ask({ path: `${release}?page=2`, headers: bearer(fleet), body: {} })
    yield* ask({ path: "/v1/enrollments/submit", body: { claim: enrolled.claim } })
    const log = lines.join("\n")
    expect(log).toContain("/lease/release?page=2")
    for (const secret of [fleet, agent, enrolled.claim]) expect(log).not.toContain(secret.slice(4))
  }))

it.scopedLive("enrollment over HTTP: errors in the contract's words, no secret in an answer about a malformed one", () =>
  Effect.gen(function*() {
    const { ask, crossfire, enrolled } = yield* running
    const mine = roster([entry("c", "critic")])
    const claim = yield* newClaim
    const preflight = yield* ask({ path: "/v1/enrollments/preflight", body: { roster: mine } })
    expect(preflight).toStrictEqual({ status: 200, text: "{\"ok\":true}" })
    const taken = yield* ask({ path: "/v1/enrollments", body: { claim, roster: roster([entry("c", "writer")]) } })
    expect(taken.status).toBe(409)
    expect(taken.text).toContain("\"reason\":\"name-taken\"")
    const submitted = yield* ask({ path: "/v1/enrollments", body: { claim, roster: mine } })
    expect(submitted.status).toBe(200)
    expect(yield* ask({ path: "/v1/enrollments", body: { claim, roster: mine } })).toStrictEqual(submitted)
    expect((yield* ask({ path: "/v1/enrollments/state", body: { claim: enrolled.claim } })).text).toContain(
      "introduced"
    )
    const unknown = yield* ask({ path: "/v1/enrollments/state", body: { claim: yield* newClaim } })
    expect(unknown).toStrictEqual({ status: 404, text: "{\"what\":\"enrollment\",\"_tag\":\"NotFound\"}" })
    const secret = `${claim}secret`
    const malformed = yield* ask({ path: "/v1/enrollments/state", body: { claim: secret } })
    expect(malformed.status).toBe(400)
    expect(malformed.text).not.toContain(claim)
    const tokens = yield* newTokens(mine)
    const wrong = yield* ask({
      path: "/v1/enrollments/introduce",
      body: { claim, fleetToken: Redacted.value(tokens.fleet), agentTokens: [] }
    })
    expect(wrong.status).toBe(400)
    expect(wrong.text).not.toContain(Redacted.value(tokens.fleet))
    const claude = { ...mine, agents: [{ ...mine.agents[0], engine: "claude" }] }
    const foreign = yield* ask({ path: "/v1/enrollments/preflight", body: { roster: claude } })
    expect(foreign.status).toBe(400)
    expect(yield* crossfire.rows("SELECT 1 FROM enrollment")).toHaveLength(2)
  }))

it.scopedLive("a body beyond the bound is refused unread, and the server goes on", () =>
  Effect.gen(function*() {
    const { ask, crossfire, lines } = yield* running
    const body = { claim: yield* newClaim, roster: roster([entry("c", "critic")]) }
    // The connection is cut, or the answer is a refusal: never an enrollment.
    const large = yield* Effect.exit(
      ask({ path: "/v1/enrollments", body: { ...body, more: "x".repeat(3 * 1024 * 1024) } })
    )
    if (Exit.isSuccess(large)) expect(large.value.status).toBeGreaterThanOrEqual(400)
    expect(yield* crossfire.rows("SELECT 1 FROM enrollment")).toHaveLength(1)
    const full = roster([entry("c", "critic", { instructions: "\u0001".repeat(20_000) })])
    expect((yield* ask({ path: "/v1/enrollments/preflight", body: { roster: full } })).status).toBe(200)
    expect(lines.join("").length).toBeLessThan(10_000)
  }))

it.scopedLive("enrollment takes a bounded number of requests that write from one address", () =>
  Effect.gen(function*() {
    const { ask } = yield* running
    const body = { claim: yield* newClaim, roster: roster([entry("c", "critic")]) }
    for (let asked = 0; asked < 60; asked++) {
      expect((yield* ask({ path: "/v1/enrollments", body })).status).toBe(200)
    }
    const refusal = yield* ask({ path: "/v1/enrollments", body })
    expect(refusal.status).toBe(429)
    expect((yield* ask({ path: "/v1/enrollments/state", body })).status).toBe(200)
  }))
