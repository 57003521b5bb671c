import { expect, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Actor } from "../../../../src/domain/Actor.ts"
import { People } from "../../../../src/services/People.ts"
import {
  alice,
  approved,
  entry,
  hashes,
  newClaim,
  newTokens,
  root,
  roster,
  scratch,
  start
} from "../enrollment/EnrollmentFixture.ts"

const operator = Actor.Operator()

it.scoped("[F50] a deactivated owner sees and confirms no request with the bot, and what they confirmed before makes no agent", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const people = Context.get(crossfire.context, People)
    const early = yield* approved(crossfire, roster([entry("writer")]))
    const later = roster([entry("editor")], alice, "garden")
    const claim = yield* newClaim
    const { code } = yield* crossfire.enrollment.submit(claim, later)
    yield* crossfire.say(alice, String(code))

    yield* people.deactivate(operator, alice)
    for (const text of [String(code), `confirm ${code}`, `reject ${code}`]) {
      expect((yield* crossfire.say(alice, text)).join()).toContain("There is no open request with this code")
    }
    expect((yield* crossfire.say(alice, "reject all")).join()).not.toContain("Rejected")
    expect((yield* crossfire.enrollment.state(claim)).state).toBe("pending")
    expect((yield* Effect.flip(crossfire.enrollment.introduce(early.request)))._tag).toBe("RosterRejected")
    expect((yield* Effect.flip(crossfire.enrollment.submit(yield* newClaim, later)))._tag).toBe("RosterRejected")
    expect(yield* crossfire.rows("SELECT 1 FROM agent")).toStrictEqual([])
    expect(crossfire.users).toStrictEqual([])

    // Active again, the owner decides again; an administrator who was deactivated meanwhile rejects nothing.
    yield* people.reactivate(operator, alice)
    yield* people.setRole(operator, alice, "administrator")
    yield* people.deactivate(operator, root)
    expect((yield* crossfire.say(root, `reject ${code}`)).join()).toContain("There is no open request")
    expect((yield* crossfire.say(alice, `confirm ${code}`)).join()).toContain("Confirmed")
    yield* crossfire.enrollment.introduce(hashes(claim, yield* newTokens(later)))
    expect(yield* crossfire.rows("SELECT name FROM agent")).toStrictEqual([{ name: "editor" }])
  }))
