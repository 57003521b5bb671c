// Everything the main job needs, set up once and found again at the next start: a scripted model, crossfire with its
// homeserver, the person alice, a fleet of two agents enrolled by her, fleetd, and one room with all of them.
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect, Schedule, Schema } from "effect"
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import type { EngineKind } from "../../domain/Engine.ts"
import { RoomId, UserId } from "../../domain/Ids.ts"
import { passwordPath } from "../../layers/crossfire/people/PersonAccount.ts"
import * as FleetSocketClient from "../../layers/fleetd/FleetSocketClient.ts"
import { modelCatalog, piModels, scriptedModelId, scriptedProviderId } from "../../layers/model/ModelCatalog.ts"
import { responder } from "../../layers/model/ResponderScript.ts"
import * as ScriptedModel from "../../layers/model/ScriptedModel.ts"
import { ChildFailed, command, start, tail } from "./Children.ts"
import { type Person, PersonFailed, signIn, textOf } from "./Person.ts"

export interface StageAgent {
  readonly name: string
  readonly engine: EngineKind
  readonly userId: UserId
}

export interface StageConfig {
  /** Everything of the demo lives here. */
  readonly folder: string
  /** A real model for both engines' logins on this machine, or null for the scripted one. */
  readonly models: Readonly<Record<EngineKind, string>> | null
  /** How long the scripted model thinks before each step. */
  readonly thinkMillis: number
  /** Lifts the homeserver's rate limits of people: for tests that write faster than a person does. */
  readonly unlimited?: boolean
  readonly say: (line: string) => Effect.Effect<void>
}

/** What the next start goes on with. */
const Kept = Schema.Struct({
  httpPort: Schema.Int,
  homeserverPort: Schema.Int,
  modelPort: Schema.Int,
  password: Schema.NullOr(Schema.String),
  agents: Schema.Array(Schema.Struct({
    name: Schema.String,
    engine: Schema.Literal("codex", "pi"),
    userId: UserId
  })),
  roomId: Schema.NullOr(RoomId)
})
type Kept = typeof Kept.Type
const KeptFile = Schema.parseJson(Kept)

const freePort = Effect.async<number>((resume) => {
  const probe = createServer()
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    probe.close(() => resume(Effect.succeed(port)))
  })
})

const writePrivate = (path: string, text: string) => Effect.sync(() => writeFileSync(path, text, { mode: 0o600 }))

const loadKept = (path: string) =>
  existsSync(path)
    ? Schema.decodeUnknown(KeptFile)(readFileSync(path, "utf8"))
    : Effect.gen(function*() {
      const kept: Kept = {
        httpPort: yield* freePort,
        homeserverPort: yield* freePort,
        modelPort: yield* freePort,
        password: null,
        agents: [],
        roomId: null
      }
      return kept
    })

const json = <A, I>(schema: Schema.Schema<A, I>) => Schema.decodeUnknown(Schema.parseJson(schema))
const EnrollAnswer = Schema.Union(
  Schema.Struct({ state: Schema.Literal("pending", "approved"), code: Schema.String, bot: UserId }),
  Schema.Struct({
    state: Schema.Literal("introduced"),
    agents: Schema.Array(Schema.Struct({ name: Schema.String, userId: UserId }))
  })
)

const names: Readonly<Record<EngineKind, string>> = { codex: "scout", pi: "scribe" }

const toml = Schema.encodeSync(Schema.parseJson(Schema.String))

const rosterText = (config: StageConfig, owner: string): string =>
  [
    "fleet = \"demo\"",
    `owner = ${toml(owner)}`,
    ...(["codex", "pi"] as const).flatMap((engine) => [
      "",
      "[[agent]]",
      `key = ${toml(names[engine])}`,
      `name = ${toml(names[engine])}`,
      `engine = ${toml(engine)}`,
      `model = ${
        toml(
          config.models?.[engine] ?? (engine === "pi" ? `${scriptedProviderId}/${scriptedModelId}` : scriptedModelId)
        )
      }`,
      `work_folder = ${toml(join(config.folder, "work", names[engine]))}`
    ]),
    ""
  ].join("\n")

