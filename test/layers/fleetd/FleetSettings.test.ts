import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as FleetSettings from "../../../src/layers/fleetd/FleetSettings.ts"
import { scratchFolder } from "../../support/FleetFile.ts"

const defaults: FleetSettings.SettingsDefaults = {
  codexProgram: "/engines/codex",
  codexLogin: "/home/a/.codex/auth.json",
  piProgram: "/engines/cli.js",
  piLogin: "/home/a/.pi/agent/auth.json",
  nodePath: "/bin/node",
  hostEnvironment: { PATH: "/bin" }
}

const written = (text: string | null) =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    if (text !== null) writeFileSync(FleetSettings.settingsPath(root), text)
    return yield* FleetSettings.read(root, defaults)
  })

it.scopedLive("without a file, and with an empty one, the defaults hold", () =>
  Effect.gen(function*() {
    const settings = yield* written(null)
    expect(settings).toStrictEqual(yield* written("# nothing\n"))
    expect(settings).toMatchObject({
      maxInputBytes: 65_536,
      idleSleepMillis: 1_800_000,
      codex: { binary: "/engines/codex", hostLogin: "/home/a/.codex/auth.json", provider: null },
      pi: { cliPath: "/engines/cli.js", loginFile: "/home/a/.pi/agent/auth.json", modelsFile: null }
    })
  }))

it.scopedLive("a provider of one's own needs no login unless one is named", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    writeFileSync(join(folder, "models.json"), "{\"providers\":{}}")
    const settings = yield* written(`
      [delivery]
      idle_sleep_minutes = 0.5
      [codex]
      sandbox = "read-only"
      [codex.environment]
      KEY = "secret"
      [codex.provider]
      id = "own"
      base_url = "http://127.0.0.1:9/v1"
      key_variable = "KEY"
      [pi]
      login = "/logins/pi.json"
      models = "${join(folder, "models.json")}"
    `)
    expect(settings.idleSleepMillis).toBe(30_000)
    expect(settings.codex).toMatchObject({
      hostLogin: null,
      sandbox: "read-only",
      extraEnvironment: { KEY: "secret" },
      provider: { id: "own", name: "own", baseUrl: "http://127.0.0.1:9/v1", keyVariable: "KEY", modelCatalog: null }
    })
    expect(settings.pi).toMatchObject({ loginFile: "/logins/pi.json", modelsFile: "{\"providers\":{}}" })
  }))

it.scopedLive("what is not understood stops the start, and says where without saying what", () =>
  Effect.gen(function*() {
    const problems = (text: string) =>
      Effect.map(Effect.flip(written(text)), (error) => {
        expect(error.message).not.toContain("s3cret")
        return error.problems
      })
    expect(yield* problems("[codex]\nsandbx = \"read-only\"")).toStrictEqual([
      "codex.sandbx is unknown or not in the form that is expected"
    ])
    expect(yield* problems("[codex.environment]\nKEY = 5\n[pi]\nlogin = \"s3cret\"\nprogram = \"relative\""))
      .toStrictEqual([
        "codex.environment.KEY is unknown or not in the form that is expected",
        "pi.program is unknown or not in the form that is expected",
        "pi.login is unknown or not in the form that is expected"
      ])
    expect(yield* problems("[codex]\nx = s3cret\n")).toStrictEqual(["it is not valid TOML (line 2)"])
    expect(yield* problems("[pi]\nmodels = \"/nowhere/models.json\"")).toStrictEqual([
      "pi.models: there is no file /nowhere/models.json"
    ])
  }))
