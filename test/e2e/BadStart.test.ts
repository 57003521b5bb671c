// What is wrong with machines, folders and processes, with the real programs: each is told with the next step and its own
// exit code, and what runs already goes on untouched. What people write stands in BadInput.
import { expect, it, layer as withLayer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { delimiter, join } from "node:path"
import { sharedContext } from "../../src/domain/Ids.ts"
import { start, tail } from "../../src/programs/demo/Children.ts"
import { follow } from "../../src/programs/demo/Journey.ts"
import { hostEnvironment } from "../../src/programs/HostEnvironment.ts"
import { binary, project, run } from "../support/ProgramRun.ts"
import { processesOf } from "./MarkedProcesses.ts"
import { crossfire, fleet, layer, SharedStage, stageFolder, statusOf, takenAt, takenPort } from "./SharedStage.ts"

const answers = (url: string) => Effect.tryPromise(() => fetch(url)).pipe(Effect.map((response) => response.ok))

const patience = { schedule: Schedule.spaced("100 millis") } as const

it.scopedLive(
  "crossfire's port and its homeserver's port in use are each told by their setting; with both free it starts",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const data = join(folder, "data")
      const [http, homeserver] = yield* Effect.all([takenPort, takenPort])
      const ports = ["--http-port", String(http.port), "--homeserver-port", String(homeserver.port)]
      // The first administrator's account is made on a homeserver that runs for it: that port is told here already.
      const init = () => crossfire("init", "--admin", "ann", "--data", data, ...ports)
      const early = yield* init()
      expect([early.code, early.stdout]).toStrictEqual([1, ""])
      expect(early.stderr).toContain(`Another program listens on 127.0.0.1:${homeserver.port}`)
      yield* homeserver.release
      expect((yield* init()).code).toBe(0)
      const again = yield* takenAt(homeserver.port)

      const first = yield* crossfire("serve", "--data", data)
      expect([first.code, first.stdout]).toStrictEqual([1, ""])
      expect(first.stderr).toContain(`Port ${http.port} is taken by another program`)
      expect(first.stderr).toContain("set http.port in crossfire.toml")
      expect(processesOf(folder)).toStrictEqual([])

      yield* http.release
      const second = yield* crossfire("serve", "--data", data)
      expect([second.code, second.stdout]).toStrictEqual([1, ""])
      expect(second.stderr).toContain(`Another program listens on 127.0.0.1:${homeserver.port}`)
      expect(second.stderr).toContain("set homeserver.port in crossfire.toml")
      expect(processesOf(folder)).toStrictEqual([])

      const person = yield* crossfire("person", "add", "ben", "--data", data)
      expect([person.code, person.stdout]).toStrictEqual([3, ""])
      expect(person.stderr).toContain(`Start it with: crossfire serve --data ${data}`)

      yield* again.release
      const log = join(folder, "log")
      const child = yield* start("crossfire", ["serve", "--data", data], log)
      yield* answers(`http://127.0.0.1:${homeserver.port}/_matrix/client/versions`).pipe(
        Effect.retry({ ...patience, while: () => child.running() }),
        Effect.orElseSucceed(() => tail(log)),
        Effect.tap((answered) => Effect.sync(() => expect(answered).toBe(true)))
      )
      yield* child.stop
      expect(processesOf(folder)).toStrictEqual([])
    }),
  180_000
)

it.scopedLive("a Python that is not there is told with its setting, and nothing runs on", () =>
  Effect.gen(function*() {
    const folder = yield* stageFolder
    const data = join(folder, "data")
    const http = yield* takenPort
    yield* http.release
    const python = join(folder, "no/bin/python")
    mkdirSync(data, { mode: 0o700 })
    writeFileSync(
      join(data, "crossfire.toml"),
      `server_name = "localhost"\n[http]\nport = ${http.port}\n[homeserver]\nmode = "managed"\npython = "${python}"\n`
    )
    const refused = yield* crossfire("serve", "--data", data)
    expect([refused.code, refused.stdout]).toStrictEqual([1, ""])
    expect(refused.stderr).toContain(`Synapse is not installed at ${python}`)
    expect(refused.stderr).toContain("npm run setup")
    expect(refused.stderr).toContain("homeserver.python")
    expect(processesOf(folder)).toStrictEqual([])
  }), 180_000)

