import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { chmodSync, cpSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import * as RootFolder from "../../../src/layers/fleetd/RootFolder.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { acquire } from "../../../src/layers/sqlite/KernelLock.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { registryIn, scratchFolder, smallFleet } from "../../support/FleetFile.ts"
import { binary, parsed, run } from "../../support/ProgramRun.ts"

const fleet = (root: string, ...args: ReadonlyArray<string>) => run(binary("fleet"), [...args, "--root", root])

interface Status {
  readonly processId: number
  readonly lease: { readonly state: string; readonly reason: string }
  readonly agents: ReadonlyArray<{
    readonly name: string
    readonly desired: string
    readonly session: { readonly state: string }
    readonly contexts: ReadonlyArray<{ readonly waitingItems: number }>
  }>
}
const statusOf = (root: string) => Effect.map(fleet(root, "status", "--json"), ({ stdout }) => parsed(stdout) as Status)

const kill = (processId: number, signal: NodeJS.Signals) =>
  Effect.ignore(Effect.try(() => process.kill(processId, signal)))

const gone = (processId: number) =>
  Effect.gen(function*() {
    while (yield* Effect.orElseSucceed(Effect.try(() => process.kill(processId, 0)), () => false)) {
      yield* Effect.sleep("20 millis")
    }
  }).pipe(Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => "still there" as const }))

/** A crossfire that is not reached: nothing listens on that port any more. */
const deadUrl = Effect.async<string>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(`http://127.0.0.1:${port}`)))
  })
})

