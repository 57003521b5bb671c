import { expect, it } from "@effect/vitest"
import { Effect, FastCheck, Fiber, Option, Stream } from "effect"
import { Actor, type PersonRole } from "../../../../src/domain/Actor.ts"
import { AgentId, FleetId, UserId } from "../../../../src/domain/Ids.ts"
import type { NewSession } from "../../../../src/services/Sessions.ts"
import { alice, bob, mallory, serverName, user } from "../World.ts"
import { administrator, member, operator, start } from "./PeopleFixture.ts"

const root = user("root")

it.scoped("[H-06] only administrators decide about people, by what they are now and not by what a session said", () =>
  Effect.gen(function*() {
    const { add, people } = yield* start()
    yield* add(root, "administrator")
    yield* add(alice)
    yield* add(bob, "administrator")
    const agent = Actor.Agent({
      agentId: AgentId.make("11111111-1111-4111-8111-111111111111"),
      fleetId: FleetId.make("22222222-2222-4222-8222-222222222222"),
      owner: root
    })
    yield* people.setRole(operator, bob, "member")
    // Bob's session was proven while he was an administrator.
    for (const by of [member(alice), member(bob), administrator(bob), administrator(mallory), agent]) {
      expect((yield* Effect.flip(people.list(by)))._tag).toBe("NotAllowed")
      expect((yield* Effect.flip(people.add(by, mallory, "member")))._tag).toBe("NotAllowed")
      expect((yield* Effect.flip(people.setRole(by, alice, "administrator")))._tag).toBe("NotAllowed")
      expect((yield* Effect.flip(people.deactivate(by, alice)))._tag).toBe("NotAllowed")
      expect((yield* Effect.flip(people.reactivate(by, alice)))._tag).toBe("NotAllowed")
      expect((yield* Effect.flip(people.deactivate(by, mallory)))._tag).toBe("NotAllowed")
    }
    expect((yield* Effect.flip(people.setRole(administrator(root), mallory, "member")))._tag).toBe("NotFound")
    expect((yield* people.add(administrator(root), mallory, "member")).addedBy).toBe(root)
    expect((yield* people.list(administrator(root))).map(({ addedBy, role, userId }) => [userId, role, addedBy]))
      .toStrictEqual([[alice, "member", null], [bob, "member", null], [mallory, "member", root], [
        root,
        "administrator",
        null
      ]])
    const again = yield* Effect.flip(people.add(operator, mallory, "administrator"))
    expect(again).toMatchObject({ _tag: "AlreadySettled", state: "known" })
    expect(Option.getOrThrow(yield* people.find(mallory)).role).toBe("member")
  }))

it.scoped("[A31] nobody of another server, no agent and none of crossfire's own users is ever a person", () =>
  Effect.gen(function*() {
    const { add, agent, people } = yield* start("managed")
    yield* add(alice)
    const scribe = user("scribe")
    yield* agent(alice, scribe)
    const strangers = [
      UserId.make("@alice:evil.test"),
      UserId.make(`@alice:${serverName}.evil.test`),
      UserId.make(`@alice:${serverName}:8448`),
      UserId.make(`@alice:${serverName.toUpperCase()}`),
      user("cf-bot"),
      user("cf-0123456789abcdef"),
      user("CF-bot"),
      scribe
    ]
    for (const stranger of strangers) {
      expect([stranger, yield* people.admit(stranger)]).toStrictEqual([stranger, Option.none()])
      expect([stranger, yield* people.wouldAdmit(stranger)]).toStrictEqual([stranger, false])
      expect((yield* Effect.flip(people.add(operator, stranger, "administrator")))._tag).toBe("NotAllowed")
      expect(Option.isNone(yield* people.find(stranger))).toBe(true)
    }
  }))

it.scoped("[H-01] whoever has an account comes in on a managed homeserver; on one's own who was added, or all if it is open", () =>
  Effect.gen(function*() {
    const managed = yield* start("managed")
    expect(yield* managed.people.wouldAdmit(alice)).toBe(true)
    expect(Option.isNone(yield* managed.people.find(alice))).toBe(true)
    expect(Option.getOrThrow(yield* managed.people.admit(alice))).toStrictEqual({
      userId: alice,
      role: "member",
      active: true
    })
    yield* managed.people.setRole(operator, alice, "administrator")
    expect(Option.getOrThrow(yield* managed.people.admit(alice)).role).toBe("administrator")
    const known = yield* managed.people.list(operator)
    expect(known.find(({ userId }) => userId === alice)?.addedBy).toBe(alice)

    const own = yield* start("own")
    yield* own.add(alice)
    for (const policy of ["invite", "members"]) {
      yield* own.execute(`UPDATE instance SET signup = '${policy}'`)
      expect(yield* own.people.wouldAdmit(alice)).toBe(true)
      expect(yield* own.people.wouldAdmit(bob)).toBe(false)
      expect(Option.isNone(yield* own.people.admit(bob))).toBe(true)
    }
    yield* own.execute("UPDATE instance SET signup = 'open'")
    expect(yield* own.people.wouldAdmit(bob)).toBe(true)
    expect(Option.getOrThrow(yield* own.people.admit(bob)).role).toBe("member")

    // Deactivated stays deactivated, however open the instance is.
    yield* own.people.deactivate(operator, bob)
    expect(yield* own.people.wouldAdmit(bob)).toBe(false)
    expect(Option.getOrThrow(yield* own.people.admit(bob)).active).toBe(false)
  }))

