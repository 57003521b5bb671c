// `crossfire.toml` in the data folder: what the operator decides. Every problem is told with its line and field; a value is
// never repeated, since it may be a secret in the wrong place.
import { Effect, Either, ParseResult, Schema } from "effect"
import { readFile, stat } from "node:fs/promises"
import { isIP } from "node:net"
import { join } from "node:path"
import { parse, TomlError } from "smol-toml"
import { checkServerUrl } from "../../domain/ServerUrl.ts"
import { tomlLines } from "../roster/TomlLines.ts"

export const settingsPath = (data: string): string => join(data, "crossfire.toml")

export class ServerSettingsInvalid extends Schema.TaggedError<ServerSettingsInvalid>()("ServerSettingsInvalid", {
  path: Schema.String,
  problems: Schema.Array(Schema.Struct({
    line: Schema.NullOr(Schema.Int),
    field: Schema.NullOr(Schema.String),
    problem: Schema.String
  }))
}) {
  override get message(): string {
    return this.problems.map(({ field, line, problem }) => {
      const place = line === null ? this.path : `${this.path}, line ${line}`
      return field === null ? `${place}: ${problem}` : `${place}: ${field} ${problem}`
    }).join("\n")
  }
}

export class NotInitialized extends Schema.TaggedError<NotInitialized>()("NotInitialized", { path: Schema.String }) {
  override get message(): string {
    return `There is no ${this.path}. Run \`crossfire init\` first, or name the folder with --data`
  }
}

export const Port = Schema.Int.pipe(
  Schema.between(1, 65_535, { message: () => "must be a port number, 1 to 65535" })
)

/** As it stands in every user ID: a host name, with a port where it has one. It can never be changed. */
export const ServerName = Schema.String.pipe(
  Schema.pattern(/^[a-z0-9](?:[a-z0-9.-]{0,228}[a-z0-9])?(?::\d{1,5})?$/u, {
    message: () => "must be a host name in lower case, like example.org"
  })
)

export const WebAddress = Schema.String.pipe(
  Schema.filter((text) => {
    const url = URL.parse(text)
    const isWeb = url !== null && (url.protocol === "http:" || url.protocol === "https:") && url.username === "" &&
      url.password === "" && url.search === "" && url.hash === ""
    return isWeb ? undefined : "must be an address like https://matrix.example.org, without user name or query"
  })
)

/** Scheme, host and port alone: cookies, links and the checks of a browser's requests go by it. */
export const WebOrigin = Schema.String.pipe(
  Schema.filter((text) => {
    const bare = Either.getOrNull(checkServerUrl(text))
    return bare !== null && bare === URL.parse(bare)?.origin
      ? undefined
      : "must be an address like https://crossfire.example.org without a path (plain http only for this machine itself)"
  })
)

const Address = Schema.String.pipe(
  Schema.filter((text) => isIP(text) === 0 ? "must be an IP address, like 10.0.0.2" : undefined)
)
const maxTrustedProxies = 100

const Http = Schema.Struct({
  port: Port,
  /** Where people open the web pages; this machine's own address where it is left out. */
  public_url: Schema.optional(WebOrigin),
  /** Whose word is taken for the address that a request came from. */
  trusted_proxies: Schema.optionalWith(
    Schema.Array(Address).pipe(
      Schema.maxItems(maxTrustedProxies, { message: () => `must have at most ${maxTrustedProxies} addresses` })
    ),
    { default: () => [] }
  )
})

