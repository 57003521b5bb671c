import { expect, it } from "@effect/vitest"
import { Context, Effect, type Redacted, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { Actor } from "../../../../src/domain/Actor.ts"
import { AgentRetired, NameTaken } from "../../../../src/domain/api/AccessErrors.ts"
import type { SecretHash } from "../../../../src/domain/api/Crossfire.ts"
import { NotAllowed, NotFound, RosterRejected, Unauthorized } from "../../../../src/domain/api/CrossfireErrors.ts"
import { AgentId, FleetId } from "../../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../../src/domain/Roster.ts"
import { hashOf, newSecret } from "../../../../src/layers/crypto/Secret.ts"
import { FleetLeases } from "../../../../src/services/FleetLeases.ts"
import { HomeserverUnavailable } from "../../../../src/services/Matrix.ts"
import { Revocations } from "../../../../src/services/Revocations.ts"
import {
  alice,
  approved,
  asAlice,
  asBob,
  asRoot,
  bob,
  type Crossfire,
  entry,
  hashes,
  introduced,
  life,
  newTokens,
  roster,
  scratch,
  start
} from "../enrollment/EnrollmentFixture.ts"

const mine = roster([entry("c", "critic"), entry("w", "writer")])
const named = (name: string) => RegisteredName.make(name)

const enrolled = (crossfire: Crossfire, of = mine) =>
  Effect.map(introduced(crossfire, of), (result) => {
    const agent = (key: string) => {
      const known = result.introduction.agents.find((each) => each.key === key)
      const token = result.tokens.agents.find((each) => each.key === key)?.token
      if (known === undefined || token === undefined) throw new Error(`no agent ${key}`)
      return { ...known, token }
    }
    return { ...result, fleetId: result.introduction.fleetId, fleetToken: result.tokens.fleet, agent }
  })

const refused = (crossfire: Crossfire, kind: "fleet" | "agent", token: Redacted.Redacted) =>
  Effect.map(Effect.flip(crossfire.credentials[kind](token, "peer")), (error) => error instanceof Unauthorized)

/** Which of these credentials' ends were announced while the work ran. */
const ended = <A, E, R>(
  crossfire: Crossfire,
  of: ReadonlyArray<Parameters<typeof Revocations.Service.ended>[0]>,
  work: Effect.Effect<A, E, R>
) =>
  Effect.scoped(Effect.gen(function*() {
    const revocations = Context.get(crossfire.context, Revocations)
    const waits = yield* Effect.forEach(of, (one) => revocations.ended(one))
    const heard = waits.map(() => false)
    yield* Effect.forEach(
      waits,
      (wait, index) => Effect.forkScoped(Effect.zipRight(wait, Effect.sync(() => void (heard[index] = true))))
    )
    yield* Effect.yieldNow()
    yield* work
    for (let turn = 0; turn < 10; turn++) yield* Effect.yieldNow()
    return heard
  }))

const leased = (crossfire: Crossfire, fleetId: FleetId) =>
  Context.get(crossfire.context, FleetLeases).acquire({ fleetId, root: randomUUID(), holder: "desk", takeOver: true })

it.scoped("[H-06] owners see and manage their own fleets, administrators any; what is not theirs does not exist", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { fleets } = crossfire
    const hers = yield* enrolled(crossfire)
    yield* enrolled(crossfire, roster([entry("b", "bee")], bob, "hive"))
    const { agentId } = hers.agent("w")
    const keys = (by: Actor) => Effect.map(fleets.list(by), (found) => found.map(({ key }) => key))
    expect(yield* keys(asAlice)).toStrictEqual(["street"])
    expect(yield* keys(asBob)).toStrictEqual(["hive"])
    expect(yield* keys(asRoot)).toStrictEqual(["street", "hive"])
    expect(yield* keys(Actor.Operator())).toStrictEqual(["street", "hive"])
    const itself = Actor.Agent({ agentId, fleetId: hers.fleetId, owner: alice })
    expect(yield* keys(itself)).toStrictEqual([])
    const before = yield* fleets.list(asRoot)
    for (const by of [asBob, itself]) {
      for (const id of [agentId, AgentId.make(randomUUID())]) {
        for (
          const attempt of [
            fleets.rename(by, id, named("stolen")),
            fleets.setMayInviteAgents(by, id, true),
            fleets.revokeAgentCredential(by, id),
            fleets.retire(by, id)
          ]
        ) expect(yield* Effect.flip(attempt)).toStrictEqual(new NotFound({ what: "agent" }))
      }
      for (const id of [hers.fleetId, FleetId.make(randomUUID())]) {
        expect(yield* Effect.flip(fleets.revokeFleetCredentials(by, id))).toStrictEqual(new NotFound({ what: "fleet" }))
      }
    }
    expect(yield* fleets.list(asRoot)).toStrictEqual(before)
    expect((yield* fleets.rename(asRoot, agentId, named("scribe"))).displayName).toBe("scribe (alice)")
    expect((yield* fleets.setMayInviteAgents(Actor.Operator(), agentId, true)).mayInviteAgents).toBe(true)
  }))

