// `crossfire init`: a private data folder with its settings. It starts nothing, and changes nothing that is there already.
import { Effect, Schema } from "effect"
import { existsSync } from "node:fs"
import * as HomeserverTokens from "../../layers/crossfire/HomeserverTokens.ts"
import { settingsPath } from "../../layers/crossfire/ServerSettings.ts"
import * as ServerSettings from "../../layers/crossfire/ServerSettings.ts"
import { steps } from "../../layers/homeserver/HomeserverRegistration.ts"
import { privateFile, privateFolder, writeRegistration } from "../../layers/homeserver/Registration.ts"
import { registrationOf, registrationPath } from "./Homeserver.ts"

export class AlreadyInitialized extends Schema.TaggedError<AlreadyInitialized>()("AlreadyInitialized", {
  path: Schema.String
}) {
  override get message(): string {
    return `${this.path} is there already and was not changed. Edit it, or use another folder with --data`
  }
}

export interface InitOptions {
  readonly data: string
  readonly serverName: string
  readonly httpPort: number
  readonly homeserver:
    | { readonly mode: "managed"; readonly port: number | null }
    | { readonly mode: "own"; readonly url: string; readonly pushUrl: string | null }
}

const text = Schema.encodeSync(Schema.parseJson(Schema.String))

const managedLines = (port: number | null): ReadonlyArray<string> => [
  "mode = \"managed\"",
  "# The port on this machine where people's Matrix clients connect.",
  port === null ? "# port = 8008" : `port = ${port}`,
  "# How clients elsewhere reach it, through your reverse proxy.",
  "# public_url = \"https://matrix.example.org\""
]

const ownLines = (url: string, pushUrl: string | null): ReadonlyArray<string> => [
  "mode = \"own\"",
  `url = ${text(url)}`,
  "# How people's clients reach it, where that is another address.",
  "# public_url = \"https://matrix.example.org\"",
  "# How the homeserver reaches crossfire, when that is not this machine's own address.",
  pushUrl === null ? "# push_url = \"https://crossfire.example.org\"" : `push_url = ${text(pushUrl)}`
]

/** The settings as a file for people. */
export const settingsFile = ({ homeserver, httpPort, serverName }: InitOptions): string =>
  [
    "# crossfire's settings. They are read at its start.",
    "",
    "# Part of every user ID, and fixed for ever once people have accounts.",
    `server_name = ${text(serverName)}`,
    "",
    "# The Matrix client that invited people are pointed to.",
    "# element_url = \"https://app.element.io\"",
    "",
    "[http]",
    "# crossfire listens on 127.0.0.1 alone.",
    `port = ${httpPort}`,
    "# Where people open the web pages, through your reverse proxy (https).",
    "# public_url = \"https://crossfire.example.org\"",
    "# The proxy's own address, so that requests are counted by whoever made them.",
    "# trusted_proxies = [\"127.0.0.1\"]",
    "",
    "[homeserver]",
    ...homeserver.mode === "managed" ? managedLines(homeserver.port) : ownLines(homeserver.url, homeserver.pushUrl),
    ""
  ].join("\n")

/** Answers what is to be done next. */
export const init = (options: InitOptions) =>
  Effect.gen(function*() {
    const { data, homeserver } = options
    const path = settingsPath(data)
    if (yield* Effect.sync(() => existsSync(path))) return yield* new AlreadyInitialized({ path })
    yield* privateFolder(data)
    const written = `Settings are in ${path}.`
    if (homeserver.mode === "managed") {
      yield* privateFile(path, settingsFile(options))
      return [
        written,
        `Start crossfire with: crossfire serve --data ${data}`,
        `Then make the first person: crossfire person add NAME --admin --data ${data}`
      ].join("\n")
    }
    const tokens = yield* HomeserverTokens.make(data)
    const settings: ServerSettings.ServerSettings = {
      server_name: options.serverName,
      element_url: "https://app.element.io",
      http: { port: options.httpPort, trusted_proxies: [] },
      homeserver: {
        mode: "own",
        url: homeserver.url,
        ...homeserver.pushUrl === null ? {} : { push_url: homeserver.pushUrl }
      }
    }
    const registration = registrationOf(settings, homeserver.pushUrl ?? undefined, tokens)
    yield* writeRegistration(registrationPath(data), registration)
    // Last, so that what was cut off before it can be done again.
    yield* privateFile(path, settingsFile(options))
    return `${written}\n\n${steps(registrationPath(data), registration)}`
  })
