import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, TestClock } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ClaimSecret } from "../../../../src/domain/api/Crossfire.ts"
import { EnrollmentNotReady, NotAllowed, NotFound, Unauthorized } from "../../../../src/domain/api/CrossfireErrors.ts"
import { UserId } from "../../../../src/domain/Ids.ts"
import { hashOf, newSecret } from "../../../../src/layers/crypto/Secret.ts"
import { StoreFailed } from "../../../../src/services/Database.ts"
import { HomeserverUnavailable } from "../../../../src/services/Matrix.ts"
import {
  alice,
  approved,
  bob,
  bot,
  type Crossfire,
  entry,
  hashes,
  introduced,
  life,
  newClaim,
  newTokens,
  root,
  roster,
  scratch,
  start
} from "./EnrollmentFixture.ts"

const counts = (crossfire: Crossfire) =>
  Effect.map(
    crossfire.rows<{ readonly fleets: number; readonly agents: number; readonly policies: number }>(
      `SELECT (SELECT COUNT(*) FROM fleet) AS fleets, (SELECT COUNT(*) FROM agent) AS agents,
              (SELECT COUNT(*) FROM wake_policy) AS policies`
    ),
    ([row]) => [row?.fleets, row?.agents, row?.policies]
  )

const problems = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.flip(effect),
    (error) => typeof error === "object" && error !== null && "problems" in error ? error.problems : error
  )

it.scoped("[I-04] preflight tells what is wrong and reserves nothing", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const mine = roster([entry("writer"), entry("critic")])
    yield* crossfire.enrollment.preflight(mine)
    expect(yield* counts(crossfire)).toStrictEqual([0, 0, 0])
    // Another owner takes one of the names in between.
    yield* introduced(crossfire, roster([entry("c", "critic")], bob))
    expect(yield* problems(crossfire.enrollment.preflight(mine))).toStrictEqual([
      { entry: "critic", reason: "name-taken", detail: "the name \"critic\" is taken" }
    ])
    expect(yield* problems(crossfire.enrollment.submit(yield* newClaim, mine))).toHaveLength(1)
  }))

it.scoped("[I-05] every problem of a roster is named by entry, before anything is filed", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch, { maxAgentsPerOwner: 4, maxAgentsPerInstance: 5 })
    yield* introduced(crossfire, roster([entry("a", "writer"), entry("b", "zz")], bob))
    const bad = roster([
      entry("k", "vvriter"),
      entry("k", "critic"),
      entry("l", "cr1t1c"),
      entry("m", "mm")
    ])
    expect(yield* problems(crossfire.enrollment.submit(yield* newClaim, bad))).toStrictEqual([
      { entry: "k", reason: "key-twice", detail: "the key \"k\" stands twice in the roster" },
      {
        entry: "l",
        reason: "name-twice",
        detail: "the name \"cr1t1c\" could be taken for \"critic\" in the same roster"
      },
      { entry: "k", reason: "name-taken", detail: "the name \"vvriter\" could be taken for \"writer\", which exists" },
      {
        entry: "street",
        reason: "over-capacity",
        detail: "the instance would have 6 agents; 5 are allowed"
      }
    ])
    const many = roster(["aa", "bb", "cc", "dd", "ee"].map((key) => entry(key)))
    expect(yield* problems(crossfire.enrollment.preflight(many))).toStrictEqual([
      { entry: "street", reason: "over-capacity", detail: "the owner would have 5 agents; 4 are allowed" }
    ])
    const large = roster(
      ["aa", "bb", "cc", "dd", "ee"].map((key) => entry(key, key, { instructions: "€".repeat(20_000) }))
    )
    expect(yield* problems(crossfire.enrollment.preflight(large))).toMatchObject([
      { reason: "too-large" },
      { reason: "over-capacity" }
    ])
    expect(yield* crossfire.rows("SELECT 1 FROM enrollment WHERE owner = '@alice:test'")).toHaveLength(0)
  }))

