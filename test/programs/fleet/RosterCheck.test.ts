import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { modelCatalog, piModels, scriptedModelId, scriptedProviderId } from "../../../src/layers/model/ModelCatalog.ts"
import { acquire } from "../../../src/layers/sqlite/KernelLock.ts"
import { bob, entry, introduced, roster, scratch, start } from "../../layers/crossfire/enrollment/EnrollmentFixture.ts"
import { serve } from "../../layers/crossfire/enrollment/HttpFixture.ts"
import { scratchFolder } from "../../support/FleetFile.ts"
import { binary, parsed, run } from "../../support/ProgramRun.ts"

const nobody = "http://127.0.0.1:1"
const agent = (name: string, settings: Readonly<Record<string, string>> = {}) =>
  Object.entries({ key: name, name, engine: "codex", model: scriptedModelId, work_folder: "work", ...settings })
    .reduce((lines, [field, value]) => `${lines}\n${field} = "${value}"`, "[[agent]]")

/** A folder with a roster file, a home, and settings under which both engines need no login. */
const place = Effect.gen(function*() {
  const folder = yield* scratchFolder
  const rosterPath = join(folder, "roster.toml")
  const root = join(folder, "root")
  for (const name of ["work", "root", "temporary"]) mkdirSync(join(folder, name), { mode: 0o700 })
  writeFileSync(join(folder, "catalog.json"), modelCatalog())
  writeFileSync(join(folder, "models.json"), piModels(nobody))
  writeFileSync(
    join(root, "fleet.toml"),
    [
      "[codex.provider]",
      `id = "${scriptedProviderId}"`,
      `base_url = "${nobody}"`,
      `model_catalog = "${join(folder, "catalog.json")}"`,
      "[pi]",
      "login = \"none\"",
      `models = "${join(folder, "models.json")}"`
    ].join("\n")
  )
  const env = { HOME: folder, TMPDIR: join(folder, "temporary") }
  return {
    folder,
    root,
    rosterPath,
    write: (...agents: ReadonlyArray<string>) =>
      writeFileSync(rosterPath, ["fleet = \"street\"", "owner = \"@alice:test\"", ...agents].join("\n")),
    check: (...more: ReadonlyArray<string>) => run(binary("fleet"), ["roster", "check", rosterPath, ...more], { env }),
    /** Whatever was made beside what the test made itself. */
    made: () => [...readdirSync(folder), ...readdirSync(root), ...readdirSync(join(folder, "temporary"))].toSorted()
  }
})

it.scopedLive(
  "[I-04] a roster is checked without a root, a lock or a crossfire, and nothing is kept",
  () =>
    Effect.gen(function*() {
      const { check, made, root, rosterPath, write } = yield* place
      const before = made()
      write(agent("ww", { engine: "cobol" }), agent("cc", { work_folder: "nowhere" }))
      const wrong = yield* check()
      expect([wrong.code, wrong.stdout]).toStrictEqual([4, ""])
      expect(wrong.stderr).toContain(`${rosterPath}:6: `)
      expect(wrong.stderr).toContain("agent 2 (cc), work_folder")

      write(agent("ww"))
      const noLogin = yield* check("--json")
      expect(noLogin.code).toBe(4)
      expect(parsed(noLogin.stderr)).toMatchObject({ error: { tag: "EngineUnavailable" } })
      expect(noLogin.stderr).toContain("codex login")

      // Where fleetd runs, its lock is held and its settings hold.
      yield* acquire("fleetd", root)
      const locked = made()
      write(agent("ww", { effort: "extreme" }), agent("cc", { engine: "pi", model: "nothing" }))
      const models = yield* check("--root", root)
      expect(models.code).toBe(4)
      expect(models.stderr).toContain(`${rosterPath}:9: agent 1 (ww), effort: codex does not offer`)
      expect(models.stderr).toContain(`${rosterPath}:14: agent 2 (cc), model: pi does not offer`)
      write(agent("ww"), agent("cc", { engine: "pi", model: `${scriptedProviderId}/${scriptedModelId}` }))
      const good = yield* check("--root", root, "--json")
      expect([good.code, good.stderr]).toStrictEqual([0, ""])
      expect(parsed(good.stdout)).toMatchObject({ ok: true, fleet: "street", agents: [{ name: "ww" }, { name: "cc" }] })
      expect(made()).toStrictEqual(locked)
      expect(before.every((name) => locked.includes(name))).toBe(true)
    }),
  120_000
)

it.scopedLive(
  "[I-04] with --server names and capacity are asked for, and nothing is reserved",
  () =>
    Effect.gen(function*() {
      const { check, root, write } = yield* place
      const crossfire = yield* start(yield* scratch)
      const server = yield* serve(crossfire)
      yield* introduced(crossfire, roster([entry("x", "ww")], bob))
      const filed = crossfire.rows("SELECT enrollment_id FROM enrollment")
      const before = yield* filed
      write(agent("ww"), agent("cc"))
      const taken = yield* check("--root", root, "--server", server.url, "--json")
      expect(taken.code).toBe(4)
      expect(parsed(taken.stderr)).toMatchObject({ error: { tag: "RosterRejected" } })
      expect(taken.stderr).toContain("ww: ")
      write(agent("cc"))
      const good = yield* check("--root", root, "--server", server.url)
      expect([good.code, good.stderr]).toStrictEqual([0, ""])
      expect(good.stdout).toContain("nothing is reserved")
      expect(server.paths).toStrictEqual(["/v1/enrollments/preflight", "/v1/enrollments/preflight"])
      expect(yield* filed).toStrictEqual(before)
      const dead = createServer()
      const port = yield* Effect.async<number>((resume) => {
        dead.listen(0, "127.0.0.1", () => {
          const address = dead.address()
          dead.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 1)))
        })
      })
      const unreached = yield* check("--root", root, "--server", `http://127.0.0.1:${port}`)
      expect([unreached.code, unreached.stdout]).toStrictEqual([1, ""])
      expect(unreached.stderr).toContain(`http://127.0.0.1:${port} could not be reached (does crossfire run there?)`)
      const other = yield* Effect.acquireRelease(
        Effect.async<Server>((resume) => {
          const server = createServer((_request, response) => void response.writeHead(404).end("{}"))
          server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      expect(other.listening).toBe(true)
      const wrongOne = yield* check("--root", root, "--server", `http://127.0.0.1:${port}`)
      expect(wrongOne.stderr).toContain(`is http://127.0.0.1:${port} the homeserver's address?`)
    }),
  120_000
)
