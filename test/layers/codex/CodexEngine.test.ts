// The Codex adapter against the real Codex and a scripted model: what is Codex's own beside the contract of every engine.
import { expect, it } from "@effect/vitest"
import { Effect, Either, Exit, Option, Scope } from "effect"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { deliveryIdOfFirstLine } from "../../../src/domain/DeliveryHeader.ts"
import { supportedVersions } from "../../../src/domain/Engine.ts"
import { findMarked } from "../../../src/layers/process/ProcessSweep.ts"
import { runMarker } from "../../../src/layers/process/RunMarker.ts"
import { activate, deliver, endless, inputOf, kill9, newDelivery, newRun } from "../../support/EngineSession.ts"
import { awaitRequest } from "../../support/ScriptedModel.ts"
import { command, setUp } from "./CodexFixture.ts"

const live = (name: string, test: () => Effect.Effect<void, unknown, Scope.Scope>) => it.scopedLive(name, test, 60_000)

const failureOf = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.map(Effect.either(effect), Either.getLeft)

/** Everything below a folder, links not followed. */
const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

live(
  "[D-01] after kill -9 right behind the submit the receipt is there or not, and never twice",
  () =>
    Effect.gen(function*() {
      const test = yield* setUp()
      const { history } = test.engine
      const first = yield* activate(test)
      const start = yield* history.guard(first.binding, null)
      yield* kill9(first)
      yield* first.until("Exited")
      const forms = new Map<string, "entry" | "text-only" | "absent">()
      let known = start
      for (const delayMs of [0, 4, 12, 20, 30, 60]) {
        const scope = yield* Scope.make()
        const session = yield* Scope.extend(activate(test, { binding: first.binding, runId: newRun() }), scope)
        const deliveryId = newDelivery()
        const submitting = yield* Effect.fork(session.submit({ deliveryId, text: inputOf(deliveryId, endless) }))
        yield* Effect.sleep(delayMs)
        yield* kill9(session)
        yield* session.until("Exited")
        yield* submitting.await
        yield* Scope.close(scope, Exit.void)
        const receipt = yield* history.findReceipt(first.binding, known, deliveryId)
        forms.set(deliveryId, Option.match(receipt, { onNone: () => "absent", onSome: ({ form }) => form }))
        known = yield* history.guard(first.binding, known)
      }
      const last = yield* activate(test, { binding: first.binding, runId: newRun() })
      yield* deliver(test, last, known, newDelivery())
      yield* last.until("TurnEnded")

      // What was found or not when the writer was dead stays so, whatever the engine did afterwards.
      const lines = readFileSync(first.binding.path, "utf8").split("\n")
      const count = (kind: string, deliveryId: string) =>
        lines.filter((line) => line.includes(kind) && line.includes(deliveryId)).length
      for (const [deliveryId, form] of forms) {
        expect(count(`"type":"UserMessage"`, deliveryId)).toBe(form === "entry" ? 1 : 0)
        expect(count(`"role":"user"`, deliveryId)).toBe(form === "absent" ? 0 : 1)
      }
    })
)

live("[C-11] a history that another process still writes is not gone on with", () =>
  Effect.gen(function*() {
    const test = yield* setUp()
    const { binding } = yield* activate(test)
    const second = yield* failureOf(
      Effect.scoped(test.engine.activate({ ...test.activation, binding, runId: newRun() }))
    )
    expect(Option.getOrThrow(second).message).toContain("active writer")
  }))

live("[C-11] a torn last line is ended by the engine, and the saved position stays good", () =>
  Effect.gen(function*() {
    const test = yield* setUp()
    const { history } = test.engine
    const first = yield* Effect.scoped(Effect.gen(function*() {
      const session = yield* activate(test)
      yield* deliver(test, session, yield* history.guard(session.binding, null), newDelivery())
      yield* session.until("TurnEnded")
      return session
    }))
    const known = yield* history.guard(first.binding, null)
    const torn = `{"timestamp":"2026-11-30T15:53:29.011Z","ordinal":99,"type":"resp`
    writeFileSync(first.binding.path, torn, { flag: "a" })
    expect((yield* history.guard(first.binding, known)).offset).toBe(known.offset)

    const again = yield* activate(test, { binding: first.binding, runId: newRun() })
    const { receipt } = yield* deliver(test, again, known, newDelivery())
    expect(receipt.position.offset).toBeGreaterThan(known.offset + torn.length)
    yield* again.until("TurnEnded")
  }))