it.scoped("[A31] an owner is a known person of this very homeserver", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    for (const owner of ["@mallory:test", "@alice:other.test", "@ALICE:test", "@alice:test.evil", "@cf-bot:test"]) {
      const refused = yield* problems(crossfire.enrollment.preflight(roster([entry("aa")], UserId.make(owner))))
      expect(refused).toStrictEqual([
        {
          entry: "street",
          reason: "unknown-owner",
          detail: owner.endsWith(":test")
            ? `${owner} is not known to this instance yet; let the owner sign in once at https://crossfire.test, or ` +
              "ask its operator, who makes somebody known with: crossfire person add NAME"
            : `${owner} is a user of another homeserver; an owner here has the account on test`
        }
      ])
    }
  }))

it.scoped("[I-06] the same claim is the same enrollment, with another roster it is refused", () =>
  Effect.gen(function*() {
    const folder = yield* scratch
    const claim = yield* newClaim
    const mine = roster([entry("writer")])
    const first = yield* life(folder, ({ enrollment }) => enrollment.submit(claim, mine))
    expect(first.state).toBe("pending")
    expect(first.bot).toBe(bot)
    expect(first.code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/u)
    const crossfire = yield* start(folder)
    expect(yield* crossfire.enrollment.submit(claim, mine)).toStrictEqual(first)
    expect(yield* crossfire.enrollment.state(claim)).toStrictEqual(first)
    const changed = roster([entry("writer", "writer", { model: "gpt-6" })])
    expect(yield* Effect.flip(crossfire.enrollment.submit(claim, changed))).toBeInstanceOf(NotAllowed)
    const other = yield* crossfire.enrollment.submit(yield* newClaim, mine)
    expect(other.code).not.toBe(first.code)
  }))

it.scoped("[A48] a claim replayed in another owner's name is refused, and changes nothing", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { claim, request } = yield* approved(crossfire, roster([entry("writer")]))
    expect(yield* Effect.flip(crossfire.enrollment.submit(claim, roster([entry("writer")], bob)))).toBeInstanceOf(
      NotAllowed
    )
    const { agents } = yield* crossfire.enrollment.introduce(request)
    expect(yield* crossfire.rows("SELECT owner FROM agent")).toStrictEqual([{ owner: alice }])
    expect(agents).toHaveLength(1)
  }))

it.scoped("[I-02] [I-09] an introduction makes identities and nothing else: no room, no chat, no message", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const mine = roster([entry("w", "writer"), entry("c", "critic", { engine: "pi" })])
    const { introduction } = yield* introduced(crossfire, mine)
    expect(introduction.agents.map(({ key, name }) => [key, name])).toStrictEqual([["w", "writer"], ["c", "critic"]])
    for (const { userId } of introduction.agents) expect(userId).toMatch(/^@cf-[0-9a-f]{16}:test$/u)
    const [writer, critic] = introduction.agents
    // The homeserver's twin dies on anything but this call; the outbox's on anything but the bot's answers.
    expect(crossfire.users.toSorted()).toStrictEqual(
      [`${writer?.userId} writer (alice)`, `${critic?.userId} critic (alice)`].toSorted()
    )
    for (const table of ["participation", "room", "bot_room", "outbound", "decision"]) {
      expect(yield* crossfire.rows(`SELECT * FROM ${table}`)).toStrictEqual([])
    }
    expect(yield* crossfire.rows("SELECT room_id, kind, subject FROM wake_selection")).toStrictEqual([
      { room_id: "", kind: "person", subject: alice },
      { room_id: "", kind: "person", subject: alice }
    ])
  }))

it.scoped("[I-05] two enrollments that race for one name: one is taken whole, the other not at all", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const one = yield* approved(crossfire, roster([entry("a", "writer"), entry("b", "editor")]))
    const other = yield* approved(crossfire, roster([entry("x", "reader"), entry("y", "w-riter")], bob))
    const exits = yield* Effect.forEach(
      [one, other],
      ({ request }) => Effect.exit(crossfire.enrollment.introduce(request)),
      { concurrency: "unbounded" }
    )
    expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
    expect(yield* counts(crossfire)).toStrictEqual([1, 2, 2])
    const loser = exits[0] !== undefined && Exit.isSuccess(exits[0]) ? other : one
    const named = loser === other ? ["y", "w-riter", "writer"] : ["a", "writer", "w-riter"]
    const refused = yield* problems(crossfire.enrollment.introduce(loser.request))
    expect(refused).toStrictEqual([
      {
        entry: named[0],
        reason: "name-taken",
        detail: `the name "${named[1]}" could be taken for "${named[2]}", which exists`
      }
    ])
    // It stays approved: nothing was claimed, and it can be tried again until it expires.
    expect((yield* crossfire.enrollment.state(loser.claim)).state).toBe("approved")
    expect(yield* counts(crossfire)).toStrictEqual([1, 2, 2])
  }))

