// Makes a person known by the operator's word, as often as it is given.
import { Effect, Schema } from "effect"
import { Actor, type PersonRole } from "../../../domain/Actor.ts"
import { UserId } from "../../../domain/Ids.ts"
import { People } from "../../../services/People.ts"

export class PersonDeactivated extends Schema.TaggedError<PersonDeactivated>()("PersonDeactivated", {
  userId: UserId
}) {
  override get message(): string {
    return `${this.userId} is known and deactivated. To let them in again: crossfire person reactivate ${this.userId}`
  }
}

/** Known already is no harm, and nobody ceases to be an administrator by it. Whoever was deactivated stays so. */
export const makeKnown = (userId: UserId, role: PersonRole) =>
  Effect.gen(function*() {
    const people = yield* People
    const by = Actor.Operator()
    return yield* people.add(by, userId, role).pipe(
      Effect.catchTag("AlreadySettled", (settled) =>
        Effect.gen(function*() {
          if (settled.state !== "known") return yield* new PersonDeactivated({ userId })
          if (role === "administrator") return yield* people.setRole(by, userId, role)
          const listed = (yield* people.list(by)).find((person) => person.userId === userId)
          return listed ?? (yield* settled)
        }))
    )
  })
