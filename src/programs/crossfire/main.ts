// crossfire: the server. `init` makes its data folder, `serve` runs it, `person add` makes people known to it. The layers
// of the running server stand in Serve.ts.
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Logger, Option } from "effect"
import * as ServerSettings from "../../layers/crossfire/ServerSettings.ts"
import { answer, exitCodes, main, UsageError } from "../CommandLine.ts"
import { init } from "./Init.ts"
import * as Installation from "./Installation.ts"
import * as Person from "./Person.ts"
import { serve } from "./Serve.ts"

const said = (text: string) => ({ json: { text }, text })
const failed = () => exitCodes.failed

const data = Options.directory("data").pipe(
  Options.withDescription("The data folder; $XDG_DATA_HOME/crossfire where it is left out"),
  Options.optional
)

const initCommand = Command.make(
  "init",
  {
    data,
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
  ({ data, homeserverPort, homeserverUrl, httpPort, pushUrl, serverName }) =>
    answer(
      "crossfire",
      false,
      failed,
      Effect.gen(function*() {
        if (Option.isSome(homeserverUrl) && Option.isSome(homeserverPort)) {
          return yield* new UsageError({ reason: "--homeserver-port is for a managed homeserver only" })
        }
        if (Option.isNone(homeserverUrl) && Option.isSome(pushUrl)) {
          return yield* new UsageError({ reason: "--push-url goes with --homeserver-url" })
        }
        const homeserver = Option.match(homeserverUrl, {
          onNone: () => ({ mode: "managed" as const, port: Option.getOrNull(homeserverPort) }),
          onSome: (url) => ({ mode: "own" as const, url, pushUrl: Option.getOrNull(pushUrl) })
        })
        return said(yield* init({ data: Installation.dataFolder(data), serverName, httpPort, homeserver }))
      })
    )
).pipe(Command.withDescription("Make the data folder with its settings"))

/** One JSON object a line on standard error; what it holds are names and numbers, never text of anyone. */
const logs = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.jsonLogger))

const serveCommand = Command.make("serve", { data }, ({ data }) =>
  answer(
    "crossfire",
    false,
    failed,
    Effect.as(Effect.flatMap(Installation.read(data), serve), said("")).pipe(Effect.provide(logs))
  )).pipe(Command.withDescription("Run the server until it is told to end"))

const personAdd = Command.make(
  "add",
  {
    data,
    name: Args.text({ name: "name" }),
    admin: Options.boolean("admin").pipe(Options.withDescription("An administrator of this instance")),
    askPassword: Options.boolean("ask-password").pipe(
      Options.withDescription("Ask for the password; where it is left out, one is made and shown once")
    )
  },
  ({ admin, askPassword, data, name }) =>
    answer(
      "crossfire",
      false,
      failed,
      Effect.flatMap(Installation.read(data), (found) => Person.add(found, { name, administrator: admin, askPassword }))
        .pipe(Effect.map(said), Effect.provide([logs, NodeContext.layer]))
    )
).pipe(Command.withDescription("Make a person known, with an account on the managed homeserver"))

const person = Command.make("person").pipe(Command.withSubcommands([personAdd]))

main(
  "crossfire",
  "0.1.0",
  Command.make("crossfire").pipe(Command.withSubcommands([initCommand, serveCommand, person]))
)
