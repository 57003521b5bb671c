// The adapter of Earendil Pi (`--mode rpc`) to the engine port: checks before a start, the start, and the check of what came up.
// Pi bends what it cannot do without a word (model, level, missing file), so nothing it was asked for is taken as done.
import { Effect, Ref, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { unlink } from "node:fs/promises"
import { checkModel, ModelNotOffered, type ModelOffer } from "../../domain/Engine.ts"
import type { Binding } from "../../domain/History.ts"
import { RunId } from "../../domain/Ids.ts"
import type { Activation, EngineGone, EngineUnavailable, NativeEngine } from "../../services/NativeEngine.ts"
import * as ActivationStart from "../engine/ActivationStart.ts"
import * as PiHistory from "./PiHistory.ts"
import * as PiHome from "./PiHome.ts"
import { extensionPath, makeVersionCheck, unavailable } from "./PiInstall.ts"
import * as PiOffers from "./PiOffers.ts"
import { type PiProgram, start } from "./PiProcess.ts"
import { PiCommands, PiModels, PiState, PiThinkingLevels } from "./PiRecords.ts"
import * as PiSession from "./PiSession.ts"

export interface PiConfig extends PiProgram {
  /** The host's `auth.json`; absolute. Linked, never copied. `null`: the login comes with the provider settings. */
  readonly loginFile: string | null
  /** Contents of `models.json`: other providers than Pi's own. `null`: whatever lies there stays. */
  readonly modelsFile: string | null
}

const notOffered = (setting: "model" | "effort", wanted: string, offered: ReadonlyArray<string>) =>
  new ModelNotOffered({ engine: "pi", setting, wanted, offered })

/** The binding of this activation, its file checked; a new one only where none was ever saved. */
const bind = (activation: Activation, home: PiHome.PiHome) =>
  Effect.gen(function*() {
    const { binding, workFolder } = activation
    if (binding === null) {
      return yield* PiHistory.create(home.sessionFolder, workFolder).pipe(
        Effect.mapError((error) => unavailable(`its session file could not be made: ${error.reason}`))
      )
    }
    const broken = (error: { readonly message: string }) => unavailable(error.message)
    yield* Effect.mapError(PiHistory.history.guard(binding, null), broken)
    const folder = yield* Effect.mapError(PiHistory.workFolderOf(binding), broken)
    if ((yield* ActivationStart.workFolder("pi", folder)) !== (yield* ActivationStart.workFolder("pi", workFolder))) {
      return yield* unavailable(`its history works in ${folder}, and the agent now in ${workFolder}`)
    }
    return binding
  })

const argumentsOf = (activation: Activation, binding: Binding, instructions: string | null) => {
  const slash = activation.model.indexOf("/")
  const provider = activation.model.slice(0, slash)
  return [
    "--session",
    binding.path,
    "-e",
    extensionPath,
    "--provider",
    provider,
    "--model",
    activation.model.slice(slash + 1),
    ...(activation.effort === null ? [] : ["--thinking", activation.effort]),
    ...(instructions === null ? [] : ["--append-system-prompt", instructions])
  ]
}

/** What came up must be what was asked for; no input was sent yet. */
const verify = (session: PiSession.PiSession, activation: Activation) =>
  Effect.gen(function*() {
    const { binding, wire } = session
    const deadline = PiOffers.startDeadline
    const state = yield* wire.query("get_state", PiState, deadline)
    if (state.sessionId !== binding.nativeId || state.sessionFile !== binding.path) {
      return yield* unavailable(`it opened the session ${state.sessionId} instead of ${binding.nativeId}`)
    }
    const { commands } = yield* wire.query("get_commands", PiCommands, deadline)
    if (!commands.some((command) => command.name === PiSession.abortCommand)) {
      return yield* unavailable("it did not load the extension with its tools")
    }
    const { models } = yield* wire.query("get_available_models", PiModels, deadline)
    const offered = models.map(PiOffers.nameOf)
    const running = state.model === undefined ? "none" : PiOffers.nameOf(state.model)
    if (running !== activation.model || !offered.includes(running)) {
      return yield* notOffered("model", activation.model, offered)
    }
    const { levels } = yield* wire.query("get_available_thinking_levels", PiThinkingLevels, deadline)
    if (
      activation.effort !== null && (state.thinkingLevel !== activation.effort || !levels.includes(state.thinkingLevel))
    ) {
      return yield* notOffered("effort", activation.effort, levels)
    }
  })

export const make = (config: PiConfig): Effect.Effect<NativeEngine> =>
  Effect.gen(function*() {
    const checkVersion = yield* makeVersionCheck(config.cliPath)
    const offersOf = yield* PiOffers.make(config)
    const open = yield* Ref.make<ReadonlySet<string>>(new Set())

    /** Two Pi on one file hide each other's messages without a word, and Pi itself has no lock. */
    const release = (path: string) => Ref.update(open, (paths) => new Set([...paths].filter((other) => other !== path)))
    const claim = (path: string) =>
      Effect.acquireRelease(
        Ref.modify(
          open,
          (paths): readonly [boolean, ReadonlySet<string>] =>
            paths.has(path) ? [false, paths] : [true, new Set([...paths, path])]
        ).pipe(
          Effect.filterOrFail((free) => free, () => unavailable(`its history ${path} is in use by a running session`))
        ),
        () => release(path)
      )

    const prepare = (home: string) => Effect.zipRight(checkVersion, PiHome.prepare(home, config))

    const models = (home: string): Effect.Effect<ReadonlyArray<ModelOffer>, EngineUnavailable> =>
      Effect.gen(function*() {
        const runId = yield* Effect.sync(() => RunId.make(randomUUID()))
        return yield* offersOf(yield* prepare(home), runId)
      })

    const begin = (
      activation: Activation
    ): Effect.Effect<PiSession.PiSession, EngineUnavailable | ModelNotOffered | EngineGone, Scope.Scope> =>
      Effect.gen(function*() {
        yield* ActivationStart.workFolder("pi", activation.workFolder)
        const home = yield* prepare(activation.home)
        const choice = checkModel("pi", activation, yield* offersOf(home, activation.runId))
        if (choice instanceof ModelNotOffered) return yield* choice
        const instructions = yield* PiHome.writeInstructions(home, activation.context, activation.instructions)
        if (activation.binding !== null) yield* claim(activation.binding.path)
        const binding = yield* bind(activation, home)
        const handedOut = yield* Ref.make(activation.binding !== null)
        if (activation.binding === null) {
          yield* claim(binding.path)
          // Nobody has learned of a new file before its session is handed out, so a failed start leaves none behind.
          yield* Effect.addFinalizer(() =>
            Effect.unlessEffect(Effect.ignore(Effect.tryPromise(() => unlink(binding.path))), Ref.get(handedOut))
          )
        }
        const process = start(config, home, {
          runId: activation.runId,
          workFolder: activation.workFolder,
          socketPath: activation.tools.socketPath,
          args: argumentsOf(activation, binding, instructions)
        })
        const session = yield* PiSession.make(process, binding, release(binding.path))
        yield* verify(session, activation)
        yield* Ref.set(handedOut, true)
        return session
      })

    return {
      kind: "pi",
      history: PiHistory.history,
      models,
      activate: (activation) => ActivationStart.holding(begin(activation))
    }
  })