it.scoped("[I-06] an answer lost between commit and reply, then a restart: the same request gives the same result", () =>
  Effect.gen(function*() {
    const folder = yield* scratch
    const mine = roster([entry("w", "writer"), entry("c", "critic")])
    const { request, tokens } = yield* life(folder, (crossfire) => approved(crossfire, mine))
    // The homeserver hangs, so the process dies after the commit and before any answer.
    const before = yield* Effect.scoped(Effect.gen(function*() {
      const reached = yield* Effect.makeLatch(false)
      const crossfire = yield* start(folder, { onUser: Effect.zipRight(reached.open, Effect.never) })
      const asking = yield* Effect.fork(crossfire.enrollment.introduce(request))
      yield* reached.await
      yield* Fiber.interrupt(asking)
      return yield* crossfire.rows("SELECT agent_id, user_id, registered_at FROM agent ORDER BY instance_key DESC")
    }))
    expect(before).toHaveLength(2)
    expect(before).toMatchObject([{ registered_at: null }, { registered_at: null }])
    // The homeserver is down at the first try after the restart, and there at the second.
    const down = new HomeserverUnavailable({ operation: "register", status: null })
    const failed = yield* Effect.scoped(Effect.gen(function*() {
      const crossfire = yield* start(folder, { onUser: Effect.fail(down) })
      return yield* Effect.flip(crossfire.enrollment.introduce(request))
    }))
    expect(failed).toBe(down)
    const crossfire = yield* start(folder)
    const results = yield* Effect.all([
      crossfire.enrollment.introduce(request),
      crossfire.enrollment.introduce({ ...request, agentTokens: request.agentTokens.toReversed() })
    ], { concurrency: "unbounded" })
    expect(results[0]).toStrictEqual(results[1])
    expect(
      results[0].agents.map(({ agentId, userId }) => ({ agent_id: agentId, user_id: userId, registered_at: null }))
    )
      .toStrictEqual(before)
    expect(new Set(crossfire.users).size).toBe(2)
    expect(yield* crossfire.rows("SELECT 1 FROM agent WHERE registered_at IS NULL")).toHaveLength(0)
    // Once introduced, no other credentials can be slipped under the claim.
    const others = yield* newTokens(mine)
    expect(yield* Effect.flip(crossfire.enrollment.introduce(hashes(request.claim, others)))).toBeInstanceOf(NotAllowed)
    expect((yield* crossfire.credentials.fleet(tokens.fleet, "peer")).owner).toBe(alice)
    expect(yield* Effect.flip(crossfire.credentials.fleet(others.fleet, "peer"))).toBeInstanceOf(Unauthorized)
  }))

it.scoped("[I-05] [O-02] a disk that fills up during an introduction leaves nothing of it, and it goes on with space", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const agents = Array.from(
      { length: 40 },
      (_, index) => entry(`k${index}`, `na${String.fromCodePoint(97 + (index % 8), 97 + Math.floor(index / 8))}`)
    )
    const { claim, request } = yield* approved(crossfire, roster(agents))
    const [pages] = yield* crossfire.rows<{ readonly page_count: number }>("PRAGMA page_count")
    // Room for the first entries, not for all of them.
    yield* crossfire.rows(`PRAGMA max_page_count = ${(pages?.page_count ?? 0) + 2}`)
    expect(yield* Effect.flip(crossfire.enrollment.introduce(request))).toStrictEqual(
      new StoreFailed({ database: "crossfire", reason: "full" })
    )
    expect(yield* counts(crossfire)).toStrictEqual([0, 0, 0])
    expect((yield* crossfire.enrollment.state(claim)).state).toBe("approved")
    yield* crossfire.rows("PRAGMA max_page_count = 100000")
    expect((yield* crossfire.enrollment.introduce(request)).agents).toHaveLength(40)
  }))

