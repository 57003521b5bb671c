// `fleet`: the owner's commands to the fleetd of one root folder. What a command does is fleetd's or stands beside this
// file; here are the names, options and exit codes.
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { text as readAll } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import {
  type AgentSelection,
  type DeliveryState,
  maxDeliveries,
  maxDeliveryWaitMillis,
  RotationFailed
} from "../../domain/api/FleetSocket.ts"
import { OperationId } from "../../domain/Ids.ts"
import * as FleetSocketClient from "../../layers/fleetd/FleetSocketClient.ts"
import * as RootFolder from "../../layers/fleetd/RootFolder.ts"
import {
  type Answer,
  answer,
  type CommandFailure,
  exitCodes,
  jsonOption,
  main,
  UsageError,
  valueOption,
  wholeNumber
} from "../CommandLine.ts"
import { hostEnvironment } from "../HostEnvironment.ts"
import { rootPath } from "../RootPath.ts"
import * as DaemonProcess from "./DaemonProcess.ts"
import { deliveriesText, deliveryText, statusText } from "./StatusText.ts"

const launcher = join(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))), "bin/fleetd")

const failures: ReadonlySet<string> = new Set([
  "CrossfireUnavailable",
  "FleetStoreFailed",
  "FleetdFailed",
  "FleetdLingers",
  "FleetdSilent",
  "LockUnusable",
  "MigrationFailed",
  "RotationUnfinished",
  "StoreFailed"
])

/** Everything that is neither the machine's failure nor an absent daemon is a refusal that the owner can act on. */
const codeOf = (tag: string): number => {
  if (tag === "FleetdNotRunning") return exitCodes.notRunning
  return failures.has(tag) ? exitCodes.failed : exitCodes.refused
}

const root = Options.text("root").pipe(
  Options.withDescription("The fleet's root folder (else FLEET_ROOT, else the user's data folder)"),
  Options.optional,
  Options.map((given) => rootPath(Option.getOrNull(given), hostEnvironment, homedir()))
)
const common = { root, json: jsonOption }

const run = (json: boolean, command: Effect.Effect<Answer, CommandFailure>) => answer("fleet", json, codeOf, command)

type Client = FleetSocketClient.FleetSocketClient

/** A command to the running daemon of that root. */
const told = (path: string, command: (client: Client, root: string) => Effect.Effect<Answer, CommandFailure>) =>
  Effect.gen(function*() {
    const folder = yield* RootFolder.open(path)
    const client = yield* FleetSocketClient.connect(folder)
    return yield* command(client, folder)
  }).pipe(Effect.scoped)

const init = Command.make("init", common, ({ json, root }) =>
  run(
    json,
    Effect.flatMap(Effect.promise(() => import("./Enrollment.ts")), (enrollment) => enrollment.init(root))
  )).pipe(Command.withDescription("Make a root folder for one fleet"))

const enroll = Command.make("enroll", {
  ...common,
  roster: Args.text({ name: "ROSTER" }),
  server: Options.text("server").pipe(Options.withDescription("crossfire's address"), Options.optional),
  again: Options.boolean("again").pipe(
    Options.withDescription("Give up the enrollment begun before and start a new one")
  ),
  newCredentials: Options.boolean("new-credentials").pipe(
    Options.withDescription("With --again: new credentials for agents whose former ones were revoked")
  ),
  noWait: Options.boolean("no-wait").pipe(Options.withDescription("File the request and do not wait for its owner"))
}, ({ again, json, newCredentials, noWait, root, roster, server }) =>
  run(
    json,
    Effect.gen(function*() {
      if (newCredentials && !again) {
        return yield* new UsageError({ reason: "New credentials need a new request: --again --new-credentials" })
      }
      const enrollment = yield* Effect.promise(() => import("./Enrollment.ts"))
      return yield* enrollment.enrollRoster({
        path: root,
        rosterPath: roster,
        serverUrl: Option.getOrNull(server),
        again,
        newCredentials,
        wait: !noWait
      })
    })
  )).pipe(Command.withDescription("Enroll the agents of a roster file"))

const check = Command.make("check", {
  ...common,
  roster: Args.text({ name: "ROSTER" }),
  server: Options.text("server").pipe(
    Options.withDescription("Ask this crossfire, too, whether it would take the names"),
    Options.optional
  )
}, ({ json, root, roster, server }) =>
  run(
    json,
    Effect.flatMap(Effect.promise(() => import("./Roster.ts")), (rosters) =>
      rosters.check({ root, rosterPath: roster, serverUrl: Option.getOrNull(server) }))
  )).pipe(
    Command.withDescription("Check a roster file as fleet enroll would; nothing is reserved, filed or kept")
  )

const rosters = Command.make("roster").pipe(
  Command.withDescription("Roster files: the agents of a fleet"),
  Command.withSubcommands([check])
)

const up = Command.make("up", {
  ...common,
  takeOver: Options.boolean("take-over").pipe(
    Options.withDescription("Take the lease from another controller that holds it now")
  )
}, ({ json, root, takeOver }) =>
  run(
    json,
    Effect.gen(function*() {
      const folder = yield* RootFolder.open(root)
      const running = Effect.scoped(Effect.flatMap(FleetSocketClient.connect(folder), (client) => client.status))
      const before = yield* Effect.option(running)
      if (Option.isSome(before)) return { json: before.value, text: `Already running.\n\n${statusText(before.value)}` }
      const status = yield* DaemonProcess.start(folder, launcher, takeOver)
      return { json: status, text: statusText(status) }
    })
  )).pipe(Command.withDescription("Start fleetd and wait until it answers"))