it.scoped("[R-02] bringing in other agents is off until the owner or an administrator allows it", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { fleets } = crossfire
    const { agent } = yield* enrolled(crossfire)
    const { agentId } = agent("w")
    const allowed = Effect.map(
      fleets.list(asAlice),
      ([fleet]) => fleet?.agents.map(({ key, mayInviteAgents }) => [key, mayInviteAgents])
    )
    expect(yield* allowed).toStrictEqual([["c", false], ["w", false]])
    expect((yield* fleets.setMayInviteAgents(asAlice, agentId, true)).mayInviteAgents).toBe(true)
    expect(yield* allowed).toStrictEqual([["c", false], ["w", true]])
    // Enrolling again gives nothing and takes nothing.
    yield* enrolled(crossfire)
    expect(yield* allowed).toStrictEqual([["c", false], ["w", true]])
    expect((yield* fleets.setMayInviteAgents(asRoot, agentId, false)).mayInviteAgents).toBe(false)
  }))

it.scoped("a fleet tells who holds its lease, and nobody once that is over", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { fleetId } = yield* enrolled(crossfire)
    const controller = Effect.map(crossfire.fleets.list(asAlice), ([fleet]) => fleet?.controller)
    expect(yield* controller).toBe(null)
    yield* leased(crossfire, fleetId)
    expect(yield* controller).toBe("desk")
    yield* TestClock.adjust("30 seconds")
    expect(yield* controller).toBe(null)
  }))

it.scoped("[I-10] a rename keeps UUID, Matrix user and credential; the display name follows once the homeserver answers", () =>
  Effect.gen(function*() {
    const folder = yield* scratch
    let down = false
    const unavailable = new HomeserverUnavailable({ operation: "displayname", status: null })
    const onUser = Effect.suspend(() => down ? Effect.fail(unavailable) : Effect.void)
    const { agentId, token, userId } = yield* life(
      folder,
      (crossfire) => Effect.map(enrolled(crossfire), ({ agent }) => agent("w"))
    )
    yield* Effect.scoped(Effect.gen(function*() {
      const crossfire = yield* start(folder, { onUser })
      yield* TestClock.adjust("1 seconds")
      crossfire.users.length = 0
      down = true
      const renamed = yield* crossfire.fleets.rename(asAlice, agentId, named("scribe"))
      expect(renamed).toMatchObject({ agentId, userId, name: "scribe", displayName: "scribe (alice)", key: "w" })
      expect((yield* crossfire.credentials.agent(token, "peer")).agentId).toBe(agentId)
      yield* TestClock.adjust("10 seconds")
      expect(crossfire.users.length).toBeGreaterThan(2)
      expect(yield* crossfire.rows("SELECT name FROM agent WHERE registered_at IS NULL")).toStrictEqual([
        { name: "scribe" }
      ])
      // A second name while the first waits: the newest is what people see in the end.
      yield* crossfire.fleets.rename(asAlice, agentId, named("author"))
    }))
    // crossfire was killed meanwhile; its next start makes up for it without anybody asking.
    down = false
    const crossfire = yield* start(folder, { onUser })
    yield* TestClock.adjust("1 seconds")
    expect(crossfire.users).toStrictEqual([`${userId} author (alice)`])
    expect(yield* crossfire.rows("SELECT 1 FROM agent WHERE registered_at IS NULL")).toStrictEqual([])
    // The same name again changes nothing and asks nobody.
    yield* crossfire.fleets.rename(asAlice, agentId, named("author"))
    yield* TestClock.adjust("1 hours")
    expect(crossfire.users).toHaveLength(1)
  }))