it.scoped("an introduction needs approval, and credentials for exactly the roster's agents, used nowhere else", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const mine = roster([entry("w", "writer"), entry("c", "critic")])
    const claim = yield* newClaim
    const tokens = yield* newTokens(mine)
    const request = hashes(claim, tokens)
    expect(yield* Effect.flip(crossfire.enrollment.introduce(request))).toStrictEqual(
      new NotFound({ what: "enrollment" })
    )
    yield* crossfire.enrollment.submit(claim, mine)
    expect(yield* Effect.flip(crossfire.enrollment.introduce(request))).toStrictEqual(
      new EnrollmentNotReady({ state: "pending" })
    )
    const bobs = yield* introduced(crossfire, roster([entry("xx")], bob))
    const ready = yield* approved(crossfire, mine)
    const [first, second] = ready.request.agentTokens
    if (first === undefined || second === undefined) throw new Error("two agents were enrolled")
    const wrong = [
      { ...ready.request, agentTokens: [first] },
      { ...ready.request, agentTokens: [first, first] },
      { ...ready.request, agentTokens: [first, { ...second, token: first.token }] },
      { ...ready.request, fleetToken: first.token },
      { ...ready.request, fleetToken: bobs.request.fleetToken },
      {
        ...ready.request,
        agentTokens: [first, { ...second, token: bobs.request.agentTokens[0]?.token ?? first.token }]
      }
    ]
    for (const attempt of wrong) {
      expect(yield* Effect.flip(crossfire.enrollment.introduce(attempt))).toBeInstanceOf(NotAllowed)
    }
    expect(yield* counts(crossfire)).toStrictEqual([1, 1, 1])
    yield* crossfire.enrollment.introduce(ready.request)
  }))

it.scoped("[I-01] enrolled again from another root, an agent keeps its UUID and Matrix user; the old credentials end", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const old = yield* introduced(crossfire, roster([entry("w", "writer"), entry("c", "critic")]))
    const again = yield* introduced(crossfire, roster([entry("e", "editor"), entry("w", "writer", { engine: "pi" })]))
    expect(again.introduction.fleetId).toBe(old.introduction.fleetId)
    const writer = (of: typeof old) => of.introduction.agents.find(({ key }) => key === "w")
    expect(writer(again)).toStrictEqual(writer(old))
    const tokenOf = (of: typeof old, key: string) => {
      const found = of.tokens.agents.find((agent) => agent.key === key)
      if (found === undefined) throw new Error(`no token of ${key}`)
      return found.token
    }
    const { credentials } = crossfire
    for (const gone of [tokenOf(old, "w"), tokenOf(old, "c")]) {
      expect(yield* Effect.flip(credentials.agent(gone, "peer"))).toBeInstanceOf(Unauthorized)
    }
    expect(yield* Effect.flip(credentials.fleet(old.tokens.fleet, "peer"))).toBeInstanceOf(Unauthorized)
    expect((yield* credentials.agent(tokenOf(again, "w"), "peer")).agentId).toBe(writer(old)?.agentId)
    // Asking for the old claim's result gives it, and brings no old credential back.
    const replayed = yield* crossfire.enrollment.introduce(old.request)
    expect(replayed).toStrictEqual(old.introduction)
    expect(yield* Effect.flip(credentials.fleet(old.tokens.fleet, "peer"))).toBeInstanceOf(Unauthorized)
    // The agent that was not listed keeps its identity, without a credential until it is enrolled again.
    const back = yield* introduced(crossfire, roster([entry("c", "critic")]))
    expect(back.introduction.agents[0]).toStrictEqual(old.introduction.agents.find(({ key }) => key === "c"))
  }))

