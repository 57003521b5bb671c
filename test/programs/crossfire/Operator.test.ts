// The operator's command line as a person or their assistant runs it: the first administrator, the socket, secrets.
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Duration, Effect, Redacted, Schedule, Schema } from "effect"
import { spawn } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as OperatorClient from "../../../src/programs/crossfire/OperatorClient.ts"
import { operatorSocketPath } from "../../../src/programs/crossfire/OperatorSocket.ts"
import { start } from "../../../src/programs/demo/Children.ts"
import { signIn } from "../../../src/programs/demo/Person.ts"
import { registrations } from "../../layers/crossfire/people/SignupWorld.ts"
import { binary, run } from "../../support/ProgramRun.ts"

const crossfire = (...args: ReadonlyArray<string>) => run(binary("crossfire"), args)

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "crossfire-operator-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const ports = Effect.gen(function*() {
  const [http, homeserver] = [yield* freePort, yield* freePort]
  return { http, homeserver, args: ["--http-port", String(http), "--homeserver-port", String(homeserver)] }
})

const Made = Schema.parseJson(Schema.Struct({
  administrator: Schema.String,
  account: Schema.String,
  passwordFile: Schema.NullOr(Schema.String),
  homeserverUrl: Schema.String,
  webUrl: Schema.String
}))
const readMade = Schema.decodeSync(Made)
const Invited = Schema.parseJson(Schema.Struct({ token: Schema.String, homeserverUrl: Schema.String }))
const readInvited = Schema.decodeSync(Invited)

const peopleIn = (data: string) => {
  const database = new Sqlite(join(data, "crossfire.sqlite"), { readonly: true })
  const rows = database.prepare("SELECT user_id, role FROM person ORDER BY user_id").all()
  database.close()
  return rows
}

const serving = (data: string, log: string) =>
  Effect.gen(function*() {
    const child = yield* start("crossfire", ["serve", "--data", data], log)
    yield* crossfire("person", "list", "--data", data).pipe(
      Effect.repeat({ schedule: Schedule.spaced("100 millis"), until: ({ code }) => code === 0 || !child.running() })
    )
    return child
  })

/** Every file below it, read as bytes; sockets have none. */
const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name)).filter((name) =>
    lstatSync(name).isFile()
  )
const filesWith = (path: string, text: string) =>
  filesIn(path).filter((name) => readFileSync(name, "latin1").includes(text))

const signedIn = (port: number, name: string, password: string) =>
  Effect.provide(signIn(`http://127.0.0.1:${port}`, name, password), FetchHttpClient.layer)

const unlimited = "\n[homeserver.settings]\nrc_registration = { per_second = 1000, burst_count = 1000 }\n"

