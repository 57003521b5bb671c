// `crossfire init` as a command: its options, and the two questions that it asks a person at a terminal.
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Prompt from "@effect/cli/Prompt"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Logger, Option } from "effect"
import * as ServerSettings from "../../layers/crossfire/ServerSettings.ts"
import { answer, jsonOption, UsageError } from "../CommandLine.ts"
import { dataOption, exitCodeOf } from "./CommandOptions.ts"
import { init, notYetThere } from "./Init.ts"
import * as Installation from "./Installation.ts"
import { isTerminal, promptedPassword } from "./PasswordPrompt.ts"

const adminName = (given: Option.Option<string>) =>
  Effect.gen(function*() {
    if (Option.isSome(given)) return given.value
    if (!(yield* isTerminal)) {
      return yield* new UsageError({
        reason:
          "Name the first administrator of the instance: --admin NAME (the part before the colon of the Matrix ID)"
      })
    }
    return yield* Prompt.run(Prompt.text({ message: "Name of the first administrator (before the colon of the ID)" }))
  }).pipe(Effect.provide(NodeContext.layer))

export const initCommand = Command.make(
  "init",
  {
    data: dataOption,
    json: jsonOption,
    admin: Options.text("admin").pipe(
      Options.withDescription(
        "The first administrator's name, before the colon of the Matrix ID; asked for at a terminal"
      ),
      Options.optional
    ),
    askPassword: Options.boolean("ask-password").pipe(
      Options.withDescription("Ask for the administrator's password; else one is made and put into a private file")
    ),
    serverName: Options.text("server-name").pipe(
      Options.withDescription("Part of every user ID, for ever; localhost for a trial on this machine"),
      Options.withSchema(ServerSettings.ServerName),
      Options.withDefault("localhost")
    ),
    httpPort: Options.integer("http-port").pipe(Options.withSchema(ServerSettings.Port), Options.withDefault(8740)),
    homeserverPort: Options.integer("homeserver-port").pipe(
      Options.withDescription("For a managed homeserver; a free one is chosen where it is left out"),
      Options.withSchema(ServerSettings.Port),
      Options.optional
    ),
    homeserverUrl: Options.text("homeserver-url").pipe(
      Options.withDescription("A homeserver of your own, which then gets a registration file"),
      Options.withSchema(ServerSettings.WebAddress),
      Options.optional
    ),
    pushUrl: Options.text("push-url").pipe(
      Options.withDescription("How your own homeserver reaches crossfire"),
      Options.withSchema(ServerSettings.WebAddress),
      Options.optional
    )
  },
  ({ admin, askPassword, data, homeserverPort, homeserverUrl, httpPort, json, pushUrl, serverName }) =>
    answer(
      "crossfire",
      json,
      exitCodeOf,
      Effect.gen(function*() {
        if (Option.isSome(homeserverUrl) && Option.isSome(homeserverPort)) {
          return yield* new UsageError({ reason: "--homeserver-port is for a managed homeserver only" })
        }
        if (Option.isNone(homeserverUrl) && Option.isSome(pushUrl)) {
          return yield* new UsageError({ reason: "--push-url goes with --homeserver-url" })
        }
        if (Option.isSome(homeserverUrl) && askPassword) {
          return yield* new UsageError({
            reason: "--ask-password is for a managed homeserver: yours has the account already"
          })
        }
        const homeserver = Option.match(homeserverUrl, {
          onNone: () => ({ mode: "managed" as const, port: Option.getOrNull(homeserverPort) }),
          onSome: (url) => ({ mode: "own" as const, url, pushUrl: Option.getOrNull(pushUrl) })
        })
        const folder = Installation.dataFolder(data)
        // Before a question is asked for nothing.
        yield* notYetThere(folder)
        const name = yield* adminName(admin)
        const password = askPassword ? Option.some(yield* promptedPassword) : Option.none()
        return yield* init({ data: folder, serverName, httpPort, homeserver }, { name, password })
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)))
    )
).pipe(Command.withDescription("Make the data folder with its settings, and the first administrator"))
