// What the commands of crossfire have in common: the data folder, how one is answered, and the exit code of a failure.
import * as Options from "@effect/cli/Options"
import { Effect, type Option } from "effect"
import { type Answer, answer, type CommandFailure, exitCodes } from "../CommandLine.ts"
import * as Installation from "./Installation.ts"

export const dataOption = Options.directory("data").pipe(
  Options.withDescription("The data folder; $XDG_DATA_HOME/crossfire where it is left out"),
  Options.optional
)

const refusals = new Set([
  "AccountNameInvalid",
  "AlreadyInitialized",
  "NotAllowed",
  "NotFound",
  "LastAdministrator",
  "TooMany",
  "AlreadySettled",
  "PersonRefused"
])

export const exitCodeOf = (tag: string): number =>
  tag === "ServerNotRunning" ? exitCodes.notRunning : refusals.has(tag) ? exitCodes.refused : exitCodes.failed

/** Answers a command that works on the installation in the data folder. */
export const answerOn = <R>(
  { data, json }: { readonly data: Option.Option<string>; readonly json: boolean },
  command: (installation: Installation.Installation) => Effect.Effect<Answer, CommandFailure, R>
): Effect.Effect<void, never, R> =>
  answer("crossfire", json, exitCodeOf, Effect.flatMap(Installation.read(data), command))