it.scoped("[A30] [I-02] no name that looks like another's is given by renaming, those of retired agents included", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { fleets } = crossfire
    const { agent } = yield* enrolled(crossfire)
    const bobs = yield* enrolled(crossfire, roster([entry("b", "bee")], bob))
    yield* fleets.retire(asAlice, agent("c").agentId)
    for (
      const [name, like] of [["writer", "writer"], ["wr1ter", "writer"], ["vvriter", "writer"], [
        "cr-itic",
        "critic"
      ]] as const
    ) {
      expect(yield* Effect.flip(fleets.rename(asBob, bobs.agent("b").agentId, named(name)))).toStrictEqual(
        new NameTaken({ name, like })
      )
    }
    // Its own name in another writing is no other's.
    expect((yield* fleets.rename(asAlice, agent("w").agentId, named("wr1ter"))).name).toBe("wr1ter")
  }))

it.scoped("a retired agent stays listed under its name, and nothing of it changes any more", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { fleets } = crossfire
    const { agent } = yield* enrolled(crossfire)
    const { agentId, token, userId } = agent("w")
    yield* fleets.setMayInviteAgents(asAlice, agentId, true)
    let view
    expect(
      yield* ended(
        crossfire,
        [{ agent: agentId }, { agent: agent("c").agentId }],
        Effect.gen(function*() {
          view = yield* fleets.retire(asAlice, agentId)
        })
      )
    ).toStrictEqual([true, false])
    expect(view).toMatchObject({ agentId, userId, name: "writer", standing: "retired", credential: "revoked" })
    expect(yield* refused(crossfire, "agent", token)).toBe(true)
    const retired = new AgentRetired({ name: "writer" })
    for (
      const attempt of [
        fleets.retire(asAlice, agentId),
        fleets.rename(asRoot, agentId, named("ghost")),
        fleets.setMayInviteAgents(asAlice, agentId, false),
        fleets.revokeAgentCredential(asAlice, agentId)
      ]
    ) expect(yield* Effect.flip(attempt)).toStrictEqual(retired)
    expect((yield* fleets.list(asAlice))[0]?.agents.map(({ key, standing }) => [key, standing])).toStrictEqual([
      ["c", "active"],
      ["w", "retired"]
    ])
  }))

it.scoped("[I-05] a roster with a retired agent's key is refused whole at its introduction, by entry; without it, taken", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { agent } = yield* enrolled(crossfire)
    const waiting = yield* approved(crossfire, roster([entry("w", "writer"), entry("n", "newcomer")]))
    yield* crossfire.fleets.retire(asAlice, agent("w").agentId)
    const error = yield* Effect.flip(crossfire.enrollment.introduce(waiting.request))
    expect(error).toBeInstanceOf(RosterRejected)
    expect(error).toMatchObject({ problems: [{ entry: "w", reason: "agent-retired" }] })
    expect(yield* crossfire.rows("SELECT 1 FROM agent WHERE instance_key = 'n'")).toStrictEqual([])
    yield* enrolled(crossfire, roster([entry("c", "critic"), entry("n", "newcomer")]))
  }))

