import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Queue, Stream, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { Actor } from "../../../../src/domain/Actor.ts"
import { AlreadySettled, CodeWrong } from "../../../../src/domain/api/AccessErrors.ts"
import { NotAllowed, NotFound } from "../../../../src/domain/api/CrossfireErrors.ts"
import { AgentId, EnrollmentId, FleetId } from "../../../../src/domain/Ids.ts"
import { Changes } from "../../../../src/services/Changes.ts"
import {
  alice,
  asAlice,
  asBob,
  asRoot,
  bob,
  type Crossfire,
  entry,
  introduced,
  life,
  newClaim,
  roster,
  scratch,
  start
} from "./EnrollmentFixture.ts"

const mine = roster([entry("w", "writer", { instructions: "Write." }), entry("c", "critic")])

const filed = (crossfire: Crossfire, of = mine) =>
  Effect.gen(function*() {
    const claim = yield* newClaim
    const view = yield* crossfire.enrollment.submit(claim, of)
    return { claim, enrollmentId: view.enrollmentId, code: String(view.code), reviewUrl: view.reviewUrl }
  })

const asAgent = Actor.Agent({
  agentId: AgentId.make(randomUUID()),
  fleetId: FleetId.make(randomUUID()),
  owner: alice
})

it.scoped("[I-03] the owner reads the whole request on its page, under the address that fleetd was told, and approves with the code", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { claim, code, enrollmentId, reviewUrl } = yield* filed(crossfire)
    const { enrollment } = crossfire
    expect(reviewUrl).toBe(`https://crossfire.test/requests/${enrollmentId}`)
    const shown = yield* enrollment.request(asAlice, enrollmentId)
    expect(shown).toMatchObject({
      enrollmentId,
      owner: alice,
      fleetKey: "street",
      names: ["writer", "critic"],
      state: "pending",
      roster: mine,
      existing: [],
      mayApprove: true
    })
    // The page never has the code: it would approve what somebody else started.
    expect(Object.keys(shown).toSorted()).toStrictEqual([
      "createdAtMillis",
      "enrollmentId",
      "existing",
      "expiresAtMillis",
      "fleetKey",
      "mayApprove",
      "names",
      "owner",
      "roster",
      "state"
    ])
    expect((yield* enrollment.state(claim)).state).toBe("pending")
    const approved = yield* enrollment.approve(asAlice, enrollmentId, ` ${code.toLowerCase().replace("-", " ")}`)
    expect(approved.state).toBe("approved")
    expect((yield* enrollment.state(claim)).state).toBe("approved")
    expect((yield* enrollment.request(asAlice, enrollmentId)).mayApprove).toBe(false)
    expect(yield* crossfire.rows("SELECT decided_by FROM enrollment")).toStrictEqual([{ decided_by: alice }])
  }))

it.scoped("[I-08] an administrator sees and rejects another owner's request, and approves none", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { enrollment } = crossfire
    const { code, enrollmentId } = yield* filed(crossfire)
    expect((yield* enrollment.request(asRoot, enrollmentId)).mayApprove).toBe(false)
    for (const who of [asRoot, Actor.Operator()]) {
      expect(yield* Effect.flip(enrollment.approve(who, enrollmentId, code))).toBeInstanceOf(NotAllowed)
    }
    expect((yield* enrollment.request(asAlice, enrollmentId)).state).toBe("pending")
    expect((yield* enrollment.reject(asRoot, enrollmentId)).state).toBe("rejected")
    // Rejected after the owner's approval, too, as long as nothing exists.
    const second = yield* filed(crossfire)
    yield* enrollment.approve(asAlice, second.enrollmentId, second.code)
    expect((yield* enrollment.reject(Actor.Operator(), second.enrollmentId)).state).toBe("rejected")
    expect(yield* crossfire.rows("SELECT decided_by FROM enrollment ORDER BY rowid")).toStrictEqual([
      { decided_by: "@root:test" },
      { decided_by: null }
    ])
  }))

