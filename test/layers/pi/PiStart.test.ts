// What must hold before Pi is started: its version, the host's login, and an environment without anything of the host's.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { prepare } from "../../../src/layers/pi/PiHome.ts"
import { environmentOf } from "../../../src/layers/pi/PiProcess.ts"
import { findMarked } from "../../../src/layers/process/ProcessSweep.ts"
import { runMarker } from "../../../src/layers/process/RunMarker.ts"
import * as Engine from "../../support/EngineSession.ts"
import * as Pi from "./PiFixture.ts"

const timeoutMs = 60_000
const encode = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const refusal = (test: Pi.PiTest) => Effect.flip(Effect.scoped(test.engine.activate(test.activation)))

const install = (folder: string, version: string) => {
  mkdirSync(join(folder, "dist/bundle"), { recursive: true })
  writeFileSync(join(folder, "package.json"), encode({ name: "@earendil-works/pi-coding-agent", version }))
  writeFileSync(join(folder, "dist/bundle/cli.js"), "")
  return join(folder, "dist/bundle/cli.js")
}

describe("PiStart", () => {
  it.scopedLive(
    "[P-04] a version that was not verified, or none, is refused by name before anything starts",
    () =>
      Effect.gen(function*() {
        const folder = yield* Engine.temporaryFolder
        const cliPath = install(folder, "1.7.0")
        const other = yield* Pi.setUp({ cliPath })
        expect(yield* refusal(other)).toMatchObject({
          _tag: "EngineUnavailable",
          reason: "version 1.7.0 is installed, and 1.6.0 is supported"
        })
        expect(readdirSync(other.home)).toEqual([])
        const none = yield* Pi.setUp({ cliPath: join(folder, "nothing.js") })
        expect((yield* refusal(none)).message).toContain("it is not installed at")
        // Looked at again once its manifest has changed.
        install(folder, "1.8.0")
        expect((yield* refusal(other)).message).toContain("version 1.8.0")
      }),
    timeoutMs
  )

  it.scopedLive(
    "[C-10] a login that is not there is an error, and nothing is made in the host's folder",
    () =>
      Effect.gen(function*() {
        const host = yield* Engine.temporaryFolder
        const loginFile = join(host, "auth.json")
        const test = yield* Pi.setUp({ loginFile })
        expect((yield* refusal(test)).message).toContain(`there is no login at ${loginFile}`)
        expect(readdirSync(host)).toEqual([])
        symlinkSync(join(host, "elsewhere.json"), loginFile)
        expect((yield* refusal(test)).message).toContain(`there is no login at ${loginFile}`)
        expect(readdirSync(host)).toEqual(["auth.json"])
        expect(readdirSync(join(test.home, "pi"))).toEqual([])
      }),
    timeoutMs
  )

  it.scopedLive(
    "[C-10] every activation takes the login as the host has it now, by link and without a copy",
    () =>
      Effect.gen(function*() {
        const host = yield* Engine.temporaryFolder
        const loginFile = join(host, "auth.json")
        const link = (test: Pi.PiTest) => join(test.home, "pi", "auth.json")
        writeFileSync(loginFile, "{}")
        const models = (baseUrl: string) =>
          encode({
            providers: {
              scripted: { baseUrl, api: "openai-responses", models: [{ id: "scripted-1", reasoning: true }] }
            }
          })
        const test = yield* Pi.setUp({ loginFile, modelsFile: models("http://127.0.0.1:9/v1") })
        expect((yield* refusal(test)).message).toContain("no model can be used")
        const login = encode({ scripted: { type: "api_key", key: "key" } })
        writeFileSync(loginFile, login)
        const session = yield* Engine.activate(test)
        expect(readlinkSync(link(test))).toBe(loginFile)
        expect(readFileSync(loginFile, "utf8")).toBe(login)
        expect(session.processId).toBeGreaterThan(0)
        // A file of its own, as an earlier start without a login leaves it, gives way to the link, and the link to nothing.
        const plain = yield* Pi.setUp()
        yield* plain.engine.models(plain.home)
        expect(lstatSync(link(plain)).isSymbolicLink()).toBe(false)
        yield* prepare(plain.home, { loginFile, modelsFile: null })
        expect(readlinkSync(link(plain))).toBe(loginFile)
        yield* prepare(plain.home, { loginFile: null, modelsFile: null })
        expect(readdirSync(join(plain.home, "pi"))).not.toContain("auth.json")
        expect(readFileSync(loginFile, "utf8")).toBe(login)
      }),
    timeoutMs
  )

  it.scopedLive("Pi gets the named variables alone, and the marker of its run", () =>
    Effect.gen(function*() {
      const path = `${dirname(process.execPath)}:/usr/bin:/bin`
      const test = yield* Pi.setUp({
        hostEnvironment: {
          PATH: path,
          LANG: "C.UTF-8",
          OPENAI_API_KEY: "secret",
          PI_CODING_AGENT_DIR: "/host",
          PI_CODING_AGENT_SESSION_DIR: "/host",
          NODE_OPTIONS: "--no-warnings",
          FLEET_SOCKET: "/other.sock"
        },
        extraEnvironment: { HTTPS_PROXY: "http://127.0.0.1:9", PI_OFFLINE: "0" }
      })
      const session = yield* Engine.activate(test)
      const variables = readFileSync(`/proc/${session.processId}/environ`, "utf8").split("\0").filter(Boolean)
        .toSorted()
      expect(variables).toEqual([
        `FLEET_RUN=${test.activation.runId}`,
        `FLEET_SOCKET=${test.activation.tools.socketPath}`,
        "HTTPS_PROXY=http://127.0.0.1:9",
        "JITI_FS_CACHE=false",
        "LANG=C.UTF-8",
        `PATH=${path}`,
        `PI_CODING_AGENT_DIR=${join(test.home, "pi")}`,
        "PI_OFFLINE=1",
        "PI_SKIP_VERSION_CHECK=1",
        "PI_TELEMETRY=0"
      ])
      // What Pi compiles stands in its private home, and not where all users of the machine write.
      expect(readdirSync(join(test.home, "pi/compile-cache"))).toHaveLength(1)
      const home = { folder: "/home/pi", sessionFolder: "/home/pi/sessions" }
      const program = { hostEnvironment: { FLEET_SOCKET: "/other.sock" }, extraEnvironment: {} }
      expect(environmentOf(program, home, null)).not.toHaveProperty("FLEET_SOCKET")
    }), timeoutMs)

  it.scopedLive(
    "what a tool leaves running ends with the session, whichever way it ends",
    () =>
      Effect.gen(function*() {
        const test = yield* Pi.setUp()
        for (const end of ["scope", "kill"]) {
          const runId = Engine.newRun()
          const marked = findMarked(runMarker(runId))
          yield* Effect.scoped(Effect.gen(function*() {
            const session = yield* Engine.activate(test, { runId })
            const deliveryId = Engine.newDelivery()
            const command = "nohup setsid sleep 1000 >/dev/null 2>&1 & echo left"
            const text = Engine.inputOf(deliveryId, { tool: { name: "bash", args: { command } } }, { text: "done" })
            yield* session.submit({ deliveryId, text })
            yield* session.until("TurnEnded")
            // Pi itself and what its tool left; the tool's shell may still be on its way out.
            expect((yield* marked).length).toBeGreaterThanOrEqual(2)
            if (end === "kill") {
              process.kill(session.processId, "SIGKILL")
              yield* session.until("Exited")
              // Gone before the caller hears of the end, so that absence from the history is proven by then.
              expect(yield* marked).toEqual([])
            }
          }))
          expect(yield* marked).toEqual([])
        }
      }),
    timeoutMs
  )
})