/** The first place on the path that has this program. */
const whereIs = (name: string): string =>
  (hostEnvironment["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)).find((path) =>
    existsSync(path)
  ) ?? ""

it.scopedLive(
  "set-up without a usable Python ends with code 3 and the command to install it, and installs nothing",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const clone = join(folder, "clone")
      const programs = join(folder, "programs")
      mkdirSync(programs)
      symlinkSync(process.execPath, join(programs, "node"))
      symlinkSync(whereIs("npm"), join(programs, "npm"))
      for (const name of ["scripts", "package.json", "package-lock.json", "engines", "homeserver"]) {
        cpSync(join(project, name), join(clone, name), { recursive: true })
      }
      const setUp = run(join(clone, "scripts/setup.mjs"), [], { env: { PATH: programs } })
      const before = readdirSync(clone).toSorted()

      const without = yield* setUp
      expect([without.code, without.stdout]).toStrictEqual([3, ""])
      expect(without.stderr).toContain("no Python was found")
      expect(without.stderr).toContain("sudo apt-get install python3 python3-venv")

      const python = join(programs, "python3")
      writeFileSync(python, "#!/bin/sh\necho 3.9\n", { mode: 0o755 })
      const old = yield* setUp
      expect([old.code, old.stdout]).toStrictEqual([3, ""])
      expect(old.stderr).toContain("Python 3.11 or newer is needed")
      expect(old.stderr).toContain("python3 is 3.9")

      writeFileSync(python, "#!/bin/sh\ncase \"$2\" in *venv*) exit 1;; esac\necho 3.12\n")
      const bare = yield* setUp
      expect([bare.code, bare.stdout]).toStrictEqual([3, ""])
      expect(bare.stderr).toContain("sudo apt-get install python3-venv")
      expect(readdirSync(clone).toSorted()).toStrictEqual(before)
    }),
  180_000
)

it.scopedLive(
  "a root that others can open, a broken link and a file are refused by name; a link to a good root is that root",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const root = join(folder, "root")
      expect((yield* fleet("init", "--root", root)).code).toBe(0)
      const roots = {
        open: join(folder, "open"),
        nowhere: join(folder, "nowhere"),
        circle: join(folder, "circle"),
        file: join(folder, "file"),
        good: join(folder, "good")
      }
      mkdirSync(roots.open)
      chmodSync(roots.open, 0o750)
      symlinkSync(join(folder, "absent"), roots.nowhere)
      symlinkSync(roots.circle, roots.circle)
      symlinkSync(root, roots.good)
      writeFileSync(roots.file, "")
      const refusals = [
        [roots.open, `can be opened by other users. Close it with: chmod 700 ${roots.open}`],
        [roots.nowhere, "is a link that leads nowhere. Remove it, or choose another place with --root"],
        [roots.circle, "is a link that leads nowhere"],
        [roots.file, "is not a folder. Choose another place with --root"]
      ] as const
      for (const [path, told] of refusals) {
        for (const refused of [yield* fleet("init", "--root", path), yield* run(binary("fleetd"), ["--root", path])]) {
          expect([refused.code, refused.stdout]).toStrictEqual([4, ""])
          expect(refused.stderr).toContain(`${path} ${told}`)
        }
      }
      expect(readdirSync(roots.open)).toStrictEqual([])
      expect((statSync(roots.open).mode & 0o777).toString(8)).toBe("750")
      expect(lstatSync(roots.nowhere).isSymbolicLink()).toBe(true)
      expect(existsSync(join(folder, "absent"))).toBe(false)

      const followed = yield* fleet("init", "--root", roots.good)
      expect([followed.code, followed.stdout]).toContain(0)
      expect(followed.stdout).toContain(`The root is ${root}.`)
      // What a link leads to is looked at, not the link.
      chmodSync(root, 0o755)
      const opened = yield* fleet("status", "--root", roots.good)
      expect([opened.code, opened.stdout]).toStrictEqual([4, ""])
      expect(opened.stderr).toContain("can be opened by other users")
    }),
  180_000
)

