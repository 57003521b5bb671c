import { expect, it } from "@effect/vitest"
import { Clock, Effect, Either, Option, TestClock } from "effect"
import { Actor } from "../../../../src/domain/Actor.ts"
import type { UserId } from "../../../../src/domain/Ids.ts"
import { HomeserverUnavailable, MatrixRefused } from "../../../../src/services/Matrix.ts"
import { People } from "../../../../src/services/People.ts"
import { Sessions } from "../../../../src/services/Sessions.ts"
import { alice, bob, make, until, user, type World } from "../World.ts"
import { watched } from "./SignInFixture.ts"

const carol = user("carol")

/** Added by the operator and signed in; afterwards whether the session holds. */
const present = (userId: UserId, role: "member" | "administrator" = "member") =>
  Effect.gen(function*() {
    yield* Effect.flatMap(People, (people) => people.add(Actor.Operator(), userId, role))
    const sessions = yield* Sessions
    const { secret } = yield* sessions.begin(userId, "Firefox")
    return { holds: Effect.map(Effect.either(sessions.find(secret, userId)), Either.isRight) }
  })

const isActive = (userId: UserId) =>
  Effect.map(
    Effect.flatMap(People, (people) => people.find(userId)),
    Option.exists(({ active }) => active)
  )

const accounts = (world: World, ...people: ReadonlyArray<UserId>) =>
  Effect.forEach(people, world.human.register, { discard: true })

it.scoped("[A11] [F50] sessions of a person end within minutes after the account was deactivated, the last administrator's too", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* accounts(world, alice, bob, carol)
    yield* Effect.gen(function*() {
      const signedIn = yield* Effect.all({
        alice: present(alice, "administrator"),
        bob: present(bob),
        carol: present(carol)
      })
      yield* world.human.deactivate(alice)
      yield* world.human.deactivate(bob)
      expect(yield* signedIn.alice.holds).toBe(true)
      yield* TestClock.adjust("5 minutes")
      yield* until("alice's has ended", Effect.map(signedIn.alice.holds, (holds) => !holds))
      yield* until("bob's has ended", Effect.map(signedIn.bob.holds, (holds) => !holds))
      expect(yield* signedIn.carol.holds).toBe(true)
      expect(yield* Effect.all([isActive(alice), isActive(bob), isActive(carol)])).toStrictEqual([false, false, true])
    }).pipe(Effect.provide(watched(world.outside)))
  }))

it.scoped("[F50] whoever leaves a room that crossfire sees is looked at then", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* accounts(world, alice, bob)
    yield* Effect.gen(function*() {
      const signedIn = yield* present(bob)
      const room = yield* world.human.createRoom(alice, { invite: [writer.userId, bob] })
      yield* world.human.join(bob, room)
      yield* world.push
      yield* world.human.deactivate(bob)
      yield* world.push
      yield* until("bob's has ended", Effect.map(signedIn.holds, (holds) => !holds))
    }).pipe(Effect.provide(watched(world.outside)))
  }))

it.scoped("an account that is not known yet, or a homeserver that does not answer, ends nobody's session", () =>
  Effect.gen(function*() {
    let down = false
    let asked = 0
    const world = yield* make({
      before: (operation) =>
        Effect.suspend(() => {
          if (operation !== "accountState") return Effect.void
          asked += 1
          return down ? Effect.fail(new HomeserverUnavailable({ operation, status: null })) : Effect.void
        })
    })
    yield* accounts(world, alice)
    yield* Effect.gen(function*() {
      const [early, known] = yield* Effect.all([present(bob), present(alice)])
      down = true
      yield* TestClock.adjust("5 minutes")
      yield* until("asked in vain", Effect.sync(() => asked > 0))
      down = false
      const before = asked
      yield* TestClock.adjust("5 minutes")
      yield* until("asked both", Effect.sync(() => asked >= before + 2))
      yield* TestClock.adjust("5 minutes")
      expect(yield* Effect.all([early.holds, known.holds])).toStrictEqual([true, true])
    }).pipe(Effect.provide(watched(world.outside)))
  }))

it.scoped("[F50] an account of which the homeserver will not tell keeps nobody else's from being looked at", () =>
  Effect.gen(function*() {
    let roundAtMillis = -1
    const world = yield* make({
      before: (operation) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          if (operation !== "accountState" || now === roundAtMillis) return Effect.void
          // The first of every round.
          roundAtMillis = now
          return Effect.fail(new MatrixRefused({ operation, status: 400, errcode: "M_INVALID_PARAM" }))
        })
    })
    const others = Array.from({ length: 8 }, (_, at) => user(`a${at}`))
    yield* accounts(world, bob, ...others)
    yield* Effect.gen(function*() {
      yield* present(alice, "administrator")
      yield* Effect.forEach(others, (other) => present(other), { discard: true })
      const signedIn = yield* present(bob)
      yield* world.human.deactivate(bob)
      yield* TestClock.adjust("5 minutes")
      yield* until("bob's has ended", Effect.map(signedIn.holds, (holds) => !holds))
    }).pipe(Effect.provide(watched(world.outside)))
  }))
