// crossfire: the server. `init` makes its data folder and its first administrator, `serve` runs it, and the other commands
// ask one that runs. The layers of the running server stand in Serve.ts.
import * as Command from "@effect/cli/Command"
import { Effect, Logger } from "effect"
import { answer, exitCodes, main } from "../CommandLine.ts"
import { dataOption } from "./CommandOptions.ts"
import { initCommand } from "./InitCommand.ts"
import * as Installation from "./Installation.ts"
import { personCommand } from "./PersonCommands.ts"
import { serve } from "./Serve.ts"
import { inviteCommand, signupCommand } from "./SignupCommands.ts"

/** One JSON object a line on standard error; what it holds are names and numbers, never text of anyone. */
const logs = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.jsonLogger))

const serveCommand = Command.make("serve", { data: dataOption }, ({ data }) =>
  answer(
    "crossfire",
    false,
    () => exitCodes.failed,
    Effect.as(Effect.flatMap(Installation.read(data), serve), { json: {}, text: "" }).pipe(Effect.provide(logs))
  )).pipe(Command.withDescription("Run the server until it is told to end"))

main(
  "crossfire",
  "0.1.0",
  Command.make("crossfire").pipe(
    Command.withSubcommands([initCommand, serveCommand, personCommand, inviteCommand, signupCommand])
  )
)
