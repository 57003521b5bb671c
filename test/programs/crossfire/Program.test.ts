import { expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Duration, Effect, Schedule } from "effect"
import { execFile, spawn } from "node:child_process"
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { acquire } from "../../../src/layers/sqlite/KernelLock.ts"
import { makeFolder } from "../../../src/programs/crossfire/Init.ts"
import { binary, run } from "../../support/ProgramRun.ts"

const crossfire = (...args: ReadonlyArray<string>) => run(binary("crossfire"), args)

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "crossfire-program-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A port that is taken until the scope closes. */
const takenPort = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ port, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
).pipe(Effect.map(({ port }) => port))

/** As `init` leaves it, without anybody in it: that takes a homeserver, and Operator.test.ts. */
const initialized = (httpPort = 8740) =>
  Effect.gen(function*() {
    const data = join(yield* folder, "data")
    yield* makeFolder({ data, serverName: "localhost", httpPort, homeserver: { mode: "managed", port: null } })
    return data
  })

it.scopedLive(
  "init makes a private folder once; a homeserver of your own gets its registration, secrets shown nowhere",
  () =>
    Effect.gen(function*() {
      const data = yield* initialized()
      expect(statSync(data).mode & 0o777).toBe(0o700)
      expect(statSync(join(data, "crossfire.toml")).mode & 0o777).toBe(0o600)
      const again = yield* crossfire("init", "--admin", "ann", "--data", data)
      expect(again).toMatchObject({ code: 4, stdout: "" })
      const unfit = yield* crossfire("init", "--admin", "cf-ann", "--data", join(data, "other"))
      expect(unfit).toMatchObject({ code: 4, stdout: "" })
      expect(again.stderr).toContain("is there already and was not changed")

      const own = join(yield* folder, "own")
      const made = yield* crossfire(
        "init",
        "--admin",
        "ann",
        "--data",
        own,
        "--homeserver-url",
        "https://matrix.example.org"
      )
      const registration = readFileSync(join(own, "crossfire-registration.yaml"), "utf8")
      const token = /"as_token": "([^"]+)"/u.exec(registration)?.[1] ?? ""
      expect(token.length).toBeGreaterThan(30)
      expect(made.stdout).toContain("app_service_config_files")
      expect(made.stdout).not.toContain(token)
      expect(statSync(join(own, "homeserver-tokens.json")).mode & 0o777).toBe(0o600)
      // While another init has not ended yet: what that one is about to show stays good.
      rmSync(join(own, "crossfire.toml"))
      const kept = () =>
        ["crossfire-registration.yaml", "homeserver-tokens.json"].map((name) => readFileSync(join(own, name), "utf8"))
      const before = kept()
      yield* Effect.scoped(Effect.gen(function*() {
        yield* acquire("crossfire", own)
        const late = yield* crossfire(
          "init",
          "--admin",
          "bo",
          "--data",
          own,
          "--homeserver-url",
          "https://m.example.org"
        )
        expect([late.code, late.stdout]).toStrictEqual([1, ""])
        expect(late.stderr).toContain("already runs")
      }))
      expect(kept()).toStrictEqual(before)
      const wrong = yield* crossfire("init", "--data", join(own, "x"), "--push-url", "http://127.0.0.1:1")
      expect(wrong).toMatchObject({ code: 2 })
    }),
  120_000
)

it.scopedLive(
  "what is wrong with the settings is told with line and field, and never with the value",
  () =>
    Effect.gen(function*() {
      const data = yield* initialized()
      const missing = yield* crossfire("serve", "--data", join(data, "nothing"))
      expect(missing.code).toBe(1)
      expect(missing.stderr).toContain("crossfire init")
      const path = join(data, "crossfire.toml")
      writeFileSync(
        path,
        `server_name = "Not A Host"\nhttp = { port = "secret-value" }\n\n[homeserver]\nmode = "managed"\nsignups = "x"\n`
      )
      const wrong = yield* crossfire("serve", "--data", data)
      expect(wrong.code).toBe(1)
      expect(wrong.stderr).toContain("line 1: server_name must be a host name")
      expect(wrong.stderr).toContain("line 2: http.port")
      expect(wrong.stderr).toContain("line 6: homeserver.signups is unknown")
      expect(wrong.stderr).not.toContain("secret-value")
      appendFileSync(path, "[[[")
      const broken = yield* crossfire("serve", "--data", data)
      expect(broken.stderr).toMatch(/line \d+: it is not valid TOML/u)
    }),
  120_000
)

it.scopedLive(
  "[O-03] a taken port, a second server and a failed migration each end the start with their own error",
  () =>
    Effect.gen(function*() {
      const port = yield* takenPort
      const data = yield* initialized(port)
      const taken = yield* crossfire("serve", "--data", data)
      expect(taken.code).toBe(1)
      expect(taken.stderr).toContain(`Port ${port} is taken by another program`)

      yield* Effect.scoped(Effect.gen(function*() {
        yield* acquire("crossfire", data)
        const second = yield* crossfire("serve", "--data", data)
        expect(second.code).toBe(1)
        expect(second.stderr).toContain(`already runs in ${data} (process ${process.pid})`)
      }))

      const other = yield* initialized()
      const database = new Sqlite(join(other, "crossfire.sqlite"))
      database.exec("CREATE TABLE instance (something TEXT)")
      database.close()
      const failed = yield* crossfire("serve", "--data", other)
      expect(failed.code).toBe(1)
      expect(failed.stderr).toContain("could not be brought to the newest schema")
    }),
  120_000
)

/** Process IDs whose command line names this. */
const processesWith = (text: string) =>
  Effect.async<ReadonlyArray<string>>((resume) => {
    execFile("pgrep", ["-f", text], (_, out) => resume(Effect.succeed(out.split("\n").filter((line) => line !== ""))))
  })

const again = { schedule: Schedule.spaced("100 millis") } as const

it.scopedLive(
  "SIGTERM ends the server and its homeserver within bounds, with exit code 0 and nothing left behind",
  () =>
    Effect.gen(function*() {
      const port = yield* Effect.scoped(takenPort)
      const data = yield* initialized(port)
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, [binary("crossfire"), "serve", "--data", data], { stdio: "ignore" })),
        (process) => Effect.sync(() => process.kill("SIGKILL"))
      )
      const code = Effect.async<number | null>((resume) => {
        child.once("exit", (code) => resume(Effect.succeed(code)))
      })
      yield* Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/healthz`)).pipe(Effect.retry(again))
      yield* processesWith(join(data, "homeserver", "homeserver.yaml")).pipe(
        Effect.repeat({ ...again, until: (found) => found.length > 0 })
      )
      const [end] = yield* Effect.all([Effect.timed(code), Effect.sync(() => child.kill("SIGTERM"))], {
        concurrency: "unbounded"
      })
      expect(end[1]).toBe(0)
      expect(Duration.toMillis(end[0])).toBeLessThan(15_000)
      expect(yield* processesWith(data)).toStrictEqual([])
    }),
  120_000
)
