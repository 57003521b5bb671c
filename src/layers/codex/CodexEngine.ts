// The NativeEngine for Codex: one app-server process per activation, in the agent's own CODEX_HOME.
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { checkModel, ModelNotOffered } from "../../domain/Engine.ts"
import type { NativeEngine } from "../../services/NativeEngine.ts"
import * as ActivationStart from "../engine/ActivationStart.ts"
import { makeVersionCheck } from "./CodexBinary.ts"
import { history } from "./CodexHistory.ts"
import { prepare, unavailable, writeInstructions } from "./CodexHome.ts"
import * as CodexModels from "./CodexModels.ts"
import * as CodexProcess from "./CodexProcess.ts"
import * as CodexSession from "./CodexSession.ts"
import { type CodexConfig, withDefaults } from "./CodexSettings.ts"
import * as CodexThread from "./CodexThread.ts"
import { asUnavailable, type CodexWire } from "./CodexWire.ts"

const deaf = {
  onNotification: () => Effect.void,
  onRequest: () => Effect.succeed(null)
}

export const make = (config: CodexConfig): Effect.Effect<NativeEngine> =>
  Effect.gen(function*() {
    const settings = withDefaults(config)
    const checkVersion = yield* makeVersionCheck(settings)

    const prepared = (home: string) => Effect.tap(prepare(settings, home), checkVersion)

    const models: NativeEngine["models"] = (home) =>
      Effect.gen(function*() {
        const codexHome = yield* prepared(home)
        const runId = yield* Effect.sync(() => randomUUID())
        const { wire } = yield* CodexProcess.start(settings, { codexHome, workFolder: codexHome, runId }, deaf)
        return yield* CodexModels.list(wire)
      }).pipe(
        Effect.scoped,
        Effect.catchTags({
          EngineGone: (gone) => unavailable(gone.message),
          RequestRefused: asUnavailable
        })
      )

    const activate: NativeEngine["activate"] = (activation) =>
      Effect.gen(function*() {
        const codexHome = yield* prepared(activation.home)
        yield* CodexThread.checkBinding(activation.binding)
        yield* writeInstructions(settings, codexHome, activation.instructions)
        const workFolder = yield* ActivationStart.workFolder("codex", activation.workFolder)
        const run = { codexHome, workFolder, runId: activation.runId }
        const open = (wire: CodexWire) =>
          Effect.gen(function*() {
            const offers = yield* Effect.catchTag(CodexModels.list(wire), "RequestRefused", asUnavailable)
            const choice = checkModel("codex", activation, offers)
            if (choice instanceof ModelNotOffered) return yield* choice
            return yield* CodexThread.open(wire, { settings, activation, codexHome, workFolder })
          })
        return yield* CodexSession.make((listener) => CodexProcess.start(settings, run, listener), open)
      }).pipe(ActivationStart.holding)

    return { kind: "codex", history, models, activate }
  })