it.scoped("[A49] somebody else's request is answered like one that does not exist, whatever is asked of it", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { enrollment } = crossfire
    const { code, enrollmentId } = yield* filed(crossfire)
    const gone = new NotFound({ what: "request" })
    for (const who of [asBob, asAgent]) {
      expect(yield* enrollment.requests(who)).toStrictEqual([])
      for (const id of [enrollmentId, EnrollmentId.make(randomUUID())]) {
        expect(yield* Effect.flip(enrollment.request(who, id))).toStrictEqual(gone)
        expect(yield* Effect.flip(enrollment.approve(who, id, code))).toStrictEqual(gone)
        expect(yield* Effect.flip(enrollment.reject(who, id))).toStrictEqual(gone)
      }
    }
    expect((yield* enrollment.requests(asAlice)).map((request) => request.enrollmentId)).toStrictEqual([enrollmentId])
    yield* filed(crossfire, roster([entry("b", "bee")], bob))
    expect((yield* enrollment.requests(asRoot)).map(({ owner }) => owner)).toStrictEqual([alice, bob])
    expect(yield* enrollment.requests(Actor.Operator())).toHaveLength(2)
  }))

it.scoped("[A18] a decision is recorded once: repeated, turned round, late or by two at a time it is told as it stands", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { enrollment } = crossfire
    const settled = (state: string) => new AlreadySettled({ what: "request", state })
    const one = yield* filed(crossfire)
    const exits = yield* Effect.all(
      Array.from({ length: 5 }, () => Effect.exit(enrollment.approve(asAlice, one.enrollmentId, one.code))),
      { concurrency: "unbounded" }
    )
    expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
    expect(yield* Effect.flip(enrollment.approve(asAlice, one.enrollmentId, one.code))).toStrictEqual(
      settled("approved")
    )
    yield* enrollment.reject(asAlice, one.enrollmentId)
    for (
      const again of [
        enrollment.approve(asAlice, one.enrollmentId, one.code),
        enrollment.reject(asRoot, one.enrollmentId)
      ]
    ) {
      expect(yield* Effect.flip(again)).toStrictEqual(settled("rejected"))
    }
    // The chat and the page decide the same thing.
    const two = yield* filed(crossfire)
    yield* crossfire.say(alice, two.code)
    yield* crossfire.say(alice, `confirm ${two.code}`)
    expect(yield* Effect.flip(enrollment.approve(asAlice, two.enrollmentId, two.code))).toStrictEqual(
      settled("approved")
    )
    const three = yield* filed(crossfire, roster([entry("b", "bee")], bob))
    yield* enrollment.reject(asBob, three.enrollmentId)
    expect((yield* crossfire.say(bob, `confirm ${three.code}`))[0]).toContain("was rejected")
    const late = yield* filed(crossfire, roster([entry("l", "late")]))
    yield* TestClock.adjust("7 days")
    for (
      const ask of [
        enrollment.approve(asAlice, late.enrollmentId, late.code),
        enrollment.reject(asAlice, late.enrollmentId)
      ]
    ) {
      expect(yield* Effect.flip(ask)).toStrictEqual(settled("expired"))
    }
    expect(yield* enrollment.requests(asRoot)).toStrictEqual([])
    expect((yield* enrollment.request(asAlice, late.enrollmentId)).state).toBe("expired")
    const done = yield* introduced(crossfire, roster([entry("d", "done")]))
    const { enrollmentId } = yield* enrollment.state(done.claim)
    expect(yield* Effect.flip(enrollment.reject(asRoot, enrollmentId))).toStrictEqual(settled("introduced"))
  }))