it.scoped("the last administrator stays one; of two who demote or deactivate each other at once, one fails", () =>
  Effect.gen(function*() {
    const { add, people } = yield* start()
    yield* add(root, "administrator")
    yield* add(alice)
    for (const by of [operator, administrator(root)]) {
      expect((yield* Effect.flip(people.setRole(by, root, "member")))._tag).toBe("LastAdministrator")
      expect((yield* Effect.flip(people.deactivate(by, root)))._tag).toBe("LastAdministrator")
    }
    for (const strike of ["demote", "deactivate"]) {
      yield* people.setRole(operator, alice, "administrator")
      const against = (by: UserId, whom: UserId) =>
        Effect.exit(
          strike === "demote"
            ? people.setRole(administrator(by), whom, "member")
            : people.deactivate(administrator(by), whom)
        )
      const exits = yield* Effect.all([against(root, alice), against(alice, root)], { concurrency: 2 })
      expect(exits.map((exit) => exit._tag).toSorted()).toStrictEqual(["Failure", "Success"])
      const [left] = (yield* people.list(operator)).filter(({ active, role }) => active && role === "administrator")
      expect(left?.userId).toBe(exits[0]._tag === "Success" ? root : alice)
      yield* people.setRole(operator, root, "administrator")
      yield* people.reactivate(operator, root)
    }
    // A deactivated administrator is no administrator who could take over.
    yield* people.deactivate(operator, alice)
    expect((yield* Effect.flip(people.deactivate(operator, root)))._tag).toBe("LastAdministrator")
    // An account that is gone is gone, whoever it was.
    yield* people.accountGone(root)
    expect(Option.getOrThrow(yield* people.find(root)).active).toBe(false)
  }))

it.scoped("[A11] [F50] a changed role and a deactivation end every session and every open stream, the same role again none", () =>
  Effect.gen(function*() {
    const { add, holds, listening, people, sessions, signedIn } = yield* start()
    yield* add(root, "administrator")
    yield* add(alice)
    const others = yield* signedIn(root)
    const ends: ReadonlyArray<
      [string, Effect.Effect<unknown, Effect.Effect.Error<ReturnType<typeof people.setRole>>>]
    > = [
      ["promoted", people.setRole(operator, alice, "administrator")],
      ["demoted", people.setRole(operator, alice, "member")],
      ["deactivated", people.deactivate(operator, alice)],
      ["account gone", people.accountGone(alice)]
    ]
    for (const [how, end] of ends) {
      const [first, second] = [yield* signedIn(alice), yield* signedIn(alice)]
      const ended = yield* listening({ session: first.principal.sessionId })
      yield* people.setRole(operator, alice, first.principal.role)
      expect([how, yield* holds(first), yield* ended.isOver]).toStrictEqual([how, true, false])
      yield* end
      expect([how, yield* holds(first), yield* holds(second), yield* ended.isOver]).toStrictEqual([
        how,
        false,
        false,
        true
      ])
      expect(yield* sessions.list(first.principal)).toStrictEqual([])
      if (Option.getOrThrow(yield* people.find(alice)).active) continue
      expect((yield* Effect.flip(signedIn(alice)))._tag).toBe("Unauthorized")
      // Nothing comes back with the person.
      yield* people.reactivate(operator, alice)
      expect([how, yield* holds(first)]).toStrictEqual([how, false])
    }
    expect(yield* holds(others)).toBe(true)
  }))

it.scoped("open pages of administrators and of whoever is concerned hear of it, each topic once, others do not", () =>
  Effect.gen(function*() {
    const { add, changes, people, signedIn } = yield* start()
    yield* add(root, "administrator")
    yield* add(alice)
    yield* add(bob)
    yield* signedIn(alice)
    const heard = (userId: UserId, isAdministrator: boolean) =>
      Effect.map(
        changes.follow({ userId, administrator: isAdministrator }),
        (stream) => Effect.map(Effect.fork(Stream.runCollect(Stream.take(stream, 2))), Fiber.join).pipe(Effect.flatten)
      )
    const [atRoot, atAlice, atBob] = [yield* heard(root, true), yield* heard(alice, false), yield* heard(bob, false)]
    yield* people.setRole(operator, alice, "administrator")
    yield* people.setRole(operator, alice, "member")
    for (const topics of [yield* atRoot, yield* atAlice]) {
      expect([...topics].toSorted()).toStrictEqual(["people", "sessions"])
    }
    yield* changes.publish("signup", null)
    yield* people.deactivate(operator, bob)
    expect([...(yield* atBob)]).toStrictEqual(["signup", "people"])
  }))