it.scopedLive(
  "[H-02] [P-03] init makes the administrator without showing a secret; afterwards no password is anywhere but where its person finds it",
  () =>
    Effect.gen(function*() {
      const root = yield* folder
      const data = join(root, "data")
      const log = join(root, "log")
      const { args, homeserver, http } = yield* ports
      const made = yield* crossfire("init", "--admin", "alice", "--data", data, "--json", ...args)
      expect([made.code, made.stderr]).toStrictEqual([0, ""])
      const first = readMade(made.stdout)
      expect(first).toMatchObject({
        administrator: "@alice:localhost",
        account: "made",
        homeserverUrl: `http://127.0.0.1:${homeserver}`,
        webUrl: `http://127.0.0.1:${http}`
      })
      const passwordFile = first.passwordFile ?? ""
      expect(statSync(passwordFile).mode & 0o777).toBe(0o600)
      const password = readFileSync(passwordFile, "utf8").trim()
      expect(password).toMatch(/^[A-Za-z0-9_-]{20}$/u)
      expect(made.stdout).not.toContain(password)
      for (const name of filesIn(data)) expect([name, statSync(name).mode & 0o077]).toStrictEqual([name, 0])
      expect(peopleIn(data)).toStrictEqual([{ user_id: "@alice:localhost", role: "administrator" }])

      const again = yield* crossfire("init", "--admin", "eve", "--data", data)
      expect([again.code, again.stdout]).toStrictEqual([4, ""])
      expect(again.stderr).toContain("is there already and was not changed")
      const early = yield* crossfire("invite", "--data", data, "--json")
      expect([early.code, early.stdout]).toStrictEqual([3, ""])
      expect(early.stderr).toContain("ServerNotRunning")

      appendFileSync(join(data, "crossfire.toml"), unlimited)
      const child = yield* serving(data, log)
      // [A43] The socket is this user's alone.
      expect(statSync(operatorSocketPath(data)).mode & 0o777).toBe(0o600)
      const invited = readInvited(
        (yield* crossfire("invite", "--note", "Bo", "--days", "2", "--data", data, "--json")).stdout
      )
      const element = yield* registrations(invited.homeserverUrl)
      // What is handed on names everything that its reader needs.
      const handed = (yield* crossfire("invite", "--data", data)).stdout
      expect(handed).toContain(`4. Sign in at http://127.0.0.1:${http} with the new Matrix ID`)
      expect(handed).toContain("can be opened on this machine alone")
      expect(handed).toContain("may refuse a plain http homeserver")
      expect(handed).not.toContain("without a token")
      const canary = "canary-5d1c-typed-in-element"
      expect((yield* element.register("bo", canary, invited.token)).status).toBe(200)
      const typed = "canary-77ab-typed-at-the-terminal"
      yield* OperatorClient.call(data, (client) =>
        client.addPerson({ payload: { name: "cy", role: "member", password: Redacted.make(typed) } }))
      yield* signedIn(homeserver, "alice", password)
      yield* signedIn(homeserver, "cy", typed)

      expect((yield* crossfire("person", "role", "alice", "member", "--data", data)).code).toBe(4)
      expect((yield* crossfire("person", "add", "@eve:localhost", "--data", data)).stdout).toContain(
        "@eve:localhost has an"
      )
      const foreign = yield* crossfire("person", "add", "@eve:example.org", "--data", data)
      expect([foreign.code, foreign.stderr]).toStrictEqual([
        2,
        "crossfire: @eve:example.org is a user of another homeserver, example.org. People of this instance have their " +
        "account on localhost\n"
      ])
      const unknown = yield* crossfire("person", "deactivate", "nobody", "--data", data)
      expect([unknown.code, unknown.stderr]).toStrictEqual([
        4,
        "crossfire: @nobody:localhost is not known to this instance. Who is: crossfire person list\n"
      ])
      expect((yield* crossfire("person", "add", "../x", "--data", data)).code).toBe(0)
      const refused = yield* crossfire("person", "add", "Bad Name", "--data", data)
      expect([refused.code, refused.stdout]).toStrictEqual([4, ""])
      expect((yield* crossfire("person", "deactivate", "cy", "--data", data)).stdout).toContain("is deactivated")
      const listed = yield* crossfire("person", "list", "--data", data)
      expect(listed.stdout).toContain("@cy:localhost  member  deactivated")
      expect((yield* crossfire("signup", "open", "--data", data)).code).toBe(0)
      expect((yield* crossfire("invite", "--data", data)).stdout).toContain("Anybody can sign up without a token now")
      yield* child.stop

      for (const secret of [canary, typed]) {
        expect(filesWith(root, secret)).toStrictEqual([])
      }
      expect(filesWith(root, password)).toStrictEqual([passwordFile])
      // The homeserver alone keeps what Element is to be given.
      expect(
        filesWith(root, invited.token).filter((name) =>
          !name.startsWith(join(data, "homeserver/homeserver.db"))
        )
      )
        .toStrictEqual([])
    }),
  300_000
)

