// An assistant sets everything up for an owner, each command a process of its own whose output it reads; then the owner
// agrees. What it read holds no secret, and nothing of it is left in the instance.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Schedule } from "effect"
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { UserId } from "../../src/domain/Ids.ts"
import { passwordPath } from "../../src/layers/crossfire/people/PersonAccount.ts"
import { registrarPath, registrarPrefix } from "../../src/layers/homeserver/Registrar.ts"
import { modelCatalog, piModels, scriptedProviderId } from "../../src/layers/model/ModelCatalog.ts"
import { responder } from "../../src/layers/model/ResponderScript.ts"
import * as ScriptedModel from "../../src/layers/model/ScriptedModel.ts"
import * as Children from "../../src/programs/demo/Children.ts"
import { signIn } from "../../src/programs/demo/Person.ts"
import * as Stage from "../../src/programs/demo/Stage.ts"
import { binary, parsed, run } from "../support/ProgramRun.ts"
import { rosterHead, section } from "./AnotherFleet.ts"
import { stageFolder, takenPort } from "./SharedStage.ts"

const canary = "canary-of-the-assistant-9f3e1c"

const freePort = Effect.scoped(Effect.tap(takenPort, ({ release }) => release)).pipe(Effect.map(({ port }) => port))

/** Every file below, links included and not followed. */
const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name))

/** What stands there, be it text or not; of a link, what it names. */
const contents = (path: string): string =>
  lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, "latin1")

const column = (path: string, query: string): ReadonlyArray<string> => {
  const database = new Sqlite(path, { readonly: true, timeout: 5_000 })
  try {
    return database.prepare<[], string>(query).pluck().all()
  } finally {
    database.close()
  }
}

const isUuid = (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u.test(text)

/** Every string of a JSON value that is long enough to be a secret, without those that name something in public. */
const strings = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return value.length >= 16 && !isUuid(value) ? [value] : []
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : []
}

/** The secrets of both folders: the password, the homeserver's own, the claim, every credential. */
const secretsIn = (data: string, root: string): ReadonlyArray<string> => {
  const { agentTokens, claim, fleetToken } = parsed(readFileSync(join(root, "claim.json"), "utf8")) as {
    readonly claim: string
    readonly fleetToken: string
    readonly agentTokens: ReadonlyArray<{ readonly token: string }>
  }
  return [
    readFileSync(passwordPath(data, "alice"), "utf8").trim(),
    ...strings(parsed(readFileSync(join(data, "homeserver/secrets.json"), "utf8"))),
    ...strings(parsed(readFileSync(registrarPath(join(data, "homeserver")), "utf8")))
      .filter((text) => !text.startsWith(registrarPrefix) && !text.startsWith(`@${registrarPrefix}`)),
    claim,
    fleetToken,
    ...agentTokens.map(({ token }) => token),
    ...column(join(root, "fleetd.sqlite"), "SELECT token FROM fleet UNION SELECT token FROM agent")
  ]
}

