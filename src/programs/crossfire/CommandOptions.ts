// What the commands of crossfire have in common: the data folder, and the exit code of a failure.
import * as Options from "@effect/cli/Options"
import { exitCodes } from "../CommandLine.ts"

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