live(
  "[D-01] a last line that lacks its line feed alone is shown to the model, and is the receipt",
  () =>
    Effect.gen(function*() {
      const test = yield* setUp()
      const { history } = test.engine
      const { binding, start } = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* activate(test)
        const start = yield* history.guard(session.binding, null)
        yield* deliver(test, session, start, newDelivery())
        yield* session.until("TurnEnded")
        return { binding: session.binding, start }
      }))
      // Cut right behind the text that the model will see, once with the whole line and once without its last byte.
      const lines = readFileSync(binding.path, "utf8").split("\n")
      const at = lines.findIndex((line) => line.includes(`"role":"user"`) && line.includes("⟦fleet delivery"))
      const whole = lines.slice(0, at + 1).join("\n")
      const delivered = deliveryIdOfFirstLine(/⟦[^"\\]*/u.exec(lines[at] ?? "")?.[0] ?? "")
      if (delivered === null) return expect.unreachable()
      const shown: Array<number> = []
      for (const cut of [whole, whole.slice(0, -1)]) {
        writeFileSync(binding.path, cut)
        const receipt = yield* history.findReceipt(binding, start, delivered)
        expect(Option.isSome(receipt)).toBe(cut === whole)
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* activate(test, { binding, runId: newRun() })
          const known = Option.match(receipt, { onNone: () => start, onSome: ({ position }) => position })
          yield* deliver(test, session, known, newDelivery())
          yield* session.until("TurnEnded")
        }))
        shown.push((yield* test.scripted.requests.get).at(-1)?.itemCount ?? 0)
      }
      expect(shown[0]).toBe((shown[1] ?? 0) + 1)
    })
)

live(
  "[N-02] an interrupt right behind the answer of a submit waits for the turn's reported start",
  () =>
    Effect.gen(function*() {
      const test = yield* setUp()
      const session = yield* activate(test)
      const deliveryId = newDelivery()
      const { turnId } = yield* session.submit({ deliveryId, text: inputOf(deliveryId, endless) })
      if (turnId === null) return expect.unreachable()
      const early = yield* session.interrupt(turnId)
      yield* session.until("TurnStarted")
      if (early === "not-running") expect(yield* session.interrupt(turnId)).toBe("requested")
      expect(yield* session.until("TurnEnded")).toMatchObject({ turnId, status: "interrupted" })
    })
)

live(
  "[P-05] what is chosen is what the provider gets, after a resume with another effort as well",
  () =>
    Effect.gen(function*() {
      const test = yield* setUp()
      const { history } = test.engine
      let binding = test.activation.binding
      for (const effort of ["high", "medium", null] as const) {
        binding = yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* activate(test, { effort, binding, runId: newRun() })
          yield* deliver(test, session, yield* history.guard(session.binding, null), newDelivery(), {
            text: `${effort}`
          })
          yield* session.until("TurnEnded")
          // Without a choice Codex takes the model's own default.
          const request = yield* awaitRequest(test.scripted, ({ step }) => step.text === `${effort}`)
          expect(request).toMatchObject({ model: "scripted-1", effort: effort ?? "low" })
          return session.binding
        }))
      }
    })
)

live("[P-04] another version, another program or none is named, and nothing is started", () =>
  Effect.gen(function*() {
    const program = (name: string, says: string) =>
      Effect.gen(function*() {
        const test = yield* setUp()
        const binary = join(test.folder, name)
        writeFileSync(binary, `#!/bin/sh\necho '${says}'\n`)
        chmodSync(binary, 0o755)
        return yield* setUp({ binary })
      })
    const other = yield* program("codex", "codex-cli 0.999.0")
    const failure = yield* failureOf(Effect.scoped(other.engine.activate(other.activation)))
    expect(failure).toMatchObject(Option.some({ _tag: "EngineUnavailable", engine: "codex" }))
    expect(Option.getOrThrow(failure).message).toContain("0.999.0")
    expect(Option.getOrThrow(failure).message).toContain(supportedVersions.codex.join(", "))
    expect(yield* failureOf(other.engine.models(other.activation.home))).toEqual(failure)

    const strange = yield* program("thing", "hello")
    expect(yield* failureOf(strange.engine.models(strange.activation.home))).toMatchObject(
      Option.some({ _tag: "EngineUnavailable" })
    )
    const absent = yield* setUp({ binary: join(strange.folder, "none") })
    expect(yield* failureOf(absent.engine.models(absent.activation.home))).toMatchObject(
      Option.some({ _tag: "EngineUnavailable", reason: `it is not installed at ${join(strange.folder, "none")}` })
    )
  }))