/** A root made by `fleet init`; whatever fleetd runs in it at the end of the test is ended. */
const initialized = Effect.gen(function*() {
  const root = join(yield* scratchFolder, "root")
  yield* Effect.addFinalizer(() =>
    Effect.gen(function*() {
      const pid = yield* Effect.orElseSucceed(
        Effect.try(() => Number.parseInt(readFileSync(join(root, "fleetd.pid"), "utf8"), 10)),
        () => 0
      )
      // `fleet init` writes its own process ID there too: that one is gone already.
      const command = yield* Effect.orElseSucceed(
        Effect.try(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")),
        () => ""
      )
      if (!command.includes(root)) return
      yield* kill(pid, "SIGKILL")
      yield* Effect.ignore(gone(pid))
    })
  )
  expect(yield* fleet(root, "init")).toMatchObject({ code: 0, stderr: "" })
  return root
})

const introduce = (root: string) =>
  Effect.gen(function*() {
    const fleet = smallFleet(yield* deadUrl)
    yield* Effect.flatMap(FleetRegistry, (registry) => registry.introduce(fleet)).pipe(
      Effect.provide(SqliteRegistry.layer.pipe(Layer.provide(registryIn(root))))
    )
  })

it.scopedLive(
  "[P-01] each program starts from anywhere and through a link, and says what it wants",
  () =>
    Effect.gen(function*() {
      const folder = yield* scratchFolder
      for (const name of ["fleet", "agent"]) {
        symlinkSync(binary(name), join(folder, name))
        const version = yield* run(join(folder, name), ["--version"], { cwd: folder })
        expect([version.code, version.stdout.trim(), version.stderr]).toStrictEqual([0, "0.1.0", ""])
        const wrong = yield* run(binary(name), ["nonsense"])
        expect([wrong.code, wrong.stdout]).toStrictEqual([2, ""])
        expect(wrong.stderr).toContain("Invalid subcommand")
      }
      symlinkSync(binary("fleetd"), join(folder, "fleetd"))
      const wrong = yield* run(join(folder, "fleetd"), ["--nonsense"])
      expect([wrong.code, wrong.stderr]).toStrictEqual([2, "usage: fleetd [--root DIR] [--take-over]\n"])
    }),
  60_000
)

it.scopedLive(
  "[C-02] an absent daemon is code 3 with the next step, in words and in JSON",
  () =>
    Effect.gen(function*() {
      const root = yield* initialized
      const words = yield* fleet(root, "status")
      expect([words.code, words.stdout]).toStrictEqual([3, ""])
      expect(words.stderr).toContain(`fleet up --root ${root}`)
      const json = yield* run(binary("fleet"), ["start", "--all", "--json"], { env: { FLEET_ROOT: root } })
      expect(json.code).toBe(3)
      expect(parsed(json.stderr)).toMatchObject({ error: { tag: "FleetdNotRunning" } })

      const elsewhere = yield* fleet(join(root, "other"), "status")
      expect(elsewhere.code).toBe(4)
      expect(elsewhere.stderr).toContain("fleet init")
      const unclear = yield* fleet(root, "stop")
      expect(unclear.code).toBe(2)
      expect(unclear.stderr).toContain("--all")
    }),
  60_000
)

it.scopedLive("[P-02] nothing runs without a fleet: fleetd says to enroll one", () =>
  Effect.gen(function*() {
    const root = yield* initialized
    const refused = yield* fleet(root, "up")
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain("fleet enroll ROSTER --server URL")
    // Its command holds the root for as long as it waits: no daemon is waited for that ended at once.
    yield* acquire("fleetd", root, { command: "fleet enroll" })
    const meanwhile = yield* fleet(root, "up")
    expect([meanwhile.code, meanwhile.stdout]).toStrictEqual([4, ""])
    expect(meanwhile.stderr).toContain(`\`fleet enroll\` is at work in ${root} (process ${process.pid})`)
    expect(meanwhile.millis).toBeLessThan(45_000)
  }), 60_000)

it.scopedLive(
  "[C-01] [C-02] [C-09] up, one daemon a root, desired state over kill -9, down",
  () =>
    Effect.gen(function*() {
      const root = yield* initialized
      yield* introduce(root)
      const up = yield* fleet(root, "up")
      expect([up.code, up.stderr]).toStrictEqual([0, ""])
      expect(up.stdout).toContain("street of @alice:test")
      const first = yield* statusOf(root)
      expect(first.lease.state).toBe("not-held")

      // Rule of the root: all of it is private.
      for (
        const name of ["fleetd.sqlite", "fleetd.sqlite-wal", "fleetd.lock", "fleetd.log", "fleet.toml", "fleetd.sock"]
      ) {
        expect([name, (statSync(join(root, name)).mode & 0o777).toString(8)]).toStrictEqual([name, "600"])
      }
      expect((statSync(root).mode & 0o777).toString(8)).toBe("700")

      const second = yield* run(binary("fleetd"), ["--root", root])
      expect(second.code).toBe(4)
      expect(parsed(second.stderr)).toMatchObject({ logLevel: "FATAL", annotations: { tag: "AlreadyRunning" } })
      expect(second.stderr).toContain(`process ${first.processId}`)
      // A second at most on a machine that has nothing else to do; this one may have.
      expect(second.millis).toBeLessThan(5_000)
      const again = yield* fleet(root, "up")
      expect([again.code, again.stdout.split("\n")[0]]).toStrictEqual([0, "Already running."])
      const enrolling = yield* fleet(root, "enroll", "roster.toml")
      expect(enrolling.code).toBe(4)
      expect(enrolling.stderr).toContain("already runs")

      const rotating = yield* fleet(root, "credentials", "rotate", "--json")
      expect([rotating.code, parsed(rotating.stderr)]).toMatchObject([4, { error: { tag: "RotationFailed" } }])
      expect(rotating.stderr).toContain("Nothing was changed")

      const unknown = yield* fleet(root, "stop", "editor", "nobody")
      expect(unknown.code).toBe(4)
      expect(unknown.stderr).toContain("editor, reporter")
      const operation = randomUUID()
      const item = ["send", "editor", "-", "--wait", "0", "--operation", operation, "--json", "--root", root]
      const sent = yield* run(binary("fleet"), item, { input: "Hello there\n" })
      expect([sent.code, parsed(sent.stdout)]).toStrictEqual([0, { operationId: operation, state: "waiting" }])
      yield* run(binary("fleet"), item, { input: "Hello there\n" })
      expect((yield* fleet(root, "stop", "reporter")).stdout).toBe("reporter is stopped\n")

      yield* kill(first.processId, "SIGKILL")
      yield* gone(first.processId)
      const stale = yield* fleet(root, "status")
      expect(stale.code).toBe(3)
      expect(stale.stderr).toContain("left its socket")
      expect((yield* fleet(root, "up")).code).toBe(0)
      const revived = yield* statusOf(root)
      expect(revived.processId).not.toBe(first.processId)
      expect(revived.agents.map(({ name, desired }) => [name, desired])).toStrictEqual([
        ["editor", "started"],
        ["reporter", "stopped"]
      ])
      expect(revived.agents[0]?.contexts[0]?.waitingItems).toBe(1)

      const down = yield* fleet(root, "down")
      expect(down.code).toBe(0)
      expect(existsSync(`/proc/${revived.processId}`)).toBe(false)
      expect(existsSync(join(root, "fleetd.sock"))).toBe(false)
      expect((yield* fleet(root, "down")).code).toBe(3)
      // The log has structure, no text of a message, and no credential.
      const log = readFileSync(join(root, "fleetd.log"), "utf8").trim()
      for (const line of log.split("\n")) expect(parsed(line)).toHaveProperty("logLevel")
      expect(log).not.toContain("Hello there")
      expect(log).not.toContain("token-of")
    }),
  120_000
)

it.scopedLive(
  "[C-01] a root that others can open is refused, and one that was moved names its old place",
  () =>
    Effect.gen(function*() {
      const root = yield* initialized
      yield* introduce(root)
      chmodSync(root, 0o755)
      for (const command of ["status", "up", "init"]) {
        const refused = yield* fleet(root, command)
        expect([command, refused.code]).toStrictEqual([command, 4])
        expect(refused.stderr).toContain(`chmod 700 ${root}`)
      }
      chmodSync(root, 0o700)
      const moved = join(yield* scratchFolder, "moved")
      cpSync(root, moved, { recursive: true })
      chmodSync(moved, 0o700)
      const refused = yield* fleet(moved, "up")
      expect(refused.code).toBe(4)
      expect(refused.stderr).toContain(`its histories live at ${yield* RootFolder.open(root)}`)
    }),
  60_000
)

it.scopedLive("a signal ends fleetd in order", () =>
  Effect.gen(function*() {
    const root = yield* initialized
    yield* introduce(root)
    expect((yield* fleet(root, "up")).code).toBe(0)
    const { processId } = yield* statusOf(root)
    yield* kill(processId, "SIGTERM")
    yield* gone(processId)
    expect(existsSync(join(root, "fleetd.sock"))).toBe(false)
  }), 60_000)

it.scopedLive("an enrollment that cannot begin says why before anything is sent", () =>
  Effect.gen(function*() {
    const root = yield* initialized
    const nowhere = yield* fleet(root, "enroll", "roster.toml")
    expect([nowhere.code, nowhere.stderr]).toStrictEqual([2, "fleet: Name the crossfire to enroll at: --server URL\n"])
    const plain = yield* fleet(root, "enroll", "roster.toml", "--server", "http://crossfire.example.org")
    expect(plain.code).toBe(4)
    expect(plain.stderr).toContain("use https")
    const renewed = yield* fleet(root, "enroll", "roster.toml", "--new-credentials")
    expect([renewed.code, renewed.stderr]).toMatchObject([2, expect.stringContaining("--again --new-credentials")])
    const absent = yield* fleet(root, "enroll", join(root, "roster.toml"), "--server", yield* deadUrl)
    expect(absent.code).toBe(4)
    expect(absent.stderr).toContain("roster.toml")
    writeFileSync(join(root, "fleet.toml"), "[codex]\nsandbx = 1\n")
    const settings = yield* fleet(root, "enroll", "roster.toml", "--json", "--server", yield* deadUrl)
    expect([settings.code, parsed(settings.stderr)]).toMatchObject([4, { error: { tag: "SettingsInvalid" } }])
  }), 60_000)