const fleetSettings = (folder: string, baseUrl: string): string =>
  [
    "# Written by the demo: a scripted model on this machine stands in for the providers.",
    "[codex]",
    "login = \"none\"",
    "[codex.provider]",
    `id = ${toml(scriptedProviderId)}`,
    "name = \"Scripted model\"",
    `base_url = ${toml(baseUrl)}`,
    `model_catalog = ${toml(join(folder, "model-catalog.json"))}`,
    "request_max_retries = 2",
    "stream_max_retries = 2",
    "[pi]",
    "login = \"none\"",
    `models = ${toml(join(folder, "pi-models.json"))}`,
    ""
  ].join("\n")

const unlimitedSettings = [
  "",
  "[homeserver.settings.rc_message]",
  "per_second = 1000",
  "burst_count = 1000",
  ""
].join("\n")

/** Waits until a child answers, or tells why it ended. */
const answers = (url: string, running: () => boolean, log: string) =>
  Effect.gen(function*() {
    const http = yield* HttpClient.HttpClient
    yield* Effect.scoped(http.get(url)).pipe(
      Effect.timeout("5 seconds"),
      Effect.catchAll((error) =>
        running()
          ? Effect.fail(error)
          : Effect.die(new ChildFailed({ command: "crossfire", reason: `ended early:\n${tail(log)}` }))
      ),
      Effect.retry(Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(300)))
    )
  })

/** A chat of this person with the bot, which takes part by now. */
export const chatWith = (person: Person, bot: UserId) =>
  Effect.gen(function*() {
    const roomId = yield* person.createRoom({ name: null, invite: [bot], isDirect: true })
    yield* person.waitFor(
      "the bot",
      ({ event, roomId: room }) => room === roomId && event.sender === bot && event.type === "m.room.member",
      "60 seconds"
    )
    return roomId
  })

/** The owner agrees: sends the code to the bot, reads the roster, and confirms. */
export const approve = (owner: Person, bot: UserId, code: string) =>
  Effect.gen(function*() {
    const roomId = yield* chatWith(owner, bot)
    yield* owner.send(roomId, code)
    const review = yield* owner.waitFor(
      "the bot's review of the roster",
      (seen) => seen.roomId === roomId && seen.event.sender === bot && textOf(seen).includes(`confirm ${code}`),
      "60 seconds"
    )
    yield* owner.send(roomId, `confirm ${code}`)
    return textOf(review)
  })

