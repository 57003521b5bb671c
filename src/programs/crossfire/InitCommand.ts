// `crossfire init` as a command: its options, and the two questions that it asks a person at a terminal.
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Prompt from "@effect/cli/Prompt"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Logger, Option, Schema } from "effect"
import * as ServerSettings from "../../layers/crossfire/ServerSettings.ts"
import { answer, jsonOption, UsageError, valueOption } from "../CommandLine.ts"
import { dataOption, exitCodeOf } from "./CommandOptions.ts"
import { init, notYetThere } from "./Init.ts"
import * as Installation from "./Installation.ts"
import { isTerminal, promptedPassword } from "./PasswordPrompt.ts"
import { localName } from "./PersonName.ts"

const port = {
  schema: Schema.NumberFromString.pipe(Schema.compose(ServerSettings.Port)),
  takes: "a port number, 1 to 65535"
}
const webAddress = {
  schema: ServerSettings.WebAddress,
  takes: "an address like https://matrix.example.org, without user name or query"
}
const usualHttpPort = 8740

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
    serverName: valueOption("server-name", {
      schema: ServerSettings.ServerName,
      takes: "a host name in lower case, like example.org"
    }).pipe(
      Options.withDescription("Part of every user ID, for ever; localhost for a trial on this machine"),
      Options.withDefault("localhost")
    ),
    httpPort: valueOption("http-port", port).pipe(
      Options.withDescription("Where crossfire listens on this machine"),
      Options.withDefault(usualHttpPort)
    ),
    homeserverPort: valueOption("homeserver-port", port).pipe(
      Options.withDescription("For a managed homeserver; a free one is chosen where it is left out"),
      Options.optional
    ),
    homeserverUrl: valueOption("homeserver-url", webAddress).pipe(
      Options.withDescription("A homeserver of your own, which then gets a registration file"),
      Options.optional
    ),
    pushUrl: valueOption("push-url", webAddress).pipe(
      Options.withDescription("How your own homeserver reaches crossfire"),
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
        if (Option.contains(homeserverPort, httpPort)) {
          return yield* new UsageError({
            reason: `--homeserver-port and --http-port${
              httpPort === usualHttpPort ? ` (${usualHttpPort} where it is left out)` : ""
            } name the same port, ${httpPort}: the homeserver and crossfire need one each`
          })
        }
        const homeserver = Option.match(homeserverUrl, {
          onNone: () => ({ mode: "managed" as const, port: Option.getOrNull(homeserverPort) }),
          onSome: (url) => ({ mode: "own" as const, url, pushUrl: Option.getOrNull(pushUrl) })
        })
        const folder = Installation.dataFolder(data)
        // Before a question is asked for nothing.
        yield* notYetThere(folder)
        const name = yield* localName(yield* adminName(admin), serverName)
        const password = askPassword ? Option.some(yield* promptedPassword) : Option.none()
        return yield* init({ data: folder, serverName, httpPort, homeserver }, { name, password })
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)))
    )
).pipe(Command.withDescription("Make the data folder with its settings, and the first administrator"))
