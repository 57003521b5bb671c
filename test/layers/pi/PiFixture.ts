// What the tests of the Pi adapter share: the real Pi against the scripted model, and its session files.
import { Effect } from "effect"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { piModels, scriptedModelId, scriptedProviderId } from "../../../src/layers/model/ModelCatalog.ts"
import { type ScriptedModel, serve } from "../../../src/layers/model/ScriptedModel.ts"
import { steps } from "../../../src/layers/model/StepsScript.ts"
import * as PiEngine from "../../../src/layers/pi/PiEngine.ts"
import {
  activationIn,
  bareEnvironment,
  endless,
  enginePackages,
  type EngineTest,
  temporaryFolder
} from "../../support/EngineSession.ts"
import { awaitRequest } from "../../support/ScriptedModel.ts"

export const piProgram = join(enginePackages, "@earendil-works/pi-coding-agent/dist/bundle/cli.js")
export const model = `${scriptedProviderId}/${scriptedModelId}`

export interface PiTest extends EngineTest {
  readonly folder: string
  readonly home: string
  readonly scripted: ScriptedModel
}

/** An engine with its folder, and an activation for it without a binding. */
export const setUp = (config: Partial<PiEngine.PiConfig> = {}) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const workFolder = join(folder, "work")
    const activation = activationIn(folder, workFolder, model)
    mkdirSync(activation.home)
    mkdirSync(workFolder)
    const scripted = yield* Effect.orDie(serve({ script: steps }))
    const engine = yield* PiEngine.make({
      cliPath: piProgram,
      nodePath: process.execPath,
      hostEnvironment: bareEnvironment(folder),
      extraEnvironment: {},
      loginFile: null,
      modelsFile: piModels(scripted.baseUrl),
      ...config
    })
    return { folder, home: activation.home, engine, scripted, activation } satisfies PiTest
  })

export const linesOf = (path: string): ReadonlyArray<string> => readFileSync(path, "utf8").split("\n").slice(0, -1)

/** Waits until the model has been asked for the endless answer. */
export const outputStarted = (test: PiTest) => awaitRequest(test.scripted, ({ step }) => step.chunks === endless.chunks)