it.scopedLive(
  "[P-03] an assistant that sets the system up reads no secret, is nobody in it, and leaves nothing in an agent's home",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const at = (...names: ReadonlyArray<string>) => join(folder, ...names)
      for (const name of ["assistant/.codex", "assistant/.pi/agent", "owner", "work"]) {
        mkdirSync(at(name), { recursive: true })
      }
      for (const login of [".codex/auth.json", ".pi/agent/auth.json", ".netrc"]) {
        writeFileSync(at("assistant", login), `{"key":"${canary}"}`)
      }
      const [data, root, roster] = [at("crossfire"), at("fleet"), at("roster.toml")]
      const httpPort = yield* freePort
      const homeserverPort = yield* freePort
      const address = `http://127.0.0.1:${httpPort}`

      const read: Array<string> = []
      /** A command of the assistant's, in its own environment and folder. */
      const assistant = (program: "crossfire" | "fleet", ...args: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          const ended = yield* run(binary(program), args, {
            cwd: at("assistant"),
            env: {
              HOME: at("assistant"),
              ASSISTANT_API_KEY: canary,
              OPENAI_API_KEY: canary,
              CODEX_HOME: at("assistant/.codex")
            }
          })
          read.push(ended.stdout, ended.stderr)
          expect([program, args[0], ended.code, ended.code === 0 ? "" : ended.stderr]).toStrictEqual([
            program,
            args[0],
            0,
            ""
          ])
          return ended.stdout
        })
      const owner = (...args: ReadonlyArray<string>) =>
        run(binary("fleet"), [...args, "--root", root], { env: { HOME: at("owner") } })

      yield* assistant(
        "crossfire",
        ..."init --admin alice --data".split(" "),
        data,
        ...`--http-port ${httpPort} --homeserver-port ${homeserverPort}`.split(" ")
      )
      expect(statSync(passwordPath(data, "alice")).mode & 0o077).toBe(0)

      // The owner starts the server: it goes on when the assistant is gone.
      yield* Children.start("crossfire", ["serve", "--data", data], at("crossfire.log"))
      yield* Effect.tryPromise(() => fetch(`${address}/healthz`)).pipe(
        Effect.retry(Schedule.intersect(Schedule.spaced("200 millis"), Schedule.recurs(300)))
      )

      const model = yield* ScriptedModel.serve({ script: responder({ delayMs: 20 }), port: yield* freePort })
      writeFileSync(at("catalog.json"), modelCatalog())
      writeFileSync(at("models.json"), piModels(model.baseUrl))
      yield* assistant("fleet", "init", "--root", root)
      writeFileSync(
        join(root, "fleet.toml"),
        [
          "[codex.provider]",
          `id = "${scriptedProviderId}"`,
          `base_url = "${model.baseUrl}"`,
          `model_catalog = "${at("catalog.json")}"`,
          "[pi]",
          "login = \"none\"",
          `models = "${at("models.json")}"`
        ].join("\n")
      )
      writeFileSync(
        roster,
        rosterHead("street", "@alice:localhost") + section(at("work"), "scout", "codex") +
          section(at("work"), "scribe", "pi")
      )
      yield* assistant("fleet", "roster", "check", roster, "--server", address, "--root", root)
      const enroll = ["enroll", roster, "--server", address, "--root", root, "--json"]
      const asked = parsed(yield* assistant("fleet", ...enroll, "--no-wait")) as {
        readonly code: string
        readonly bot: string
        readonly reviewUrl: string
      }
      expect(asked.reviewUrl).toContain("http")
      expect(column(join(data, "crossfire.sqlite"), "SELECT name FROM agent")).toStrictEqual([])

      const password = readFileSync(passwordPath(data, "alice"), "utf8").trim()
      const alice = yield* signIn(`http://127.0.0.1:${homeserverPort}`, "alice", password)
      yield* Stage.approve(alice, UserId.make(asked.bot), asked.code)
      expect(parsed(yield* assistant("fleet", ...enroll))).toMatchObject({ state: "introduced" })

      // From here on without the assistant: both agents work once, so that their homes are all there.
      expect((yield* owner("up")).code).toBe(0)
      yield* Effect.addFinalizer(() => owner("down"))
      for (const name of ["scout", "scribe"]) {
        const sent = yield* owner("send", name, "Good morning", "--wait", "60", "--json")
        expect([name, sent.code, parsed(sent.stdout)]).toMatchObject([name, 0, { state: "delivered" }])
      }

      const secrets = secretsIn(data, root)
      expect(secrets.length).toBeGreaterThan(8)
      const output = read.join("\n")
      expect(secrets.filter((secret) => output.includes(secret)).length).toBe(0)

      expect(column(join(data, "crossfire.sqlite"), "SELECT name FROM agent ORDER BY name")).toStrictEqual(
        ["scout", "scribe"].toSorted()
      )
      expect(column(join(data, "crossfire.sqlite"), "SELECT fleet_key FROM fleet")).toStrictEqual(["street"])
      expect(column(join(data, "crossfire.sqlite"), "SELECT user_id FROM person")).toStrictEqual(["@alice:localhost"])
      const agents = column(join(data, "crossfire.sqlite"), "SELECT user_id FROM agent")
      const users = column(join(data, "homeserver/homeserver.db"), "SELECT name FROM users ORDER BY name")
      const own = ["@cf-", `@${registrarPrefix}`]
      expect(users.filter((user) => !own.some((prefix) => user.startsWith(prefix)))).toStrictEqual(["@alice:localhost"])
      // Beside the agents, crossfire's own users alone; an agent's has 16 hexadecimal digits.
      expect(users.filter((user) => /^@cf-[0-9a-f]{16}:/u.test(user)).toSorted()).toStrictEqual(agents.toSorted())

      const homes = filesBelow(join(root, "homes"))
      expect(homes.length).toBeGreaterThan(4)
      const told = homes.filter((path) => contents(path).includes(canary) || contents(path).includes(at("assistant")))
      expect(told).toStrictEqual([])
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)),
  360_000
)
