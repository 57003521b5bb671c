// How the command-line programs answer: text or JSON on standard output, an error with its next step on standard error, and
// an exit code that a script can act on.
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Schema } from "effect"

export const exitCodes = { ok: 0, failed: 1, usage: 2, notRunning: 3, refused: 4 } as const

/** The command line says something that cannot be meant. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** Whatever a command fails with: a tag for scripts, a message for people. */
export interface CommandFailure {
  readonly _tag: string
  readonly message: string
}

export interface Answer {
  /** What `--json` prints; nothing but plain values. */
  readonly json: unknown
  /** What a person reads; without a line feed at its end. */
  readonly text: string
}

export const jsonOption = Options.boolean("json").pipe(Options.withDescription("Answer in JSON, errors too"))

interface Checked<A, I extends string> {
  readonly schema: Schema.Schema<A, I>
  /** In words, for whoever gave something else: "a whole number from 1 to 30". */
  readonly takes: string
}

const checked = <A, I extends string>(named: string, { schema, takes }: Checked<A, I>) => {
  const decode = Schema.decodeUnknown(schema)
  return (text: string) => Effect.mapError(decode(text), () => HelpDoc.p(`${named} takes ${takes}`))
}

/** An option whose value is not any text: a wrong one is told by the option's name and by what it takes. */
export const valueOption = <A, I extends string>(name: string, values: Checked<A, I>): Options.Options<A> => {
  const check = checked(`--${name}`, values)
  return Options.mapEffect(
    Options.text(name),
    (text) => Effect.mapError(check(text), (error) => ValidationError.invalidValue(error))
  )
}

/** The same for an argument. */
export const valueArgument = <A, I extends string>(name: string, values: Checked<A, I>): Args.Args<A> =>
  Args.mapEffect(Args.text({ name }), checked(name, values))

export const wholeNumber = (least: number, most: number): Checked<number, string> => ({
  schema: Schema.NumberFromString.pipe(Schema.int(), Schema.between(least, most)),
  takes: `a whole number from ${least} to ${most}`
})

/** Control characters as visible escapes: nothing that a name or a reason holds can steer the terminal. */
export const visible = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => character === "\n" ? "\n" : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  )

const write = (stream: NodeJS.WriteStream, text: string) =>
  Effect.async<void>((resume) => {
    stream.write(`${text}\n`, () => resume(Effect.void))
  })

/** One line of progress for people, beside the answer. */
export const note = (text: string) => write(process.stderr, visible(text))

const toJson = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const leave = (code: number) =>
  Effect.sync(() => {
    process.exitCode = code
  })

/** Runs a command's effect and prints what came of it. `codeOf` tells a failure's exit code by its tag. */
export const answer = <R>(
  program: string,
  json: boolean,
  codeOf: (tag: string) => number,
  command: Effect.Effect<Answer, CommandFailure, R>
): Effect.Effect<void, never, R> =>
  Effect.matchEffect(command, {
    onSuccess: (said) => write(process.stdout, json ? toJson(said.json) : visible(said.text)),
    onFailure: ({ _tag, message }) =>
      Effect.zipRight(
        leave(_tag === "UsageError" ? exitCodes.usage : codeOf(_tag)),
        write(
          process.stderr,
          json ? toJson({ error: { tag: _tag, message } }) : `${program}: ${visible(message)}`
        )
      )
  })

/** The whole program: arguments, command, end. A usage error was printed by the parser already. */
export const main = <Name extends string, A>(
  program: string,
  version: string,
  command: Command.Command<Name, never, ValidationError.ValidationError, A>
): void =>
  Command.run(command, { name: program, version })(process.argv).pipe(
    Effect.catchAll(() => leave(exitCodes.usage)),
    Effect.catchAllDefect((defect) =>
      Effect.zipRight(
        leave(exitCodes.failed),
        write(process.stderr, `${program}: an internal error: ${visible(Cause.pretty(Cause.die(defect)))}`)
      )
    ),
    Effect.provide(NodeContext.layer),
    NodeRuntime.runMain({ disableErrorReporting: true, disablePrettyLogger: true })
  )
