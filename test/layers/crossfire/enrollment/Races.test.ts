import { expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as FastCheck from "effect/FastCheck"
import { NameTaken } from "../../../../src/domain/api/AccessErrors.ts"
import { RosterRejected } from "../../../../src/domain/api/CrossfireErrors.ts"
import type { UserId } from "../../../../src/domain/Ids.ts"
import { nameSkeleton, RegisteredName, type Roster } from "../../../../src/domain/Roster.ts"
import {
  alice,
  asAlice,
  asBob,
  bob,
  type Crossfire,
  entry,
  hashes,
  introduced,
  newClaim,
  newTokens,
  roster,
  scratch,
  start
} from "./EnrollmentFixture.ts"

const capacity = { maxAgentsPerOwner: 10_000, maxAgentsPerInstance: 10_000 }

/** Letters that no other letter or digit looks like: numbers that are different look different. */
const letters = "abcdefghjk"
const word = (number: number): string => [...String(number)].map((digit) => letters.charAt(Number(digit))).join("")

const approvedOnPage = (crossfire: Crossfire, of: Roster) =>
  Effect.gen(function*() {
    const claim = yield* newClaim
    const { code, enrollmentId } = yield* crossfire.enrollment.submit(claim, of)
    yield* crossfire.enrollment.approve(of.owner === alice ? asAlice : asBob, enrollmentId, String(code))
    return { claim, roster: of, request: hashes(claim, yield* newTokens(of)) }
  })

const agentsOf = (crossfire: Crossfire, owner: UserId, fleet: string) =>
  Effect.map(
    crossfire.rows<{ readonly name: string }>(
      `SELECT name FROM agent JOIN fleet USING (fleet_id)
       WHERE fleet.owner = '${owner}' AND fleet_key = '${fleet}' ORDER BY name`
    ),
    (rows) => rows.map(({ name }) => name)
  )

const rounds = 200

it.scopedLive(
  `[I-05] [A48] two enrollments race for one name, ${rounds} rounds: one is taken whole, the other not at all`,
  () =>
    Effect.gen(function*() {
      const crossfire = yield* start(yield* scratch, capacity)
      const won = { alice: 0, bob: 0 }
      for (let round = 0; round < rounds; round++) {
        const name = `x${word(round)}`
        const fleet = `round-${round}`
        const hers = yield* approvedOnPage(
          crossfire,
          roster([entry("a", `y${word(round)}`), entry("b", name)], alice, fleet)
        )
        const his = yield* approvedOnPage(
          crossfire,
          roster([entry("p", `z${word(round)}`), entry("q", `x-${word(round)}`)], bob, fleet)
        )
        const order = round % 2 === 0 ? [hers, his] : [his, hers]
        const exits = yield* Effect.forEach(order, ({ request }) =>
          Effect.exit(crossfire.enrollment.introduce(request)), {
          concurrency: "unbounded"
        })
        expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
        const winner = order[exits.findIndex(Exit.isSuccess)]
        const loser = winner === hers ? his : hers
        won[winner === hers ? "alice" : "bob"] += 1
        const refused = yield* Effect.flip(crossfire.enrollment.introduce(loser.request))
        expect(refused).toBeInstanceOf(RosterRejected)
        expect(refused).toMatchObject({ problems: [{ entry: loser === hers ? "b" : "q", reason: "name-taken" }] })
        expect(yield* agentsOf(crossfire, winner?.roster.owner ?? alice, fleet)).toHaveLength(2)
        expect(yield* agentsOf(crossfire, loser.roster.owner, fleet)).toStrictEqual([])
        const standing = yield* crossfire.enrollment.state(loser.claim)
        expect(standing.state).toBe("approved")
        yield* crossfire.enrollment.reject(loser === hers ? asAlice : asBob, standing.enrollmentId)
      }
      expect(won.alice + won.bob).toBe(rounds)
      expect(yield* crossfire.rows("SELECT COUNT(*) AS count FROM agent")).toStrictEqual([{ count: 2 * rounds }])
      expect(yield* crossfire.rows("SELECT COUNT(*) AS count FROM fleet")).toStrictEqual([{ count: rounds }])
      expect(yield* crossfire.rows("SELECT COUNT(*) AS count FROM wake_policy")).toStrictEqual([{ count: 2 * rounds }])
    }),
  120_000
)

it.scopedLive(
  "[I-05] a rename and an introduction race for one name: one gets it, the other is told why",
  () =>
    Effect.gen(function*() {
      const crossfire = yield* start(yield* scratch, capacity)
      const { introduction } = yield* introduced(crossfire, roster([entry("w", "writer")]))
      const agentId = introduction.agents[0]?.agentId
      if (agentId === undefined) throw new Error("no agent")
      for (let round = 0; round < 20; round++) {
        const name = `x${word(round)}`
        const his = yield* approvedOnPage(crossfire, roster([entry("q", `x-${word(round)}`)], bob, `round-${round}`))
        const rename = Effect.exit(crossfire.fleets.rename(asAlice, agentId, RegisteredName.make(name)))
        const introduce = Effect.exit(crossfire.enrollment.introduce(his.request))
        const [renamed, taken] = round % 2 === 0
          ? yield* Effect.all([rename, introduce], { concurrency: "unbounded" })
          : yield* Effect.map(
            Effect.all([introduce, rename], { concurrency: "unbounded" }),
            ([one, two]) => [two, one] as const
          )
        expect([Exit.isSuccess(renamed), Exit.isSuccess(taken)].filter(Boolean)).toHaveLength(1)
        if (Exit.isSuccess(renamed)) {
          expect(yield* Effect.flip(crossfire.enrollment.introduce(his.request))).toBeInstanceOf(RosterRejected)
        } else {
          expect(yield* Effect.flip(crossfire.fleets.rename(asAlice, agentId, RegisteredName.make(name))))
            .toBeInstanceOf(NameTaken)
        }
      }
    }),
  60_000
)

it.scopedLive("two renames race for one name: one gets it", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { introduction } = yield* introduced(crossfire, roster([entry("c", "critic"), entry("w", "writer")]))
    const exits = yield* Effect.forEach(
      introduction.agents,
      ({ agentId }) => Effect.exit(crossfire.fleets.rename(asAlice, agentId, RegisteredName.make("author"))),
      { concurrency: "unbounded" }
    )
    expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
  }))

