// `fleet init` and `fleet enroll`: both work on the root's own files, so both take its lock; fleetd does not run meanwhile.
import { Effect, Layer, Option } from "effect"
import { mkdir } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import * as PrivateFile from "../../layers/files/PrivateFile.ts"
import * as Claim from "../../layers/fleetd/Claim.ts"
import { enroll, type Enrolled } from "../../layers/fleetd/Enroll.ts"
import { RotationUnfinished } from "../../layers/fleetd/EnrollRefusals.ts"
import { enrollText } from "../../layers/fleetd/EnrollText.ts"
import * as FleetSettings from "../../layers/fleetd/FleetSettings.ts"
import * as HeldCredentials from "../../layers/fleetd/HeldCredentials.ts"
import * as HostEngines from "../../layers/fleetd/HostEngines.ts"
import * as RootFolder from "../../layers/fleetd/RootFolder.ts"
import { acquire } from "../../layers/sqlite/KernelLock.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { type Answer, note, UsageError } from "../CommandLine.ts"
import { registry } from "../fleetd/main.ts"
import { settingsDefaults } from "../SettingsDefaults.ts"

const settingsTemplate =
  `# Settings of this fleet on this machine. Everything is optional; restart fleetd after a change.

# [delivery]
# max_message_bytes = 65536     # a complete input, in UTF-8 bytes
# idle_sleep_minutes = 30       # an idle engine is closed after this time; the next message starts it again
# receipt_seconds = 60          # for an engine's answer to an input, and again for its entry in the history

# [codex]
# program = "/absolute/path/to/codex"
# login = "/home/you/.codex/auth.json"   # linked, never copied; "none" for a provider that needs no login
# sandbox = "workspace-write"            # read-only, workspace-write, danger-full-access
# approval_policy = "never"              # untrusted, on-request, never
# work_folder_trust = "untrusted"        # trusted: settings in the work folder can start commands outside of the sandbox

# [codex.environment]                    # for the engine, not for the commands that it runs
# MY_KEY = "the provider's key"

# [codex.provider]                       # one of your own, which speaks the Responses API
# id = "mine"
# base_url = "http://127.0.0.1:8000/v1"
# model_catalog = "/absolute/path/to/catalog.json"   # in the form of: codex debug models
# key_variable = "MY_KEY"                # left out: no key is sent

# [pi]
# program = "/absolute/path/to/cli.js"
# login = "/home/you/.pi/agent/auth.json"
# models = "/absolute/path/to/models.json"   # providers of your own, in the form of Pi's models.json

# [pi.environment]                       # for Pi and for the commands that it runs
# MY_VARIABLE = "value"
`

/** Puts the template there, whole, unless a file stands there already. */
const writeTemplate = (root: string) =>
  Effect.ignore(PrivateFile.writeFirst(FleetSettings.settingsPath(root), settingsTemplate))

const locked = (root: string, command: string) =>
  Effect.zipRight(
    RootFolder.closeFiles(root),
    acquire("fleetd", root, { command, stopWith: `fleet down --root ${root}` })
  )

export const init = (path: string): Effect.Effect<Answer, { readonly _tag: string; readonly message: string }> =>
  Effect.gen(function*() {
    const root = yield* RootFolder.create(path)
    yield* locked(root, "fleet init")
    yield* writeTemplate(root)
    const identity = yield* Effect.flatMap(FleetRegistry, (fleet) => fleet.identity).pipe(
      Effect.provide(registry(root))
    )
    const next = Option.isSome(identity) ? "fleet up" : "fleet enroll ROSTER --server URL"
    return {
      json: { root, enrolled: Option.isSome(identity) },
      text: `The root is ${root}. Next: ${next} --root ${root}`
    }
  }).pipe(Effect.scoped)

const enrolledAnswer = (
  { known, root, rosterPath, serverUrl }: {
    readonly root: string
    readonly rosterPath: string
    readonly serverUrl: string
    /** Whom this root had before. */
    readonly known: ReadonlySet<string>
  },
  enrolled: Enrolled
): Answer => {
  if (enrolled._tag === "Waiting") {
    const { enrollment } = enrolled
    return {
      json: {
        state: enrollment.state,
        code: enrollment.code,
        bot: enrollment.bot,
        reviewUrl: enrollment.reviewUrl,
        expiresAtMillis: enrollment.expiresAtMillis
      },
      // With `--again` the repetition would give up what the owner has just agreed to.
      text: [
        "The request is filed. Once its owner has agreed, run this, without --again and with fleetd down:",
        `  fleet enroll ${rosterPath} --server ${serverUrl} --root ${root}`
      ].join("\n")
    }
  }
  const { agents, fleetId } = enrolled.introduction
  return {
    json: { state: "introduced", fleetId, agents },
    text: [
      `Enrolled ${agents.length === 1 ? "one agent" : `${agents.length} agents`}:`,
      ...agents.map(({ name, userId }) => `  ${name} is ${userId}${known.has(userId) ? " (as before)" : ""}`),
      ...agents.every(({ userId }) => known.has(userId))
        ? []
        : ["Agents that are new take part in no room yet: invite each by its full ID, where you want it."],
      `Next: fleet up --root ${root}`
    ].join("\n")
  }
}

export const enrollRoster = (options: {
  readonly path: string
  readonly rosterPath: string
  /** Null: the server that this root is enrolled at. */
  readonly serverUrl: string | null
  readonly again: boolean
  readonly newCredentials: boolean
  readonly wait: boolean
}): Effect.Effect<Answer, { readonly _tag: string; readonly message: string }> =>
  Effect.gen(function*() {
    const root = yield* RootFolder.create(options.path)
    yield* locked(root, "fleet enroll")
    const settings = yield* FleetSettings.read(root, settingsDefaults)
    return yield* Effect.gen(function*() {
      const fleet = yield* FleetRegistry
      const identity = yield* fleet.identity
      if (!options.newCredentials && Option.isSome(yield* fleet.pendingCredentials)) {
        return yield* new RotationUnfinished({ root })
      }
      const serverUrl = options.serverUrl ?? Option.getOrNull(Option.map(identity, (known) => known.serverUrl))
      if (serverUrl === null) {
        return yield* new UsageError({ reason: "Name the crossfire to enroll at: --server URL" })
      }
      const modelsHome = join(root, "homes/models")
      yield* Effect.orDie(Effect.tryPromise(() => mkdir(modelsHome, { recursive: true, mode: 0o700 })))
      const known = new Set((yield* fleet.agents).map(({ userId }) => userId))
      const enrolled = yield* enroll({
        rosterPath: options.rosterPath,
        home: homedir(),
        serverUrl,
        identity,
        modelsHome: () => modelsHome,
        credentials: yield* fleet.credentials,
        refused: HeldCredentials.refused(serverUrl),
        again: options.again,
        newCredentials: options.newCredentials,
        wait: options.wait,
        saveIntroduction: fleet.introduce,
        progress: (progress) => note(enrollText(progress))
      })
      return enrolledAnswer({ root, rosterPath: options.rosterPath, serverUrl, known }, enrolled)
    }).pipe(
      Effect.provide(Layer.mergeAll(registry(root), Claim.layer(root), HostEngines.layer(settings)))
    )
  }).pipe(Effect.scoped)
