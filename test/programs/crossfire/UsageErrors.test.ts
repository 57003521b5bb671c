// What the command line says of values that it cannot take, before anything is asked of anybody.
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { binary, parsed, run } from "../../support/ProgramRun.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "crossfire-usage-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const cases: ReadonlyArray<readonly [program: string, args: ReadonlyArray<string>, told: string]> = [
  ["crossfire", ["invite", "--days", "40"], "--days takes a whole number from 1 to 30"],
  ["crossfire", ["invite", "--days", "1.5"], "--days takes a whole number from 1 to 30"],
  ["crossfire", ["signup", "foo"], "policy takes invite, members or open"],
  ["crossfire", ["person", "role", "carol", "boss"], "role takes member or administrator"],
  ["crossfire", ["init", "--http-port", "99999"], "--http-port takes a port number, 1 to 65535"],
  ["crossfire", ["init", "--server-name", "Big"], "--server-name takes a host name in lower case, like example.org"],
  ["fleet", ["deliveries", "--limit", "0"], "--limit takes a whole number from 1 to 1000"],
  ["fleet", ["send", "editor", "hello", "--wait", "long"], "--wait takes a whole number from 0 to 3600"]
]

it.live(
  "a value that an option or argument does not take is told by its name and what it takes, with exit code 2",
  () =>
    Effect.forEach(
      cases,
      ([program, args, told]) =>
        Effect.map(run(binary(program), args), ({ code, stderr, stdout }) => {
          expect([code, stdout, stderr.trim()]).toStrictEqual([2, "", told])
        })
    ),
  60_000
)

it.scopedLive(
  "init and serve refuse one port for two, and init takes a full ID of its own server alone",
  () =>
    Effect.gen(function*() {
      const data = join(yield* folder, "data")
      const init = (...args: ReadonlyArray<string>) => run(binary("crossfire"), ["init", "--data", data, ...args])
      const same = yield* init("--admin", "alice", "--http-port", "21008", "--homeserver-port", "21008")
      expect([same.code, same.stdout]).toStrictEqual([2, ""])
      expect(same.stderr).toContain("--homeserver-port and --http-port name the same port, 21008")
      const usual = yield* init("--admin", "alice", "--homeserver-port", "8740")
      expect(usual.stderr).toContain("--http-port (8740 where it is left out)")
      const foreign = yield* init("--admin", "@alice:example.org", "--server-name", "here.example.org")
      expect(foreign.code).toBe(2)
      expect(foreign.stderr).toContain("@alice:example.org is a user of another homeserver, example.org")
      expect(existsSync(data)).toBe(false)

      const url = ["--server-name", "example.org", "--homeserver-url", "https://matrix.example.org"]
      const own = yield* init("--admin", "@alice:example.org", "--json", ...url)
      expect(own.code).toBe(0)
      expect(parsed(own.stdout)).toMatchObject({
        administrator: "@alice:example.org",
        homeserverUrl: "https://matrix.example.org",
        webUrl: "http://127.0.0.1:8740"
      })
      writeFileSync(
        join(data, "crossfire.toml"),
        `server_name = "example.org"\n[http]\nport = 21008\n[homeserver]\nmode = "managed"\nport = 21008\n`
      )
      const serve = yield* run(binary("crossfire"), ["serve", "--data", data])
      expect(serve.code).toBe(1)
      expect(serve.stderr).toContain("line 6: homeserver.port must be another port than http.port")
    }),
  60_000
)