it.scoped("wrong codes are counted by person over all requests: ten in ten minutes, then none is taken, right or wrong", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { enrollment } = crossfire
    const one = yield* filed(crossfire)
    // Filed by somebody else in the owner's name: its page is no way to its approval.
    const other = yield* filed(crossfire, roster([entry("x", "trojan")]))
    const bobs = yield* filed(crossfire, roster([entry("b", "bee")], bob))
    const wrong = [other.code, "", "0000-0000", "confirm", "x".repeat(40)]
    const tries = yield* Effect.forEach(
      Array.from({ length: 10 }, (_, index) => wrong[index % wrong.length] ?? ""),
      (code, index) =>
        Effect.flip(
          enrollment.approve(
            asAlice,
            index % 2 === 0 ? one.enrollmentId : other.enrollmentId,
            code === other.code && index % 2 === 1 ? one.code : code
          )
        ),
      { concurrency: "unbounded" }
    )
    expect(tries.every((error) => error instanceof CodeWrong)).toBe(true)
    yield* TestClock.adjust("1 minutes")
    expect(yield* Effect.flip(enrollment.approve(asAlice, one.enrollmentId, one.code))).toMatchObject({
      _tag: "TooManyAttempts",
      retryAfterMillis: 9 * 60 * 1000
    })
    // Another person is not concerned, and rejecting needs no code.
    yield* enrollment.approve(asBob, bobs.enrollmentId, bobs.code)
    yield* enrollment.reject(asAlice, other.enrollmentId)
    yield* TestClock.adjust("9 minutes")
    expect((yield* enrollment.approve(asAlice, one.enrollmentId, one.code)).state).toBe("approved")
  }))

it.scoped("a request for a fleet that exists shows what it has, without what was retired", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { introduction } = yield* introduced(crossfire, mine)
    const critic = introduction.agents.find(({ key }) => key === "c")
    if (critic === undefined) throw new Error("no critic")
    const { enrollmentId } = yield* filed(crossfire, roster([entry("w", "scribe"), entry("n", "newcomer")]))
    const existing = Effect.map(crossfire.enrollment.request(asAlice, enrollmentId), (request) => request.existing)
    expect(yield* existing).toStrictEqual([{ key: "c", name: "critic" }, { key: "w", name: "writer" }])
    yield* crossfire.fleets.retire(asAlice, critic.agentId)
    expect(yield* existing).toStrictEqual([{ key: "w", name: "writer" }])
  }))

it.scoped("open pages hear that requests and fleets changed: the owner's and administrators', nobody else's", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const changes = Context.get(crossfire.context, Changes)
    const heard = yield* Queue.unbounded<string>()
    for (
      const [name, reader] of [
        ["alice", { userId: alice, administrator: false }],
        ["bob", { userId: bob, administrator: false }],
        ["root", { userId: bob, administrator: true }]
      ] as const
    ) {
      const topics = yield* changes.follow(reader)
      yield* Effect.forkScoped(Stream.runForEach(topics, (topic) => Queue.offer(heard, `${name} ${topic}`)))
    }
    const said = Effect.gen(function*() {
      for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow()
      return [...(yield* Queue.takeAll(heard))].toSorted()
    })
    const requests = ["alice requests", "root requests"]
    const { code, enrollmentId } = yield* filed(crossfire)
    expect(yield* said).toStrictEqual(requests)
    yield* crossfire.enrollment.approve(asAlice, enrollmentId, code)
    expect(yield* said).toStrictEqual(requests)
    yield* crossfire.enrollment.reject(asRoot, enrollmentId)
    expect(yield* said).toStrictEqual(requests)
    yield* Effect.flip(crossfire.enrollment.reject(asRoot, enrollmentId))
    expect(yield* said).toStrictEqual([])
    yield* introduced(crossfire, roster([entry("z", "zoe")]))
    expect(yield* said).toStrictEqual(["alice fleets", "alice requests", "root fleets", "root requests"])
  }))

it.scoped("[I-06] what was decided on a page stands after a restart", () =>
  Effect.gen(function*() {
    const folder = yield* scratch
    const { claim, code, enrollmentId } = yield* life(folder, filed)
    yield* life(folder, ({ enrollment }) => enrollment.approve(asAlice, enrollmentId, code))
    const crossfire = yield* start(folder)
    expect((yield* crossfire.enrollment.state(claim)).state).toBe("approved")
  }))
