// Asks for a password at the terminal, twice and without an echo.
import * as Prompt from "@effect/cli/Prompt"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Redacted, Schema } from "effect"

const minPasswordCharacters = 12

export class PasswordsDiffer extends Schema.TaggedError<PasswordsDiffer>()("PasswordsDiffer", {}) {
  override get message(): string {
    return "The two passwords differ; nothing was made"
  }
}

export class NoTerminal extends Schema.TaggedError<NoTerminal>()("NoTerminal", {}) {
  override get message(): string {
    return "--ask-password needs a terminal to ask at; without it a password is made and put into a private file. " +
      "Nothing was made"
  }
}

export const isTerminal = Effect.sync(() => process.stdin.isTTY && process.stderr.isTTY)

export const promptedPassword = Effect.gen(function*() {
  // At the end of its input the prompt would wait for ever.
  if (!(yield* isTerminal)) return yield* new NoTerminal()
  const first = yield* Prompt.run(Prompt.password({
    message: "Password",
    validate: (text) =>
      text.length >= minPasswordCharacters
        ? Effect.succeed(text)
        : Effect.fail(`at least ${minPasswordCharacters} characters, please`)
  }))
  const second = yield* Prompt.run(Prompt.password({ message: "The same again" }))
  return Redacted.value(first) === Redacted.value(second) ? first : yield* new PasswordsDiffer()
}).pipe(Effect.provide(NodeContext.layer))