export const make = (config: StageConfig) =>
  Effect.gen(function*() {
    const { folder, say } = config
    for (const path of [folder, join(folder, "work/scout"), join(folder, "work/scribe"), join(folder, "logs")]) {
      mkdirSync(path, { recursive: true, mode: 0o700 })
    }
    const keptPath = join(folder, "demo.json")
    let kept = yield* loadKept(keptPath)
    const keep = (change: Partial<Kept>) =>
      Effect.suspend(() => {
        kept = { ...kept, ...change }
        return Effect.flatMap(Schema.encode(KeptFile)(kept), (text) => writePrivate(keptPath, text))
      })
    yield* keep({})

    const dataFolder = join(folder, "crossfire")
    const root = join(folder, "fleet")
    const address = `http://127.0.0.1:${kept.httpPort}`
    const homeserver = `http://127.0.0.1:${kept.homeserverPort}`
    const crossfireLog = join(folder, "logs/crossfire.log")
    const fleetdLog = join(folder, "logs/fleetd.log")

    const model = config.models === null
      ? yield* ScriptedModel.serve({ script: responder({ delayMs: config.thinkMillis }), port: kept.modelPort }).pipe(
        Effect.mapError(({ reason }) =>
          new ChildFailed({
            command: "the scripted model",
            reason: `${reason}. Does a demo run in ${folder} already? End that one, or use another folder with --folder`
          })
        )
      )
      : null

    if (!existsSync(join(dataFolder, "crossfire.toml"))) {
      yield* say("making crossfire's folder with the account of alice, its administrator")
      yield* command("crossfire", [
        "init",
        "--admin",
        "alice",
        "--data",
        dataFolder,
        "--http-port",
        String(kept.httpPort),
        "--homeserver-port",
        String(kept.homeserverPort)
      ])
      if (config.unlimited === true) {
        yield* Effect.sync(() => appendFileSync(join(dataFolder, "crossfire.toml"), unlimitedSettings))
      }
    }
    const startCrossfire = Effect.gen(function*() {
      const child = yield* start("crossfire", ["serve", "--data", dataFolder], crossfireLog)
      yield* answers(`${address}/healthz`, child.running, crossfireLog)
      return child
    })
    yield* say("starting crossfire with its own Synapse")
    const crossfire = yield* startCrossfire

    if (kept.password === null) {
      yield* keep({ password: readFileSync(passwordPath(dataFolder, "alice"), "utf8").trim() })
    }
    const alice = yield* signIn(homeserver, "alice", kept.password ?? "")

    if (model !== null) {
      yield* writePrivate(join(folder, "model-catalog.json"), modelCatalog())
      yield* writePrivate(join(folder, "pi-models.json"), piModels(model.baseUrl))
    }
    if (kept.agents.length === 0) {
      yield* say("enrolling two agents: scout on Codex, scribe on Pi")
      const roster = join(folder, "roster.toml")
      yield* writePrivate(roster, rosterText(config, alice.userId))
      yield* command("fleet", ["init", "--root", root])
      if (model !== null) yield* writePrivate(join(root, "fleet.toml"), fleetSettings(folder, model.baseUrl))
      const enroll = (wait: ReadonlyArray<string>) =>
        Effect.flatMap(
          command("fleet", ["enroll", roster, "--server", address, "--root", root, "--json", ...wait]),
          json(EnrollAnswer)
        )
      const asked = yield* enroll(["--no-wait"])
      if (asked.state !== "introduced") yield* approve(alice, asked.bot, asked.code)
      const introduced = yield* enroll([])
      if (introduced.state !== "introduced") {
        return yield* new ChildFailed({ command: "fleet enroll", reason: `the enrollment is ${introduced.state}` })
      }
      yield* keep({
        agents: (["codex", "pi"] as const).flatMap((engine) =>
          introduced.agents.filter((agent) => agent.name === names[engine]).map(({ name, userId }) => ({
            name,
            engine,
            userId
          }))
        )
      })
    }
    const startFleetd = Effect.gen(function*() {
      const child = yield* start("fleetd", ["--root", root], fleetdLog)
      yield* Effect.scoped(Effect.flatMap(FleetSocketClient.connect(root), (client) => client.status)).pipe(
        Effect.catchAll((error) =>
          child.running()
            ? Effect.fail(error)
            : Effect.die(new ChildFailed({ command: "fleetd", reason: `ended early:\n${tail(fleetdLog)}` }))
        ),
        Effect.retry(Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(300)))
      )
      return child
    })
    yield* say("starting fleetd")
    const fleetd = yield* startFleetd

    if (kept.roomId === null) {
      const invite = kept.agents.map((agent) => agent.userId)
      const roomId = yield* alice.createRoom({ name: "Demo", invite, isDirect: false })
      for (const agent of kept.agents) {
        yield* alice.waitFor(
          `${agent.name} in the room`,
          (seen) =>
            seen.roomId === roomId && seen.event.type === "m.room.member" && seen.event.sender === agent.userId &&
            seen.event.content["membership"] === "join",
          "60 seconds"
        )
      }
      yield* keep({ roomId })
    }
    if (kept.roomId === null) return yield* new PersonFailed({ operation: "room", reason: "it was not made" })
    return {
      alice,
      agents: kept.agents,
      roomId: kept.roomId,
      root,
      dataFolder,
      address,
      homeserver,
      password: kept.password ?? "",
      logs: { crossfire: crossfireLog, fleetd: fleetdLog },
      crossfire,
      fleetd,
      startCrossfire,
      startFleetd,
      model
    }
  })

export type Stage = Effect.Effect.Success<ReturnType<typeof make>>