it.scoped("[A12] a revoked credential is refused at once and for ever; the fleet gets a new one by rotation or a new claim", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { fleets } = crossfire
    const first = yield* enrolled(crossfire)
    const writer = first.agent("w")
    expect(
      yield* ended(
        crossfire,
        [{ agent: writer.agentId }, { fleet: first.fleetId }],
        fleets.revokeAgentCredential(asAlice, writer.agentId)
      )
    ).toStrictEqual([true, false])
    expect(yield* refused(crossfire, "agent", writer.token)).toBe(true)
    expect((yield* fleets.revokeAgentCredential(asAlice, writer.agentId)).credential).toBe("revoked")

    expect(
      yield* ended(
        crossfire,
        [{ fleet: first.fleetId }, { agent: first.agent("c").agentId }],
        fleets.revokeFleetCredentials(asRoot, first.fleetId)
      )
    ).toStrictEqual([true, true])
    expect(yield* refused(crossfire, "fleet", first.fleetToken)).toBe(true)
    expect(yield* refused(crossfire, "agent", first.agent("c").token)).toBe(true)
    const view = yield* fleets.revokeFleetCredentials(asAlice, first.fleetId)
    expect(view).toMatchObject({
      credential: "revoked",
      agents: [{ credential: "revoked" }, { credential: "revoked" }]
    })

    // No claim brings a revoked credential back: neither a fleet's nor an agent's, nor in another fleet's name.
    const fresh = yield* newTokens(mine)
    const forged = [
      { fleet: first.fleetToken, agents: fresh.agents },
      { fleet: fresh.fleet, agents: first.tokens.agents }
    ]
    const again = yield* approved(crossfire, mine)
    for (const tokens of forged) {
      const error = yield* Effect.flip(crossfire.enrollment.introduce(hashes(again.claim, tokens)))
      expect(error).toBeInstanceOf(NotAllowed)
      expect(error.message).toContain("make new ones")
    }
    const bobs = yield* approved(crossfire, roster([entry("b", "bee")], bob))
    const stolen = { fleet: first.fleetToken, agents: bobs.tokens.agents }
    expect(yield* Effect.flip(crossfire.enrollment.introduce(hashes(bobs.claim, stolen)))).toBeInstanceOf(NotAllowed)
    const back = yield* crossfire.enrollment.introduce(again.request)
    expect(back).toStrictEqual(first.introduction)
    expect((yield* fleets.list(asAlice))[0]).toMatchObject({
      credential: "valid",
      agents: [{ credential: "valid" }, { credential: "valid" }]
    })
    expect((yield* crossfire.credentials.fleet(again.tokens.fleet, "peer")).fleetId).toBe(first.fleetId)
  }))

it.scoped("an introduction that replaces the fleet's credential ends the open streams of the former ones", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const first = yield* enrolled(crossfire)
    const next = yield* approved(crossfire, mine)
    const of = [{ fleet: first.fleetId }, { agent: first.agent("w").agentId }]
    expect(yield* ended(crossfire, of, crossfire.enrollment.introduce(next.request))).toStrictEqual([true, true])
    expect(yield* ended(crossfire, of, crossfire.enrollment.introduce(next.request))).toStrictEqual([false, false])
  }))

const rotation = (agents: ReadonlyArray<{ readonly agentId: AgentId }>) =>
  Effect.gen(function*() {
    const fleet = yield* newSecret("cff_")
    const secrets = yield* Effect.forEach(agents, ({ agentId }) =>
      Effect.map(newSecret("cfa_"), (token) => ({ agentId, token })))
    return {
      fleet,
      agents: secrets,
      request: {
        fleetToken: hashOf(fleet),
        agentTokens: secrets.map(({ agentId, token }) => ({ agentId, token: hashOf(token) }))
      }
    }
  })