const down = Command.make("down", common, ({ json, root }) =>
  run(
    json,
    told(root, (client) =>
      Effect.gen(function*() {
        const { processId } = yield* client.shutdown
        yield* DaemonProcess.awaitEnd(processId)
        return { json: { processId }, text: `fleetd has ended (it was process ${processId})` }
      }))
  )).pipe(Command.withDescription("End fleetd and its engines; agents that were started start again with it"))

const status = Command.make("status", common, ({ json, root }) =>
  run(
    json,
    told(root, (client) => Effect.map(client.status, (status) => ({ json: status, text: statusText(status) })))
  )).pipe(Command.withDescription("Show the fleet: lease, agents, what waits, what was delivered"))

const selected = (names: ReadonlyArray<string>, all: boolean): Effect.Effect<AgentSelection, UsageError> => {
  if (all) {
    return names.length === 0
      ? Effect.succeed("all")
      : Effect.fail(new UsageError({ reason: "Give names or --all, not both" }))
  }
  return names.length === 0
    ? Effect.fail(new UsageError({ reason: "Name the agents, or give --all for all of them" }))
    : Effect.succeed(names)
}

const change = (verb: "start" | "stop", description: string) =>
  Command.make(verb, {
    ...common,
    all: Options.boolean("all").pipe(Options.withDescription("All agents of the fleet")),
    names: Args.text({ name: "NAME" }).pipe(Args.repeated)
  }, ({ all, json, names, root }) =>
    run(
      json,
      Effect.flatMap(selected(names, all), (selection) =>
        told(root, (client) =>
          Effect.map(client[verb](selection), (changes) => ({
            json: changes,
            text: changes.map(({ changed, desired, name }) => `${name} is ${desired}${changed ? "" : " (as before)"}`)
              .join("\n")
          }))))
    )).pipe(Command.withDescription(description))

const start = change("start", "Start agents: messages reach them from now on, over restarts too")
const stop = change("stop", "Stop agents: their engines end, and no message starts them again")

/** Waits in calls of bounded length; each is the same operation. */
const untilDelivered = (client: Client, item: Omit<Parameters<Client["send"]>[0], "waitMillis">, waitMillis: number) =>
  Effect.gen(function*() {
    let left = waitMillis
    let state: DeliveryState
    do {
      state = yield* client.send({ ...item, waitMillis: Math.min(left, maxDeliveryWaitMillis) })
      left -= maxDeliveryWaitMillis
    } while (state.state !== "delivered" && left > 0)
    return state
  })

class SendUnsure extends Schema.TaggedError<SendUnsure>()("FleetdSilent", {
  operationId: OperationId,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.reason}. The same command with --operation ${this.operationId} does not send twice`
  }
}

const send = Command.make("send", {
  ...common,
  name: Args.text({ name: "NAME" }),
  text: Args.text({ name: "TEXT" }).pipe(Args.withDescription("The message, or - to read it from standard input")),
  wait: valueOption("wait", wholeNumber(0, 3_600)).pipe(
    Options.withDescription("How many seconds to wait for the proof of delivery"),
    Options.withDefault(10)
  ),
  operation: valueOption("operation", { schema: OperationId, takes: "the ID that fleet send answered" }).pipe(
    Options.withDescription("The operation's ID: the same one again sends nothing twice"),
    Options.optional
  )
}, ({ json, name, operation, root, text, wait }) =>
  run(
    json,
    told(root, (client) =>
      Effect.gen(function*() {
        const whole = text === "-" ? yield* Effect.promise(() => readAll(process.stdin)) : text
        const operationId = Option.getOrElse(operation, () => OperationId.make(randomUUID()))
        const state = yield* untilDelivered(client, { agent: name, text: whole, operationId }, wait * 1_000).pipe(
          Effect.catchTag("FleetdSilent", ({ message }) => new SendUnsure({ operationId, reason: message }))
        )
        return { json: { operationId, ...state }, text: deliveryText(name, state) }
      }))
  )).pipe(Command.withDescription("Give an agent a direct message, stored before it is answered"))

const deliveries = Command.make("deliveries", {
  ...common,
  limit: valueOption("limit", wholeNumber(1, maxDeliveries)).pipe(
    Options.withDescription("How many of the newest inputs"),
    Options.withDefault(20)
  )
}, ({ json, limit, root }) =>
  run(
    json,
    told(root, (client) =>
      Effect.map(client.deliveries(limit), (entries) => ({ json: entries, text: deliveriesText(entries) })))
  )).pipe(Command.withDescription("Show the newest inputs, and the native entry that proves each"))

/** Not known yet is no refusal: a script tells them apart by the tag and the exit code. */
const withKind = <E extends CommandFailure>(failure: E): CommandFailure =>
  failure instanceof RotationFailed && failure.problem === "unfinished"
    ? { _tag: "RotationUnfinished", message: failure.message }
    : failure

const rotate = Command.make("rotate", common, ({ json, root }) =>
  run(
    json,
    told(root, (client) =>
      Effect.map(Effect.mapError(client.rotateCredentials, withKind), ({ agents }) => ({
        json: { rotated: true, agents },
        text: `The fleet and ${
          agents === 1 ? "its agent have" : `its ${agents} agents have`
        } new credentials; the former ones are good for nothing`
      })))
  )).pipe(Command.withDescription("Replace the credentials of the fleet and of its agents; running turns go on"))

const credentials = Command.make("credentials").pipe(
  Command.withDescription("What this fleet shows to crossfire"),
  Command.withSubcommands([rotate])
)

const fleet = Command.make("fleet").pipe(
  Command.withDescription("Run a fleet of coding agents"),
  Command.withSubcommands([init, rosters, enroll, up, down, status, start, stop, send, deliveries, credentials])
)

main("fleet", "0.1.0", fleet)