it.scoped("an agent added with the fleet's present credential changes nothing for the others", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const first = yield* introduced(crossfire, roster([entry("w", "writer")]))
    const larger = roster([entry("w", "writer"), entry("c", "critic")])
    const claim = yield* newClaim
    const { code } = yield* crossfire.enrollment.submit(claim, larger)
    yield* crossfire.say(alice, String(code))
    yield* crossfire.say(alice, `confirm ${code}`)
    const [critic] = (yield* newTokens(roster([entry("c", "critic")]))).agents
    const tokens = {
      fleet: first.tokens.fleet,
      agents: [...first.tokens.agents, ...(critic === undefined ? [] : [critic])]
    }
    const { agents } = yield* crossfire.enrollment.introduce(hashes(claim, tokens))
    expect(agents[0]).toStrictEqual(first.introduction.agents[0])
    for (const { key, token } of tokens.agents) {
      expect((yield* crossfire.credentials.agent(token, "peer")).agentId).toBe(
        agents.find((agent) => agent.key === key)?.agentId
      )
    }
  }))

it.scoped("[I-10] renaming keeps UUID, Matrix user, policy and rooms; two agents can exchange their names", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const old = yield* introduced(crossfire, roster([entry("w", "writer"), entry("c", "critic")]))
    const [writer] = old.introduction.agents
    yield* crossfire.database.transaction(crossfire.database.sql`
      INSERT INTO participation (agent_id, room_id, membership, updated_at) VALUES (${
      writer?.agentId ?? ""
    }, '!r', 'joined', 0)`)
    yield* crossfire.database.transaction(
      crossfire.database.sql`UPDATE wake_policy SET revision = 7 WHERE agent_id = ${writer?.agentId ?? ""}`
    )
    crossfire.users.length = 0
    const swapped = yield* introduced(crossfire, roster([entry("w", "critic"), entry("c", "writer")]))
    const identity = (of: typeof old) =>
      of.introduction.agents.map(({ agentId, key, userId }) => ({ agentId, key, userId }))
    expect(identity(swapped)).toStrictEqual(identity(old))
    expect(swapped.introduction.agents.map(({ name }) => name)).toStrictEqual(["critic", "writer"])
    expect(crossfire.users).toContain(`${writer?.userId} critic (alice)`)
    expect(yield* crossfire.rows(`SELECT revision FROM wake_policy WHERE agent_id = '${writer?.agentId}'`))
      .toStrictEqual([{ revision: 7 }])
    expect(yield* crossfire.rows("SELECT agent_id, membership FROM participation")).toStrictEqual([
      { agent_id: writer?.agentId, membership: "joined" }
    ])
    // A name is free for others once its agent has another one.
    yield* introduced(crossfire, roster([entry("w", "scribe"), entry("c", "writer")]))
    yield* introduced(crossfire, roster([entry("b", "critic")], bob))
  }))

it.scoped("a retired agent's key and name stay taken", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { tokens } = yield* introduced(crossfire, roster([entry("w", "writer")]))
    yield* crossfire.database.transaction(crossfire.database.sql`UPDATE agent SET retired_at = 1`)
    expect(yield* problems(crossfire.enrollment.preflight(roster([entry("w", "writer")])))).toMatchObject([
      {
        entry: "w",
        reason: "agent-retired",
        detail:
          "the agent with the key \"w\" was retired for good; delete its entry, or use another key for a new agent"
      }
    ])
    expect(yield* problems(crossfire.enrollment.preflight(roster([entry("x", "writer")])))).toMatchObject([
      { entry: "x", reason: "name-taken" }
    ])
    const token = tokens.agents[0]?.token ?? Redacted.make("")
    expect(yield* Effect.flip(crossfire.credentials.agent(token, "peer"))).toBeInstanceOf(Unauthorized)
  }))

