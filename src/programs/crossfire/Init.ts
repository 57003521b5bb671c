// `crossfire init`: a private data folder with its settings and the first administrator. It changes nothing of a folder that
// is whole already, and leaves nothing running.
import { Context, Effect, Layer, Option, type Redacted, Schema } from "effect"
import { existsSync } from "node:fs"
import { UserId } from "../../domain/Ids.ts"
import { registrationGate } from "../../domain/Signup.ts"
import * as HomeserverTokens from "../../layers/crossfire/HomeserverTokens.ts"
import { makeKnown } from "../../layers/crossfire/people/OperatorWord.ts"
import * as PersonAccount from "../../layers/crossfire/people/PersonAccount.ts"
import { storedPolicy } from "../../layers/crossfire/people/SqliteSignup.ts"
import { settingsPath } from "../../layers/crossfire/ServerSettings.ts"
import * as ServerSettings from "../../layers/crossfire/ServerSettings.ts"
import { steps } from "../../layers/homeserver/HomeserverRegistration.ts"
import { privateFile, privateFolder, writeRegistration } from "../../layers/homeserver/Registration.ts"
import { AccountNameInvalid, PersonAccounts } from "../../services/PersonAccounts.ts"
import { RegistrationTokens } from "../../services/RegistrationTokens.ts"
import { database, people } from "./Database.ts"
import { prepare, registrationOf, registrationPath } from "./Homeserver.ts"
import { type Installation, root } from "./Installation.ts"

export class AlreadyInitialized extends Schema.TaggedError<AlreadyInitialized>()("AlreadyInitialized", {
  path: Schema.String
}) {
  override get message(): string {
    return `${this.path} is there already and was not changed. Edit it, or use another folder with --data. While crossfire runs there, another administrator is made with: crossfire person add NAME --admin`
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

const settingsOf = ({ homeserver, httpPort, serverName }: InitOptions): ServerSettings.ServerSettings => ({
  server_name: serverName,
  element_url: "https://app.element.io",
  http: { port: httpPort, trusted_proxies: [] },
  homeserver: homeserver.mode === "managed"
    ? { mode: "managed", settings: {}, ...homeserver.port === null ? {} : { port: homeserver.port } }
    : {
      mode: "own",
      url: homeserver.url,
      ...homeserver.pushUrl === null ? {} : { push_url: homeserver.pushUrl }
    }
})

export const notYetThere = (data: string): Effect.Effect<void, AlreadyInitialized> =>
  Effect.suspend(() => {
    const path = settingsPath(data)
    return existsSync(path) ? Effect.fail(new AlreadyInitialized({ path })) : Effect.void
  })

/** The tokens and the registration of a homeserver of your own; new ones whenever it is done again. */
const registered = (options: InitOptions) =>
  Effect.gen(function*() {
    const { data, homeserver } = options
    if (homeserver.mode === "managed") return null
    const tokens = yield* HomeserverTokens.make(data)
    const registration = registrationOf(settingsOf(options), homeserver.pushUrl ?? undefined, tokens)
    yield* writeRegistration(registrationPath(data), registration)
    return steps(registrationPath(data), registration)
  })

/** The folder alone, without anybody in it. */
export const makeFolder = (options: InitOptions) =>
  Effect.gen(function*() {
    yield* notYetThere(options.data)
    yield* privateFolder(options.data)
    const told = yield* registered(options)
    yield* privateFile(settingsPath(options.data), settingsFile(options))
    return told
  })

export interface FirstAdministrator {
  /** The local part of the user ID. */
  readonly name: string
  /** None: one is made. */
  readonly password: Option.Option<Redacted.Redacted>
}

/** The homeserver runs for the moment: the account, and the one that makes registration tokens later, are made there. */
const administrator = (installation: Installation, { name, password }: FirstAdministrator) =>
  Effect.gen(function*() {
    yield* PersonAccount.checkName(name)
    const userId = yield* Effect.mapError(
      Schema.decode(UserId)(`@${name}:${installation.settings.server_name}`),
      () => new AccountNameInvalid({ localpart: name, reason: "characters" })
    )
    const homeserver = yield* prepare(installation, registrationGate(yield* storedPolicy))
    if (Option.isNone(homeserver.accounts)) {
      yield* makeKnown(userId, "administrator")
      return { userId, account: null, homeserverUrl: homeserver.access.baseUrl }
    }
    yield* Layer.build(homeserver.running)
    const accounts = Context.get(yield* Layer.build(homeserver.accounts.value), PersonAccounts)
    const { ensure } = yield* PersonAccount.make({ data: installation.data, accounts })
    const account = yield* ensure(name, password)
    yield* makeKnown(userId, "administrator")
    yield* Effect.provide(Effect.flatMap(RegistrationTokens, ({ states }) => states), homeserver.tokens)
    return { userId, account, homeserverUrl: homeserver.access.baseUrl }
  }).pipe(Effect.scoped)

/** With the instance's lock: of two at the same time, one makes the folder, and the other changes nothing of it. */
const whole = (options: InitOptions, installation: Installation, first: FirstAdministrator) =>
  Effect.gen(function*() {
    const { data } = options
    yield* notYetThere(data)
    const forHomeserver = yield* registered(options)
    const { account, homeserverUrl, userId } = yield* administrator(installation, first)
    yield* privateFile(settingsPath(data), settingsFile(options))
    const webUrl = ServerSettings.publicOrigin(installation.settings)
    const who = account === null ? [] : PersonAccount.told(userId, account)
    return {
      json: {
        settings: settingsPath(data),
        administrator: userId,
        account: account?.account ?? "elsewhere",
        passwordFile: account?.passwordFile ?? null,
        homeserverUrl,
        webUrl,
        steps: forHomeserver
      },
      text: [
        `Settings are in ${settingsPath(data)}.`,
        ...who,
        `${userId} is the instance's administrator.`,
        ...forHomeserver === null
          ? [
            `Start crossfire with: crossfire serve --data ${data}`,
            `Then the homeserver is at ${homeserverUrl}, and the web pages are at ${webUrl}.`
          ]
          : ["", forHomeserver.trimEnd()]
      ].join("\n")
    }
  }).pipe(Effect.provide(Layer.provideMerge(people(installation), database(installation.data))))

/**
 * The folder with its first administrator. The settings come last and say that it is whole: what was cut off before can be
 * done again, and goes on with what stands there.
 */
export const init = (options: InitOptions, first: FirstAdministrator) =>
  Effect.gen(function*() {
    const { data } = options
    yield* notYetThere(data)
    yield* privateFolder(data)
    return yield* whole(options, { data, settings: settingsOf(options), root }, first)
  })