const names = ["root", "alice", "bob"] as const
const roles = FastCheck.constantFrom<[PersonRole, PersonRole]>("member", "administrator")
const name = FastCheck.constantFrom(...names)
const actor = FastCheck.oneof(
  { weight: 3, arbitrary: FastCheck.record({ by: name, as: roles }) },
  { weight: 1, arbitrary: FastCheck.constant(null) }
)
const step = FastCheck.oneof(
  FastCheck.record({ do: FastCheck.constant("add" as const), by: actor, whom: name, role: roles }),
  FastCheck.record({ do: FastCheck.constant("setRole" as const), by: actor, whom: name, role: roles }),
  FastCheck.record({
    do: FastCheck.constantFrom("deactivate" as const, "reactivate" as const),
    by: actor,
    whom: name
  }),
  FastCheck.record({ do: FastCheck.constant("signIn" as const), whom: name }),
  FastCheck.record({ do: FastCheck.constant("admit" as const), whom: name })
)

interface ModelPerson {
  role: PersonRole
  active: boolean
  sessions: Array<NewSession>
}

const outcomeOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  effect.pipe(Effect.as("done"), Effect.catchAll((error) => Effect.succeed<string>(error._tag)))

it.effect.prop(
  "whatever several actors do in whatever order: somebody administers, and sessions are active people's alone",
  [FastCheck.array(step, { minLength: 1, maxLength: 25 })],
  ([steps]) =>
    Effect.scoped(Effect.gen(function*() {
      const { holds, people, signedIn } = yield* start()
      const model = new Map<string, ModelPerson>()
      const administrators = () => [...model.values()].filter((one) => one.active && one.role === "administrator")
      const isAdministrator = (by: string) => {
        const one = model.get(by)
        return one !== undefined && one.active && one.role === "administrator"
      }
      const ended: Array<NewSession> = []
      const end = (one: ModelPerson) => void ended.push(...one.sessions.splice(0))
      let administered = false
      for (const each of steps) {
        const whom = user(each.whom)
        const one = model.get(each.whom)
        if (each.do === "signIn") {
          const begun = yield* Effect.option(signedIn(whom))
          expect(Option.isSome(begun)).toBe(one?.active === true)
          if (Option.isSome(begun)) one?.sessions.push(begun.value)
          continue
        }
        if (each.do === "admit") {
          yield* people.admit(whom)
          if (one === undefined) model.set(each.whom, { role: "member", active: true, sessions: [] })
          continue
        }
        const by = each.by === null ? operator : Actor.Person({ userId: user(each.by.by), role: each.by.as })
        const allowed = each.by === null || isAdministrator(each.by.by)
        const others = administrators().filter((other) => other !== one).length
        const isLast = one !== undefined && one.active && one.role === "administrator" && others === 0
        switch (each.do) {
          case "add": {
            const expected = !allowed ? "NotAllowed" : one !== undefined ? "AlreadySettled" : "done"
            expect(yield* outcomeOf(people.add(by, whom, each.role))).toBe(expected)
            if (expected === "done") model.set(each.whom, { role: each.role, active: true, sessions: [] })
            break
          }
          case "setRole": {
            const expected = !allowed
              ? "NotAllowed"
              : one === undefined
              ? "NotFound"
              : isLast && each.role === "member"
              ? "LastAdministrator"
              : "done"
            expect(yield* outcomeOf(people.setRole(by, whom, each.role))).toBe(expected)
            if (expected === "done" && one !== undefined && one.role !== each.role) {
              one.role = each.role
              end(one)
            }
            break
          }
          case "deactivate": {
            const expected = !allowed
              ? "NotAllowed"
              : one === undefined
              ? "NotFound"
              : isLast
              ? "LastAdministrator"
              : "done"
            expect(yield* outcomeOf(people.deactivate(by, whom))).toBe(expected)
            if (expected === "done" && one !== undefined) {
              one.active = false
              end(one)
            }
            break
          }
          case "reactivate": {
            const expected = !allowed ? "NotAllowed" : one === undefined ? "NotFound" : "done"
            expect(yield* outcomeOf(people.reactivate(by, whom))).toBe(expected)
            if (expected === "done" && one !== undefined) one.active = true
            break
          }
        }
        administered ||= administrators().length > 0
      }
      const listed = yield* people.list(operator)
      expect(listed.map(({ active, role, sessions, userId }) => [userId, { role, active, sessions }])).toStrictEqual(
        [...model].map(([id, { active, role, sessions }]) => [user(id), { role, active, sessions: sessions.length }])
          .toSorted()
      )
      expect(listed.some(({ active, role }) => active && role === "administrator")).toBe(administered)
      for (const session of [...model.values()].flatMap((one) => one.sessions)) expect(yield* holds(session)).toBe(true)
      for (const session of ended) expect(yield* holds(session)).toBe(false)
    })),
  { fastCheck: { numRuns: 60 } }
)