it.scoped("[I-07] public names and IDs recover nothing, and the file holds no secret", () =>
  Effect.gen(function*() {
    const folder = yield* scratch
    const crossfire = yield* start(folder)
    const { claim, code, introduction, request, tokens } = yield* introduced(crossfire, roster([entry("w", "writer")]))
    const view = yield* crossfire.enrollment.state(claim)
    const agent = introduction.agents[0]
    const known = [
      view.enrollmentId,
      introduction.fleetId,
      agent?.agentId,
      agent?.userId,
      agent?.name,
      code,
      alice,
      request.fleetToken,
      hashOf(Redacted.make(claim))
    ].map(String)
    for (const value of known) {
      // Padded or cut to the claim's own form, so that the lookup itself refuses it.
      const asClaim = ClaimSecret.make(value.replaceAll(/[^A-Za-z0-9_-]/gu, "_").padEnd(43, "A").slice(0, 43))
      expect(yield* Effect.flip(crossfire.enrollment.state(asClaim))).toBeInstanceOf(NotFound)
      expect(yield* Effect.flip(crossfire.enrollment.introduce({ ...request, claim: asClaim }))).toBeInstanceOf(
        NotFound
      )
      for (const token of [value, `cff_${asClaim}`, `cfa_${asClaim}`]) {
        expect(yield* Effect.flip(crossfire.credentials.fleet(Redacted.make(token), value))).toBeInstanceOf(
          Unauthorized
        )
        expect(yield* Effect.flip(crossfire.credentials.agent(Redacted.make(token), value))).toBeInstanceOf(
          Unauthorized
        )
      }
    }
    const copy = join(folder, "copy.sqlite")
    yield* crossfire.rows(`VACUUM INTO '${copy}'`)
    const bytes = readFileSync(copy).toString("latin1")
    expect(bytes).toContain("writer")
    for (
      const secret of [
        claim,
        Redacted.value(tokens.fleet),
        ...tokens.agents.map(({ token }) => Redacted.value(token))
      ]
    ) {
      expect(bytes).not.toContain(secret)
      expect(bytes).not.toContain(secret.replace(/^cf[fa]_/u, ""))
    }
  }))

it.scoped("a request is open for seven days, approved or not, and its state follows from the clock", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const waiting = yield* newClaim
    const { code, expiresAtMillis } = yield* crossfire.enrollment.submit(waiting, roster([entry("w", "writer")]))
    expect(expiresAtMillis).toBe(7 * 24 * 3600 * 1000)
    const ready = yield* approved(crossfire, roster([entry("c", "critic")], bob))
    yield* TestClock.adjust("6 days")
    yield* TestClock.adjust("23 hours")
    yield* TestClock.adjust("59 minutes")
    yield* crossfire.say(alice, String(code))
    expect((yield* crossfire.enrollment.state(waiting)).state).toBe("pending")
    yield* TestClock.adjust("1 minutes")
    expect(yield* crossfire.enrollment.state(waiting)).toMatchObject({ state: "expired", code: null })
    expect((yield* crossfire.say(alice, `confirm ${code}`))[0]).toContain("has expired")
    expect((yield* crossfire.say(alice, String(code)))[0]).toContain("has expired")
    expect(yield* Effect.flip(crossfire.enrollment.introduce(ready.request))).toStrictEqual(
      new EnrollmentNotReady({ state: "expired" })
    )
    expect(yield* counts(crossfire)).toStrictEqual([0, 0, 0])
    // What was introduced stays so.
    const done = yield* introduced(crossfire, roster([entry("z", "zoe")]))
    yield* TestClock.adjust("30 days")
    expect((yield* crossfire.enrollment.state(done.claim)).state).toBe("introduced")
  }))

it.scoped("an owner has at most 20 open requests, and can reject them all", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    for (let index = 0; index < 20; index++) {
      yield* crossfire.enrollment.submit(yield* newClaim, roster([entry("w", "writer")]))
    }
    const refused = yield* Effect.flip(crossfire.enrollment.submit(yield* newClaim, roster([entry("w", "writer")])))
    expect(refused).toBeInstanceOf(NotAllowed)
    yield* crossfire.enrollment.submit(yield* newClaim, roster([entry("b", "bee")], bob))
    expect(yield* crossfire.say(alice, "reject all")).toStrictEqual(["Rejected 20."])
    yield* crossfire.enrollment.submit(yield* newClaim, roster([entry("w", "writer")]))
    expect(yield* crossfire.enrollment.open(bob)).toMatchObject([{ owner: bob, names: ["bee"] }])
    expect(yield* crossfire.enrollment.open(root)).toHaveLength(2)
  }))

it.scoped("a credential's hash is that of the whole credential, prefix included", () =>
  Effect.gen(function*() {
    const token = yield* newSecret("cff_")
    expect(Redacted.value(token)).toMatch(/^cff_[A-Za-z0-9_-]{43}$/u)
    expect(hashOf(token)).not.toBe(hashOf(Redacted.make(Redacted.value(token).slice(4))))
    expect(hashOf(Redacted.make("abc"))).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }))