it.scoped("[A12] a rotation replaces all or none, ends the former ones at once, and gives the same answer when repeated", () =>
  Effect.gen(function*() {
    const folder = yield* scratch
    const { first, next } = yield* life(folder, (crossfire) =>
      Effect.gen(function*() {
        const first = yield* enrolled(crossfire)
        const stamp = yield* leased(crossfire, first.fleetId)
        const next = yield* rotation([first.agent("c"), first.agent("w")])
        const of = [{ fleet: first.fleetId }, { agent: first.agent("w").agentId }]
        const { rotateCredentials } = crossfire.fleets
        expect(yield* ended(crossfire, of, rotateCredentials(first.fleetId, stamp, next.request))).toStrictEqual([
          true,
          true
        ])
        expect(yield* refused(crossfire, "fleet", first.fleetToken)).toBe(true)
        expect(yield* refused(crossfire, "agent", first.agent("w").token)).toBe(true)
        return { first, next }
      }))
    // The answer was lost and crossfire restarted: asked again under the new credential.
    const crossfire = yield* start(folder)
    const { fleetId } = yield* crossfire.credentials.fleet(next.fleet, "peer")
    const stamp = yield* leased(crossfire, fleetId)
    const again = crossfire.fleets.rotateCredentials(fleetId, stamp, next.request)
    expect(yield* again).toStrictEqual({ rotated: 3 })
    expect(yield* ended(crossfire, [{ fleet: fleetId }], again)).toStrictEqual([false])
    for (const { agentId, token } of next.agents) {
      expect((yield* crossfire.credentials.agent(token, "peer")).agentId).toBe(agentId)
    }
    // The former ones are never taken again, by nobody.
    const back = { ...next.request, fleetToken: hashOf(first.fleetToken) }
    expect(yield* Effect.flip(crossfire.fleets.rotateCredentials(fleetId, stamp, back))).toBeInstanceOf(NotAllowed)
    // An agent whose credential was revoked gets a new one by rotation, not the revoked one back.
    const writer = first.agent("w")
    yield* crossfire.fleets.revokeAgentCredential(asAlice, writer.agentId)
    expect(yield* Effect.flip(again)).toBeInstanceOf(NotAllowed)
    const fresh = yield* rotation([writer])
    expect(yield* crossfire.fleets.rotateCredentials(fleetId, stamp, fresh.request)).toStrictEqual({ rotated: 2 })
    expect((yield* crossfire.credentials.agent(fresh.agents[0]?.token ?? fresh.fleet, "peer")).agentId).toBe(
      writer.agentId
    )
    // The agent that was not named keeps the credential it had.
    const critic = next.agents[0]
    if (critic === undefined) throw new Error("no critic")
    expect((yield* crossfire.credentials.agent(critic.token, "peer")).agentId).toBe(first.agent("c").agentId)
  }))

it.scoped("[C-04] a rotation under a stale lease, for foreign or retired agents, or with used credentials changes nothing", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { rotateCredentials } = crossfire.fleets
    const first = yield* enrolled(crossfire, roster([entry("c", "critic"), entry("r", "relic"), entry("w", "writer")]))
    const bobs = yield* enrolled(crossfire, roster([entry("b", "bee")], bob))
    yield* crossfire.fleets.retire(asAlice, first.agent("r").agentId)
    const stale = yield* leased(crossfire, first.fleetId)
    const stamp = yield* leased(crossfire, first.fleetId)
    const { request } = yield* rotation([first.agent("c"), first.agent("w")])
    const [one, two] = request.agentTokens
    if (one === undefined || two === undefined) throw new Error("two agents")
    const stored = crossfire.rows("SELECT token_hash FROM fleet UNION ALL SELECT token_hash FROM agent ORDER BY 1")
    const before = yield* stored
    expect((yield* Effect.flip(rotateCredentials(first.fleetId, stale, request)))._tag).toBe("StaleGeneration")
    const wrong: ReadonlyArray<typeof request> = [
      { ...request, agentTokens: [one, { ...two, agentId: bobs.agent("b").agentId }] },
      { ...request, agentTokens: [one, { ...two, agentId: AgentId.make(randomUUID()) }] },
      { ...request, agentTokens: [one, { ...two, agentId: first.agent("r").agentId }] },
      { ...request, agentTokens: [one, { ...one, token: two.token }] },
      { ...request, agentTokens: [one, { ...two, token: one.token }] },
      { ...request, fleetToken: one.token },
      { ...request, agentTokens: [one, { ...two, token: hashOf(bobs.agent("b").token) }] },
      { ...request, fleetToken: hashOf(bobs.fleetToken) },
      // One agent's present credential for another: never both for a moment.
      { ...request, agentTokens: [one, { ...two, token: hashOf(first.agent("c").token) }] },
      { ...request, fleetToken: hashOf(first.agent("r").token) satisfies SecretHash }
    ]
    for (const attempt of wrong) {
      expect(yield* Effect.flip(rotateCredentials(first.fleetId, stamp, attempt))).toBeInstanceOf(NotAllowed)
      expect(yield* stored).toStrictEqual(before)
    }
    expect(yield* crossfire.rows("SELECT COUNT(*) AS count FROM revoked_token")).toStrictEqual([{ count: 1 }])
    yield* rotateCredentials(first.fleetId, stamp, request)
    expect(yield* refused(crossfire, "fleet", first.fleetToken)).toBe(true)
  }))