const names = ["writer", "wr1ter", "vvriter", "critic", "cr-itic", "editor", "scribe", "bee"]
const keys = ["a", "b", "c"]
const anyKey = FastCheck.constantFrom(...keys)
const anyName = FastCheck.constantFrom(...names)
const anyOwner = FastCheck.constantFrom(alice, bob)
const step = FastCheck.oneof(
  FastCheck.record({
    act: FastCheck.constant("enroll" as const),
    owner: anyOwner,
    entries: FastCheck.uniqueArray(FastCheck.record({ key: anyKey, name: anyName }), {
      minLength: 1,
      maxLength: 3,
      selector: ({ key }) => key
    })
  }),
  FastCheck.record({ act: FastCheck.constant("rename" as const), owner: anyOwner, key: anyKey, name: anyName }),
  FastCheck.record({ act: FastCheck.constant("retire" as const), owner: anyOwner, key: anyKey }),
  FastCheck.record({ act: FastCheck.constant("revoke" as const), owner: anyOwner, key: anyKey })
)
type Step = typeof step extends FastCheck.Arbitrary<infer A> ? A : never

interface Identity {
  readonly agent_id: string
  readonly user_id: string
  readonly retired: number
}

const sequence = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const seen = new Map<string, Identity>()
    const find = (owner: UserId, key: string) =>
      Effect.map(
        crossfire.fleets.list(owner === alice ? asAlice : asBob),
        (fleets) => fleets.flatMap(({ agents }) => agents).find((agent) => agent.key === key)
      )
    for (const each of steps) {
      const by = each.owner === alice ? asAlice : asBob
      if (each.act === "enroll") {
        const of = roster(each.entries.map(({ key, name }) => entry(key, name)), each.owner)
        // Refused at filing or at the introduction, for a name, a key or a retired agent: nothing changes then.
        yield* Effect.option(
          Effect.flatMap(approvedOnPage(crossfire, of), ({ request }) => crossfire.enrollment.introduce(request))
        )
      } else {
        const agent = yield* find(each.owner, each.key)
        if (agent === undefined) continue
        const { agentId } = agent
        yield* Effect.option(
          each.act === "rename"
            ? crossfire.fleets.rename(by, agentId, RegisteredName.make(each.name))
            : each.act === "retire"
            ? crossfire.fleets.retire(by, agentId)
            : crossfire.fleets.revokeAgentCredential(by, agentId)
        )
      }
      const rows = yield* crossfire.rows<
        Identity & { readonly key: string; readonly name: string; readonly skeleton: string }
      >(
        `SELECT owner || ' ' || instance_key AS key, agent_id, user_id, name, name_skeleton AS skeleton,
                retired_at IS NOT NULL AS retired FROM agent`
      )
      expect(rows.length).toBeGreaterThanOrEqual(seen.size)
      for (const { agent_id, key, name, retired, skeleton, user_id } of rows) {
        const before = seen.get(key)
        expect({ agent_id, user_id }).toStrictEqual(
          before === undefined ? { agent_id, user_id } : { agent_id: before.agent_id, user_id: before.user_id }
        )
        expect(retired).toBeGreaterThanOrEqual(before?.retired ?? 0)
        expect(skeleton).toBe(nameSkeleton(name))
        seen.set(key, { agent_id, user_id, retired })
      }
      expect(new Set(rows.map(({ skeleton }) => skeleton)).size).toBe(rows.length)
    }
    return seen.size
  })

it(
  "[I-10] [I-01] whatever is enrolled, renamed, retired and revoked in any order: identities stay, no two names look alike",
  async () => {
    let agents = 0
    await FastCheck.assert(
      FastCheck.asyncProperty(FastCheck.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        agents += await Effect.runPromise(Effect.scoped(sequence(steps)))
      }),
      { numRuns: 25 }
    )
    expect(agents).toBeGreaterThan(25)
  },
  120_000
)
