// `fleet.toml` in the root: what an owner sets for this machine (engines, their logins, delivery limits). Everything is
// optional; whatever is not understood stops the start, since a setting that is silently passed over helps nobody.
import { Effect, Either, ParseResult, Schema } from "effect"
import { readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { parse, TomlError } from "smol-toml"
import { defaultMaxInputBytes } from "../../domain/InputText.ts"
import type { CodexConfig } from "../codex/CodexSettings.ts"
import { systemCode } from "../files/SystemCode.ts"
import type { PiConfig } from "../pi/PiEngine.ts"

export const settingsPath = (root: string): string => join(root, "fleet.toml")
const maxFileBytes = 1_048_576

/** What stands in the file may be a key: only its place is told. */
export class SettingsInvalid extends Schema.TaggedError<SettingsInvalid>()("SettingsInvalid", {
  path: Schema.String,
  problems: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return this.problems.map((problem) => `${this.path}: ${problem}`).join("\n")
  }
}

const Environment = Schema.Record({ key: Schema.String, value: Schema.String })
const Retries = Schema.Int.pipe(Schema.between(0, 100))
const FilePath = Schema.String.pipe(Schema.pattern(/^\//u))

const File = Schema.Struct({
  delivery: Schema.optional(Schema.Struct({
    max_message_bytes: Schema.optional(Schema.Int.pipe(Schema.between(4_096, 1_000_000))),
    idle_sleep_minutes: Schema.optional(Schema.Number.pipe(Schema.between(0.01, 10_080))),
    receipt_seconds: Schema.optional(Schema.Number.pipe(Schema.between(1, 3_600)))
  })),
  codex: Schema.optional(Schema.Struct({
    program: Schema.optional(FilePath),
    login: Schema.optional(Schema.Union(FilePath, Schema.Literal("none"))),
    sandbox: Schema.optional(Schema.Literal("read-only", "workspace-write", "danger-full-access")),
    approval_policy: Schema.optional(Schema.Literal("untrusted", "on-request", "never")),
    work_folder_trust: Schema.optional(Schema.Literal("trusted", "untrusted")),
    environment: Schema.optional(Environment),
    provider: Schema.optional(Schema.Struct({
      id: Schema.NonEmptyString,
      name: Schema.optional(Schema.NonEmptyString),
      base_url: Schema.NonEmptyString,
      model_catalog: Schema.optional(FilePath),
      key_variable: Schema.optional(Schema.NonEmptyString),
      request_max_retries: Schema.optional(Retries),
      stream_max_retries: Schema.optional(Retries)
    }))
  })),
  pi: Schema.optional(Schema.Struct({
    program: Schema.optional(FilePath),
    login: Schema.optional(Schema.Union(FilePath, Schema.Literal("none"))),
    /** A file in the form of Pi's own `models.json`. */
    models: Schema.optional(FilePath),
    environment: Schema.optional(Environment)
  }))
})
type File = typeof File.Type
const decodeFile = Schema.decodeUnknownEither(File, { onExcessProperty: "error", errors: "all" })

/** What holds where the file says nothing. */
export interface SettingsDefaults {
  readonly codexProgram: string
  readonly codexLogin: string
  readonly piProgram: string
  readonly piLogin: string
  readonly nodePath: string
  readonly hostEnvironment: Readonly<Record<string, string | undefined>>
}

export interface FleetSettings {
  readonly maxInputBytes: number
  readonly idleSleepMillis: number
  readonly receiptMillis: number
  readonly codex: CodexConfig
  readonly pi: PiConfig
}

const codexOf = (file: NonNullable<File["codex"]>, defaults: SettingsDefaults): CodexConfig => {
  const { provider } = file
  // A provider of one's own needs no login of OpenAI's, unless one is named.
  const login = file.login ?? (provider === undefined ? defaults.codexLogin : "none")
  return {
    binary: file.program ?? defaults.codexProgram,
    hostLogin: login === "none" ? null : login,
    hostEnvironment: defaults.hostEnvironment,
    extraEnvironment: file.environment ?? {},
    provider: provider === undefined ? null : {
      id: provider.id,
      name: provider.name ?? provider.id,
      baseUrl: provider.base_url,
      modelCatalog: provider.model_catalog ?? null,
      keyVariable: provider.key_variable ?? null,
      requestMaxRetries: provider.request_max_retries ?? 4,
      streamMaxRetries: provider.stream_max_retries ?? 5
    },
    ...(file.sandbox === undefined ? {} : { sandbox: file.sandbox }),
    ...(file.approval_policy === undefined ? {} : { approvalPolicy: file.approval_policy }),
    ...(file.work_folder_trust === undefined ? {} : { workFolderTrust: file.work_folder_trust })
  }
}

const piOf = (
  file: NonNullable<File["pi"]>,
  modelsFile: string | null,
  defaults: SettingsDefaults
): PiConfig => {
  const login = file.login ?? (file.models === undefined ? defaults.piLogin : "none")
  return {
    cliPath: file.program ?? defaults.piProgram,
    nodePath: defaults.nodePath,
    loginFile: login === "none" ? null : login,
    modelsFile,
    hostEnvironment: defaults.hostEnvironment,
    extraEnvironment: file.environment ?? {}
  }
}

/** The text of a file of bounded size; null where none stands. */
const readText = (path: string) =>
  Effect.tryPromise({
    try: async () => {
      if ((await stat(path)).size > maxFileBytes) return undefined
      return await readFile(path, "utf8")
    },
    catch: (cause) =>
      systemCode(cause) === "ENOENT" ? null : new SettingsInvalid({ path, problems: ["it cannot be read"] })
  }).pipe(
    Effect.catchAll((error) => error === null ? Effect.succeed(null) : Effect.fail(error)),
    Effect.filterOrFail(
      (text) => text !== undefined,
      () => new SettingsInvalid({ path, problems: [`it is larger than ${maxFileBytes} bytes`] })
    )
  )

const parsed = (path: string, text: string) =>
  Effect.try({
    try: () => parse(text),
    catch: (cause) => {
      const where = cause instanceof TomlError ? ` (line ${cause.line})` : ""
      return new SettingsInvalid({ path, problems: [`it is not valid TOML${where}`] })
    }
  })

/** The settings of that root. */
export const read = (
  root: string,
  defaults: SettingsDefaults
): Effect.Effect<FleetSettings, SettingsInvalid> =>
  Effect.gen(function*() {
    const path = settingsPath(root)
    const text = yield* readText(path)
    const decoded = decodeFile(text === null ? {} : yield* parsed(path, text))
    if (Either.isLeft(decoded)) {
      const issues = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
      const places = [...new Set(issues.map((issue) => issue.path.map(String).join(".")))]
      // Of a table with a wrong field, the field alone.
      const nearest = places.filter((place) => !places.some((other) => other.startsWith(`${place}.`)))
      const problems = nearest.map((place) => `${place} is unknown or not in the form that is expected`)
      return yield* new SettingsInvalid({ path, problems })
    }
    const { codex = {}, delivery = {}, pi = {} } = decoded.right
    const modelsFile = pi.models === undefined ? null : yield* readText(pi.models)
    if (pi.models !== undefined && modelsFile === null) {
      return yield* new SettingsInvalid({ path, problems: [`pi.models: there is no file ${pi.models}`] })
    }
    return {
      maxInputBytes: delivery.max_message_bytes ?? defaultMaxInputBytes,
      idleSleepMillis: Math.round((delivery.idle_sleep_minutes ?? 30) * 60_000),
      receiptMillis: Math.round((delivery.receipt_seconds ?? 60) * 1_000),
      codex: codexOf(codex, defaults),
      pi: piOf(pi, modelsFile, defaults)
    }
  })
