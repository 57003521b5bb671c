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
const maxCachedHomes = 1000

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

/** Asks once, and again when the login, the provider settings or the settings changed. */
export const make = (
  program: PiProgram
): Effect.Effect<(home: PiHome, runId: RunId) => Effect.Effect<ReadonlyArray<ModelOffer>, EngineUnavailable>> =>
  Effect.map(
    Ref.make<ReadonlyMap<string, { readonly signature: string; readonly offers: ReadonlyArray<ModelOffer> }>>(
      new Map()
    ),
    (cache) => (home, runId) =>
      Effect.gen(function*() {
        const signature = yield* offersSignature(home)
        const cached = (yield* Ref.get(cache)).get(home.folder)
        if (cached?.signature === signature) return cached.offers
        const offers = yield* ask(program, home, runId)
        if (offers.length === 0) {
          return yield* unavailable("no model can be used: it has no login and no key for any provider")
        }
        // A first start makes files of its own, so what counts is how they stand after it.
        const after = yield* offersSignature(home)
        yield* Ref.update(cache, (homes) => {
          const kept = homes.size < maxCachedHomes ? homes : new Map<string, never>()
          return new Map([...kept, [home.folder, { signature: after, offers }]])
        })
        return offers
      })
  )
