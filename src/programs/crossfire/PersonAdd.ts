// `crossfire person add NAME [--admin]`: an account on the managed homeserver, and the person known to the instance.
// The password is asked for, or made and shown once; it is passed to the homeserver and kept nowhere.
import * as Prompt from "@effect/cli/Prompt"
import { Console, Effect, Option, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { Actor, type PersonRole } from "../../domain/Actor.ts"
import { UserId } from "../../domain/Ids.ts"
import { People } from "../../services/People.ts"
import { AccountNameInvalid, PersonAccounts } from "../../services/PersonAccounts.ts"

const minPasswordCharacters = 12
const generatedBytes = 15

/** 120 random bits. */
export const generatedPassword: Effect.Effect<Redacted.Redacted> = Effect.sync(() =>
  Redacted.make(randomBytes(generatedBytes).toString("base64url"))
)

class PasswordsDiffer extends Schema.TaggedError<PasswordsDiffer>()("PasswordsDiffer", {}) {
  override get message(): string {
    return "The two passwords differ; nothing was made"
  }
}

/** Asked for twice, without an echo. */
class NoTerminal extends Schema.TaggedError<NoTerminal>()("NoTerminal", {}) {
  override get message(): string {
    return "--ask-password needs a terminal to ask at; without it a password is made and shown. Nothing was made"
  }
}

export const promptedPassword = Effect.gen(function*() {
  // At the end of its input the prompt would wait for ever.
  if (!process.stdin.isTTY) return yield* new NoTerminal()
  const first = yield* Prompt.run(Prompt.password({
    message: "Password",
    validate: (text) =>
      text.length >= minPasswordCharacters
        ? Effect.succeed(text)
        : Effect.fail(`at least ${minPasswordCharacters} characters, please`)
  }))
  const second = yield* Prompt.run(Prompt.password({ message: "The same again" }))
  return Redacted.value(first) === Redacted.value(second) ? first : yield* new PasswordsDiffer()
})

/** Known already is no harm, and nobody ceases to be an administrator by it. Whoever was deactivated stays so. */
export const makeKnown = (userId: UserId, role: PersonRole) =>
  Effect.gen(function*() {
    const people = yield* People
    const operator = Actor.Operator()
    const settled = yield* people.add(operator, userId, role).pipe(
      Effect.as(null),
      Effect.catchTag("AlreadySettled", (settled) => Effect.succeed(settled))
    )
    if (settled === null) return
    if (settled.state !== "known") return yield* settled
    if (role === "administrator") yield* people.setRole(operator, userId, role)
  })

export interface PersonAddOptions {
  /** The local part of the Matrix user ID. */
  readonly name: string
  readonly serverName: string
  readonly administrator: boolean
  /** From `promptedPassword`; none: one is made and shown. */
  readonly password: Option.Option<Redacted.Redacted>
}

const decodeUserId = Schema.decode(UserId)

/**
 * Twice is no harm: an account that exists keeps its password, and is made known. A made password is shown before the
 * account is made, so that no crash leaves an account whose password nobody has seen.
 */
export const personAdd = ({ administrator, name, password: given, serverName }: PersonAddOptions) =>
  Effect.gen(function*() {
    const accounts = yield* PersonAccounts
    const userId = yield* Effect.mapError(
      decodeUserId(`@${name}:${serverName}`),
      () => new AccountNameInvalid({ localpart: name, reason: "characters" })
    )
    // Matrix takes capital letters in old user IDs, and no homeserver makes a new one: told before a password is shown.
    if (!/^[a-z0-9._=/+-]+$/u.test(name)) {
      return yield* new AccountNameInvalid({ localpart: name, reason: "characters" })
    }
    const password = Option.isSome(given) ? given.value : yield* generatedPassword
    if (Option.isNone(given)) {
      yield* Console.log(`Password of ${userId}, shown this once: ${Redacted.value(password)}`)
    }
    const account = yield* accounts.create(name, password).pipe(
      Effect.as("made" as const),
      Effect.catchTag("AccountExists", () => Effect.succeed("existing" as const))
    )
    yield* makeKnown(userId, administrator ? "administrator" : "member")
    const known = administrator ? "an administrator of" : "known to"
    yield* Console.log(
      account === "made"
        ? `${userId} can sign in, and is ${known} this instance now.`
        : `${userId} had an account already and keeps its password; the one above is not its own. It is ${known} this instance now.`
    )
    return { userId, account }
  })