it.scopedLive(
  "init that is killed at any point is run again and makes one administrator with the password in the file",
  () =>
    Effect.gen(function*() {
      const root = yield* folder
      const data = join(root, "data")
      const { args, homeserver } = yield* ports
      const command = ["init", "--admin", "alice", "--data", data, "--json", ...args]
      const milestones = [
        () => existsSync(join(data, "crossfire.sqlite")),
        () => existsSync(join(data, "homeserver/secrets.json")),
        () => existsSync(join(data, "passwords/alice.txt")),
        () => existsSync(join(data, "homeserver/registrar.json"))
      ]
      for (const reached of milestones) {
        const child = spawn(process.execPath, [binary("crossfire"), ...command], { stdio: "ignore" })
        const ended = Effect.async<void>((resume) => void child.once("exit", () => resume(Effect.void)))
        yield* Effect.sync(() => reached() || child.exitCode !== null).pipe(
          Effect.repeat({ schedule: Schedule.spaced(Duration.millis(5)), until: (now) => now })
        )
        child.kill("SIGKILL")
        if (child.exitCode === null && child.signalCode === null) yield* ended
        expect(existsSync(join(data, "crossfire.toml"))).toBe(false)
      }
      const made = yield* crossfire(...command)
      expect([made.code, made.stderr]).toStrictEqual([0, ""])
      const passwordFile = readMade(made.stdout).passwordFile ?? ""
      expect(peopleIn(data)).toStrictEqual([{ user_id: "@alice:localhost", role: "administrator" }])
      const child = yield* serving(data, join(root, "log"))
      yield* signedIn(homeserver, "alice", readFileSync(passwordFile, "utf8").trim())
      yield* child.stop
    }),
  300_000
)

it.scopedLive(
  "init without a name says how to give one; on a homeserver of your own it makes the person alone",
  () =>
    Effect.gen(function*() {
      const root = yield* folder
      const bare = yield* crossfire("init", "--data", join(root, "data"))
      expect([bare.code, bare.stdout]).toStrictEqual([2, ""])
      expect(bare.stderr).toContain("--admin NAME")
      const asks = yield* crossfire("init", "--data", join(root, "data"), "--admin", "alice", "--ask-password")
      expect([asks.code, asks.stdout]).toStrictEqual([1, ""])
      expect(asks.stderr).toContain("needs a terminal")
      const reserved = yield* crossfire("init", "--data", join(root, "data"), "--admin", "cf-alice")
      expect(reserved.stderr).toContain("kept for agents")
      expect(existsSync(join(root, "data/crossfire.toml"))).toBe(false)

      const own = join(root, "own")
      const url = ["--server-name", "example.org", "--homeserver-url", "https://matrix.example.org"]
      const made = yield* crossfire("init", "--data", own, "--admin", "alice", ...url)
      expect([made.code, made.stderr]).toStrictEqual([0, ""])
      expect(peopleIn(own)).toStrictEqual([{ user_id: "@alice:example.org", role: "administrator" }])
      expect(existsSync(join(own, "passwords"))).toBe(false)
    }),
  300_000
)

it.scopedLive(
  "[A43] a folder that others can open, and something else in the socket's place, stop the start",
  () =>
    Effect.gen(function*() {
      const data = join(yield* folder, "data")
      const { http } = yield* ports
      mkdirSync(data, { mode: 0o700 })
      writeFileSync(
        join(data, "crossfire.toml"),
        `server_name = "localhost"\n[http]\nport = ${http}\n[homeserver]\nmode = "managed"\npython = "/nowhere/python"\n`
      )
      chmodSync(data, 0o750)
      const open = yield* crossfire("serve", "--data", data)
      expect(open.code).toBe(1)
      expect(open.stderr).toContain(`Close it with: chmod 700 ${data}`)
      expect(existsSync(join(data, "crossfire.sqlite"))).toBe(false)
      chmodSync(data, 0o700)
      writeFileSync(operatorSocketPath(data), "not a socket")
      const taken = yield* crossfire("serve", "--data", data)
      expect(taken.code).toBe(1)
      expect(taken.stderr).toContain("something else stands there")
      const asked = yield* crossfire("person", "list", "--data", data)
      expect([asked.code, asked.stdout]).toStrictEqual([1, ""])
      expect(asked.stderr).toContain("is not a socket")
    }),
  300_000
)