const Managed = Schema.Struct({
  mode: Schema.Literal("managed"),
  port: Schema.optional(Port),
  public_url: Schema.optional(WebAddress),
  /** Of an earlier version, whose `crossfire init` wrote it. It holds no more: the rule stands in the database. */
  signup: Schema.optional(Schema.Literal("by-token", "open")),
  /** The Python of a virtual environment with Synapse. */
  python: Schema.optional(Schema.String.pipe(Schema.pattern(/^\//u, { message: () => "must be an absolute path" }))),
  /** Laid over crossfire's own settings of Synapse. */
  settings: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), { default: () => ({}) })
})

const Own = Schema.Struct({
  mode: Schema.Literal("own"),
  /** How crossfire reaches it. */
  url: WebAddress,
  /** How people's clients reach it, where that is another address. */
  public_url: Schema.optional(WebAddress),
  /** How the homeserver reaches crossfire; this machine's own address where it is left out. */
  push_url: Schema.optional(WebAddress)
})

const File = Schema.Struct({
  server_name: ServerName,
  /** The Matrix client that people are pointed to. */
  element_url: Schema.optionalWith(WebAddress, { default: () => "https://app.element.io" }),
  http: Http,
  homeserver: Schema.Union(Managed, Own)
})
export type ServerSettings = typeof File.Type

/** The web pages' own origin, without a slash at the end. */
export const publicOrigin = ({ http }: Pick<ServerSettings, "http">): string =>
  http.public_url === undefined
    ? `http://127.0.0.1:${http.port}`
    : new URL(http.public_url).origin

/** What is allowed and probably not meant; told in the log at the start. */
export const doubts = ({ http }: Pick<ServerSettings, "http">): ReadonlyArray<string> =>
  publicOrigin({ http }).startsWith("https:") && http.trusted_proxies.length === 0
    ? [
      "http.public_url is served by a proxy and http.trusted_proxies is empty: all people count as one address, " +
      "also for the bound on signing in. Name the proxy's address there"
    ]
    : []

const decodeFile = Schema.decodeUnknownEither(File, { errors: "all", onExcessProperty: "error" })

const maxFileBytes = 1_048_576

const readText = (path: string) =>
  Effect.tryPromise({
    try: async () => (await stat(path)).size > maxFileBytes ? null : await readFile(path, "utf8"),
    catch: (cause) => {
      const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown"
      return code === "ENOENT"
        ? new NotInitialized({ path })
        : invalid(path, [{ line: null, field: null, problem: `it cannot be read (${code})` }])
    }
  }).pipe(Effect.filterOrFail(
    (text) => text !== null,
    () => invalid(path, [{ line: null, field: null, problem: `it is larger than ${maxFileBytes} bytes` }])
  ))

const invalid = (path: string, problems: ServerSettingsInvalid["problems"]) =>
  new ServerSettingsInvalid({ path, problems })

/** What is wrong, without the value: the schema's own message where one was written for people. */
const told = (issue: ParseResult.ArrayFormatterIssue): string => {
  if (issue._tag === "Missing") return "is missing"
  if (issue._tag === "Unexpected") return "is unknown"
  return issue._tag === "Refinement" && issue.message.startsWith("must ")
    ? issue.message
    : "is not in the form expected"
}

export const read = (data: string): Effect.Effect<ServerSettings, ServerSettingsInvalid | NotInitialized> =>
  Effect.gen(function*() {
    const path = settingsPath(data)
    const text = yield* readText(path)
    const table = yield* Effect.try({
      try: () => parse(text),
      catch: (cause) => {
        const line = cause instanceof TomlError ? cause.line : null
        return invalid(path, [{ line, field: null, problem: "it is not valid TOML" }])
      }
    })
    const decoded = decodeFile(table)
    const lineOf = tomlLines(text)
    if (Either.isRight(decoded)) {
      const { homeserver, http } = decoded.right
      if (homeserver.mode === "own" || homeserver.port !== http.port) return decoded.right
      const problem = "must be another port than http.port, where crossfire itself listens"
      return yield* invalid(path, [{ line: lineOf(["homeserver", "port"]), field: "homeserver.port", problem }])
    }
    const issues = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
    const problems = new Map(issues.map((issue) => {
      const place = issue.path.map((part) => typeof part === "number" ? part : String(part))
      const field = place.length === 0 ? null : place.join(".")
      return [`${field}`, { line: lineOf(place), field, problem: told(issue) }]
    }))
    return yield* invalid(path, [...problems.values()])
  })
