// Which models and thinking levels Pi offers here, asked of a Pi that has no session and ends with the question.
import { Effect, Ref } from "effect"
import { ModelOffer } from "../../domain/Engine.ts"
import type { RunId } from "../../domain/Ids.ts"
import type { EngineUnavailable } from "../../services/NativeEngine.ts"
import { offersSignature, type PiHome } from "./PiHome.ts"
import { unavailable } from "./PiInstall.ts"
import { type PiProgram, start } from "./PiProcess.ts"
import { type PiModel, PiModels, PiState } from "./PiRecords.ts"
import * as PiWire from "./PiWire.ts"

export const startDeadline = "60 seconds"
const maxCachedAnswers = 100

const levels = ["off", "minimal", "low", "medium", "high", "xhigh", "max"]

/**
 * Pi's documented rule, for a list of many models; of the chosen one Pi itself is asked before anything is sent.
 * Every level up to high is taken unless the model denies it, the two above only where the model names them.
 */
const effortsOf = (model: PiModel): ReadonlyArray<string> => {
  if (model.reasoning !== true) return ["off"]
  return levels.filter((level) => {
    const mapped = model.thinkingLevelMap?.[level]
    return mapped !== null && (mapped !== undefined || !["xhigh", "max"].includes(level))
  })
}

/** `provider/id`: Pi's own IDs may hold slashes, its providers do not. */
export const nameOf = (model: PiModel): string => `${model.provider}/${model.id}`

const ask = (program: PiProgram, home: PiHome, runId: RunId) =>
  Effect.scoped(Effect.gen(function*() {
    const args = ["--no-session"]
    const process = start(program, home, { runId, workFolder: home.folder, socketPath: null, args })
    const wire = yield* PiWire.make(process, {
      onEvent: () => Effect.succeed(true),
      onNotice: () => Effect.void,
      onEnd: Effect.void
    })
    const state = yield* wire.query("get_state", PiState, startDeadline)
    const { models } = yield* wire.query("get_available_models", PiModels, startDeadline)
    const chosen = state.model === undefined ? null : nameOf(state.model)
    return models.map((model) =>
      new ModelOffer({ model: nameOf(model), efforts: effortsOf(model), isDefault: nameOf(model) === chosen })
    )
  })).pipe(Effect.catchTag("EngineGone", (error) => Effect.fail(unavailable(error.reason))))

/** Asks once, and again where the login, the provider settings or the settings are others. One question at a time. */
export const make = (
  program: PiProgram
): Effect.Effect<(home: PiHome, runId: RunId) => Effect.Effect<ReadonlyArray<ModelOffer>, EngineUnavailable>> =>
  Effect.gen(function*() {
    const cache = yield* Ref.make<ReadonlyMap<string, ReadonlyArray<ModelOffer>>>(new Map())
    const asking = yield* Effect.makeSemaphore(1)
    return (home, runId) =>
      Effect.gen(function*() {
        const signature = yield* offersSignature(home)
        const cached = (yield* Ref.get(cache)).get(signature)
        if (cached !== undefined) return cached
        const offers = yield* ask(program, home, runId)
        if (offers.length === 0) {
          return yield* unavailable("no model can be used: it has no login and no key for any provider")
        }
        yield* Ref.update(cache, (before) => {
          const newest = [...before].slice(1 - maxCachedAnswers)
          return new Map([...newest, [signature, offers]])
        })
        return offers
      }).pipe(asking.withPermits(1))
  })
