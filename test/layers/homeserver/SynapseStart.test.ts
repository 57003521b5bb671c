import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { prepare, start } from "../../../src/layers/homeserver/ManagedSynapse.ts"
import { PortInUse } from "../../../src/layers/homeserver/SynapseStart.ts"
import { findMarked } from "../../../src/layers/process/ProcessSweep.ts"
import { eventually, marker, nowhere, temporaryFolder, testConfig } from "./TestSynapse.ts"

it.scopedLive(
  "what an earlier run left behind is ended before the start, and its port taken over",
  () =>
    Effect.gen(function*() {
      const prepared = yield* prepare(testConfig(yield* temporaryFolder, nowhere))
      const [name, value] = marker(prepared)
      const holder =
        `require("node:net").createServer().listen(${prepared.kept.port}, "127.0.0.1", () => console.log("held"))`
      const leftover = spawn(process.execPath, ["-e", holder], {
        env: { ...process.env, [name]: value },
        stdio: ["ignore", "pipe", "inherit"]
      })
      yield* Effect.async<void>((resume) => {
        leftover.stdout.once("data", () => resume(Effect.void))
      })
      yield* start(prepared)
      yield* eventually(Effect.sync(() => leftover.signalCode), (signal) => signal === "SIGKILL")
      expect(yield* findMarked(marker(prepared))).toHaveLength(1)
    }),
  60_000
)

it.scopedLive("a start that cannot succeed says why and leaves nothing behind", () =>
  Effect.gen(function*() {
    const missing = yield* prepare({ ...testConfig(yield* temporaryFolder, nowhere), python: "/nonexistent/python" })
    expect((yield* Effect.flip(Effect.scoped(start(missing)))).message).toBe(
      "Synapse is not installed at /nonexistent/python. Install it with: npm run setup. " +
        "If crossfire.toml names another Python, correct homeserver.python there"
    )
    const withoutSynapse = { ...missing, config: { ...missing.config, python: "/usr/bin/python3" } }
    expect(yield* Effect.flip(Effect.scoped(start(withoutSynapse)))).toMatchObject({ _tag: "SynapseMissing" })

    const prepared = yield* prepare(testConfig(yield* temporaryFolder, nowhere))
    const other = yield* Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const server = createServer()
        server.listen(prepared.kept.port, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
    )
    const taken = yield* Effect.flip(Effect.scoped(start(prepared)))
    expect(taken).toStrictEqual(new PortInUse({ port: prepared.kept.port }))
    expect(taken.message).toContain(`127.0.0.1:${prepared.kept.port}`)
    other.close()

    const wrong = yield* prepare({
      ...testConfig(yield* temporaryFolder, nowhere),
      settings: { listeners: "nonsense" }
    })
    const ended = yield* Effect.flip(Effect.scoped(start(wrong)))
    expect(ended).toMatchObject({ _tag: "HomeserverEnded", code: 1 })
    expect(ended.message).toContain("listeners")

    const broken = yield* prepare(testConfig(yield* temporaryFolder, nowhere))
    writeFileSync(join(broken.config.folder, "homeserver.db"), "this is no database, and long enough to be looked at")
    const failed = yield* Effect.flip(Effect.scoped(start(broken)))
    expect(failed).toMatchObject({ _tag: "HomeserverEnded" })
    expect(failed.message).toContain("not a database")
    for (const each of [prepared, wrong, broken]) expect(yield* findMarked(marker(each))).toStrictEqual([])
  }), 60_000)

it.scopedLive("lost or damaged secrets beside a database are an error, never new ones", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    yield* prepare(testConfig(folder, nowhere))
    const secrets = join(folder, "secrets.json")
    const text = readFileSync(secrets, "utf8")
    writeFileSync(secrets, text.slice(0, 100))
    const damaged = yield* Effect.flip(prepare(testConfig(folder, nowhere)))
    expect(damaged.message).toContain("damaged")
    expect(damaged.message).not.toContain(text.slice(20, 60))
    rmSync(secrets)
    writeFileSync(join(folder, "homeserver.db"), "")
    expect((yield* Effect.flip(prepare(testConfig(folder, nowhere)))).message).toContain("restore it from a backup")
  }), 60_000)