live(
  "[C-10] the host's login is linked anew at every activation, never copied, and must be there",
  () =>
    Effect.gen(function*() {
      const hostFolder = (yield* setUp()).folder
      const hostLogin = join(hostFolder, "auth.json")
      const test = yield* setUp({ hostLogin })
      const link = join(test.activation.home, "codex", "auth.json")
      const missing = yield* failureOf(Effect.scoped(test.engine.activate(test.activation)))
      expect(missing).toMatchObject(Option.some({ _tag: "EngineUnavailable" }))
      expect(Option.getOrThrow(missing).message).toContain(hostLogin)

      writeFileSync(hostLogin, `{"OPENAI_API_KEY":"sk-host-1"}`)
      // A stale copy in its place does not stay.
      mkdirSync(join(test.activation.home, "codex"), { recursive: true })
      writeFileSync(link, `{"OPENAI_API_KEY":"sk-stale"}`)
      const { binding } = yield* Effect.scoped(activate(test))
      expect(lstatSync(link).isSymbolicLink()).toBe(true)
      expect(readlinkSync(link)).toBe(hostLogin)
      yield* Effect.scoped(activate(test, { binding, runId: newRun() }))
      expect(readlinkSync(link)).toBe(hostLogin)
      for (const file of filesBelow(test.activation.home)) {
        expect(readFileSync(file, "latin1")).not.toContain("sk-host-1")
      }
    })
)

live(
  "[C-01] [C-10] the home is private and holds no secret, and no host setting reaches the engine",
  () =>
    Effect.gen(function*() {
      const test = yield* setUp({
        hostEnvironment: {
          PATH: "/usr/bin:/bin",
          HOME: "/nonexistent",
          CODEX_HOME: "/nonexistent/host",
          OPENAI_API_KEY: "sk-leaked",
          FLEET_TOKEN: "leaked"
        },
        extraEnvironment: { EXTRA_KEY: "given-on-purpose" }
      })
      const session = yield* activate(test)
      const environment = readFileSync(`/proc/${session.processId}/environ`, "latin1").split("\0")
      expect(environment).toContain(`CODEX_HOME=${join(test.activation.home, "codex")}`)
      expect(environment).toContain("EXTRA_KEY=given-on-purpose")
      expect(environment.join("\n")).not.toMatch(/leaked|nonexistent\/host/u)
      expect(environment.join("\n")).not.toContain(test.mcp.token)

      const start = yield* test.engine.history.guard(session.binding, null)
      yield* deliver(test, session, start, newDelivery(), command("env > shell.env"), { text: "done" })
      yield* session.until("TurnEnded")
      const shell = readFileSync(join(test.activation.workFolder, "shell.env"), "utf8")
      expect(shell).toContain(`FLEET_RUN=${test.activation.runId}`)
      expect(shell).toContain(`FLEET_SOCKET=${test.activation.tools.socketPath}`)
      expect(shell).not.toMatch(/leaked|given-on-purpose/u)
      expect(shell).not.toContain(test.mcp.token)

      for (const folder of [test.activation.home, join(test.activation.home, "codex")]) {
        expect(statSync(folder).mode & 0o777).toBe(0o700)
      }
      const settings = join(test.activation.home, "codex", "config.toml")
      expect(statSync(settings).mode & 0o777).toBe(0o600)
      const before = readFileSync(settings, "utf8")
      for (const file of filesBelow(test.activation.home)) {
        expect(readFileSync(file, "latin1")).not.toContain(test.mcp.token)
      }
      // Equal settings give equal bytes, and Codex itself adds nothing to them.
      yield* Effect.scoped(activate(test, { runId: newRun() }))
      expect(readFileSync(settings, "utf8")).toBe(before)
    })
)

live("a work folder's own Codex settings start nothing", () =>
  Effect.gen(function*() {
    const test = yield* setUp()
    const witness = join(test.folder, "witness")
    mkdirSync(join(test.activation.workFolder, ".codex"))
    writeFileSync(
      join(test.activation.workFolder, ".codex", "config.toml"),
      `[mcp_servers.other]\ncommand = "/bin/touch"\nargs = ["${witness}"]\n`
    )
    const session = yield* activate(test)
    yield* deliver(test, session, yield* test.engine.history.guard(session.binding, null), newDelivery())
    yield* session.until("TurnEnded")
    expect(existsSync(witness)).toBe(false)
  }))

live(
  "the messaging tool is reached with this activation's token, after a resume as well",
  () =>
    Effect.gen(function*() {
      const test = yield* setUp()
      const { history } = test.engine
      const call = (text: string) => ({ tool: { name: "room_send", args: { text } } })
      const { binding } = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* activate(test)
        const start = yield* history.guard(session.binding, null)
        yield* deliver(test, session, start, newDelivery(), call("first"), { text: "done" })
        expect(yield* session.until("TurnEnded")).toMatchObject({ status: "completed" })
        return session
      }))
      const again = yield* activate(test, { binding, runId: newRun() })
      const known = yield* history.guard(binding, null)
      yield* deliver(test, again, known, newDelivery(), call("second"), { text: "done" })
      expect(yield* again.until("TurnEnded")).toMatchObject({ status: "completed" })
      expect(test.mcp.calls).toEqual([{ text: "first" }, { text: "second" }])
      const { offered } = yield* awaitRequest(test.scripted, ({ step }) => step.tool?.name === "room_send")
      expect(offered.some(({ name }) => name === "send_message" || name.startsWith("collaboration"))).toBe(false)
    })
)