withLayer(layer, { timeout: "240 seconds", excludeTestServices: true })("on a running stage", (it) => {
  it.scoped(
    "[O-03] a second crossfire on the same data folder is refused, and the first goes on",
    () =>
      Effect.gen(function*() {
        const stage = yield* SharedStage
        const second = yield* crossfire("serve", "--data", stage.dataFolder)
        expect([second.code, second.stdout]).toStrictEqual([1, ""])
        expect(second.stderr).toContain(`already runs in ${stage.dataFolder} (process ${stage.crossfire.processId})`)
        expect(second.stderr).toContain("Stop that one first")
        expect(stage.crossfire.running()).toBe(true)
        expect(yield* answers(`${stage.address}/healthz`)).toBe(true)
        expect(yield* answers(`${stage.homeserver}/_matrix/client/versions`)).toBe(true)
      }),
    180_000
  )

  it.scoped(
    "[C-03] a second fleetd on the same root is refused by every way, and the first keeps its lease",
    () =>
      Effect.gen(function*() {
        const { fleetd, folder, root } = yield* SharedStage
        const before = yield* statusOf(root)
        expect(before.processId).toBe(fleetd.processId)
        expect(before.lease.state).toBe("held")
        const direct = yield* run(binary("fleetd"), ["--root", root])
        expect([direct.code, direct.stdout]).toStrictEqual([4, ""])
        expect(direct.stderr).toContain(`fleetd already runs in ${root} (process ${fleetd.processId})`)
        const taking = yield* run(binary("fleetd"), ["--root", root, "--take-over"])
        expect(taking.code).toBe(4)
        const again = yield* fleet("up", "--root", root)
        expect([again.code, again.stdout.split("\n")[0]]).toStrictEqual([0, "Already running."])
        const enrolling = yield* fleet("enroll", join(folder, "roster.toml"), "--root", root)
        expect(enrolling.code).toBe(4)
        expect(enrolling.stderr).toContain(`Stop that one first (fleet down --root ${root})`)
        expect(yield* statusOf(root)).toStrictEqual(before)
      }),
    180_000
  )

  it.scoped(
    "[C-02] [C-09] after kill -9 of fleetd its socket is told as left over, `fleet up` goes on with the fleet, and down is down",
    () =>
      Effect.gen(function*() {
        const stage = yield* SharedStage
        const { agents, root } = stage
        yield* follow(stage, "before the kill", () => Effect.void)
        yield* stage.fleetd.kill
        expect(lstatSync(join(root, "fleetd.sock")).isSocket()).toBe(true)
        const stale = yield* fleet("status", "--root", root)
        expect([stale.code, stale.stdout]).toStrictEqual([3, ""])
        expect(stale.stderr).toContain("a daemon that was killed left its socket")
        expect(stale.stderr).toContain(`fleet up --root ${root}`)

        const up = yield* Effect.acquireRelease(fleet("up", "--root", root), () => fleet("down", "--root", root))
        expect([up.code, up.stderr]).toStrictEqual([0, ""])
        const { steps } = yield* follow(stage, "after the kill", () => Effect.void)
        expect(steps.filter(({ name }) => name === "answered").length).toBe(agents.length)

        const { processId } = yield* statusOf(root)
        expect((yield* fleet("down", "--root", root)).code).toBe(0)
        expect(existsSync(`/proc/${processId}`)).toBe(false)
        expect(processesOf(root)).toStrictEqual([])
        for (const command of [["status"], ["stop", "--all"], ["send", "scout", "hello"], ["deliveries"], ["down"]]) {
          const absent = yield* fleet(...command, "--root", root)
          expect([command, absent.code, absent.stdout]).toStrictEqual([command, 3, ""])
          expect(absent.stderr).toBe(`fleet: fleetd does not run in ${root}. Start it with: fleet up --root ${root}\n`)
        }
        yield* stage.startFleetd
        const status = yield* statusOf(root)
        const shared = status.agents.flatMap(({ contexts }) =>
          contexts.filter(({ context }) => context === sharedContext)
        )
        // What was said to an absent daemon was refused, not kept.
        expect(shared.map(({ waitingItems }) => waitingItems)).toStrictEqual(agents.map(() => 0))
      }),
    180_000
  )
})
