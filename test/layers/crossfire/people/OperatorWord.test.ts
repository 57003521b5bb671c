import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeKnown } from "../../../../src/layers/crossfire/people/OperatorWord.ts"
import { People } from "../../../../src/services/People.ts"
import { alice, bob } from "../World.ts"
import { operator, start } from "./PeopleFixture.ts"

it.scoped("the operator makes a person known as often as they like; one who was deactivated is let in by another word", () =>
  Effect.gen(function*() {
    const { people } = yield* start()
    const word = (...said: Parameters<typeof makeKnown>) => Effect.provideService(makeKnown(...said), People, people)
    yield* word(bob, "administrator")
    expect(yield* word(alice, "member")).toMatchObject({ role: "member" })
    expect(yield* word(alice, "administrator")).toMatchObject({ role: "administrator" })
    expect(yield* word(alice, "member")).toMatchObject({ role: "administrator" })
    yield* people.deactivate(operator, alice)
    const refused = yield* Effect.flip(word(alice, "administrator"))
    expect(refused.message).toContain(`crossfire person reactivate ${alice}`)
    expect((yield* people.list(operator)).find(({ userId }) => userId === alice)).toMatchObject({ active: false })
  }))