live("without the messaging tool nothing is started", () =>
  Effect.gen(function*() {
    const test = yield* setUp()
    const tools = { ...test.activation.tools, mcpToken: "another" }
    expect(yield* failureOf(Effect.scoped(test.engine.activate({ ...test.activation, tools })))).toMatchObject(
      Option.some({ _tag: "EngineUnavailable" })
    )
    expect(yield* findMarked(runMarker(test.activation.runId))).toEqual([])
  }))

live("changed instructions reach a resumed history", () =>
  Effect.gen(function*() {
    const test = yield* setUp()
    const { history } = test.engine
    const told = (session: { readonly binding: { readonly path: string } }) =>
      readFileSync(session.binding.path, "utf8").split("\n").filter((line) => line.includes("# AGENTS.md instructions"))
    const first = yield* Effect.scoped(Effect.gen(function*() {
      const session = yield* activate(test, { instructions: "Say marmalade." })
      yield* deliver(test, session, yield* history.guard(session.binding, null), newDelivery())
      yield* session.until("TurnEnded")
      return session
    }))
    expect(told(first).some((line) => line.includes("Say marmalade."))).toBe(true)
    const again = yield* activate(test, { binding: first.binding, runId: newRun(), instructions: "Say violet." })
    yield* deliver(test, again, yield* history.guard(first.binding, null), newDelivery())
    yield* again.until("TurnEnded")
    expect(told(again).at(-1)).toContain("Say violet.")
  }))

live(
  "the children of an agent's command are gone with its activation, whichever group they are in",
  () =>
    Effect.gen(function*() {
      // The sandbox ends them by itself; without one they survive the engine.
      const test = yield* setUp({ sandbox: "danger-full-access" })
      const marker = runMarker(test.activation.runId)
      const pidFile = join(test.activation.workFolder, "pid")
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* activate(test)
        const start = yield* test.engine.history.guard(session.binding, null)
        const leave =
          `nohup setsid sh -c 'echo $$ > pid; exec sleep 600' >/dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.05; done`
        yield* deliver(test, session, start, newDelivery(), command(leave), { text: "done" })
        yield* session.until("TurnEnded")
        expect(yield* findMarked(marker)).toContain(Number(readFileSync(pidFile, "utf8")))
        yield* kill9(session)
        yield* session.until("Exited")
      }))
      expect(yield* findMarked(marker)).toEqual([])
    })
)

live("an input above the engine's limit is refused, one at the limit is taken", () =>
  Effect.gen(function*() {
    const test = yield* setUp()
    const session = yield* activate(test)
    const limit = 1_048_576
    const start = yield* test.engine.history.guard(session.binding, null)
    const deliveryId = newDelivery()
    const header = inputOf(deliveryId)
    // Characters outside of the basic plane count once, though they are two units here.
    const longest = header + "🙂".repeat(limit - header.length)
    expect(deliveryIdOfFirstLine(longest)).toBe(deliveryId)
    expect(yield* failureOf(session.submit({ deliveryId, text: `${longest}x` }))).toMatchObject(
      Option.some({ _tag: "InputRefused", engine: "codex" })
    )
    // Half a character must not make the engine fall silent.
    const { turnId } = yield* session.submit({ deliveryId, text: `${longest.slice(0, -2)}\ud83d` })
    yield* session.until("TurnEnded", (event) => event.turnId === turnId)
    const receipt = Option.getOrThrow(yield* test.engine.history.findReceipt(session.binding, start, deliveryId))
    expect(receipt.form).toBe("entry")
  }))

live("a question of the engine is answered with no, so that the turn goes on", () =>
  Effect.gen(function*() {
    const test = yield* setUp({ approvalPolicy: "on-request" })
    const session = yield* activate(test)
    const start = yield* test.engine.history.guard(session.binding, null)
    const args = { cmd: "touch asked", sandbox_permissions: "require_escalated", justification: "May I?" }
    yield* deliver(test, session, start, newDelivery(), { tool: { name: "exec_command", args } }, { text: "went on" })
    expect(yield* session.until("TurnEnded")).toMatchObject({ status: "completed" })
    expect(yield* session.until("Output")).toMatchObject({ text: "went on" })
    expect(existsSync(join(test.activation.workFolder, "asked"))).toBe(false)
  }))
