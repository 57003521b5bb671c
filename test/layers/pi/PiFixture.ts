// What the tests of the Pi adapter share: a private folder, the real Pi against the scripted model, and its events to wait on.
import { Chunk, Effect, Option, type Scope, Stream, SubscriptionRef } from "effect"
import { randomUUID } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { renderDeliveryHeader } from "../../../src/domain/DeliveryHeader.ts"
import { AgentId, DeliveryId, RunId, sharedContext } from "../../../src/domain/Ids.ts"
import { piModels, scriptedModelId, scriptedProviderId } from "../../../src/layers/model/ModelCatalog.ts"
import type { Step } from "../../../src/layers/model/Script.ts"
import { type ScriptedModel, serve } from "../../../src/layers/model/ScriptedModel.ts"
import { steps, writeSteps } from "../../../src/layers/model/StepsScript.ts"
import * as PiEngine from "../../../src/layers/pi/PiEngine.ts"
import type { Activation, EngineEvent, NativeEngine, NativeSession } from "../../../src/services/NativeEngine.ts"
import { awaitRequest } from "../../support/ScriptedModel.ts"

const engines = join(import.meta.dirname, "../../../.tools/engines/node_modules")
export const piProgram = join(engines, "@earendil-works/pi-coding-agent/dist/bundle/cli.js")
export const model = `${scriptedProviderId}/${scriptedModelId}`

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "pi-adapter-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

export const newDelivery = () => DeliveryId.make(randomUUID())
export const newRun = () => RunId.make(randomUUID())

/** An input in the rendered form that tells the scripted model what to do. */
export const inputOf = (deliveryId: DeliveryId, ...script: ReadonlyArray<Step>): string =>
  `${renderDeliveryHeader(deliveryId, { agent: "test" })}\n${script.length === 0 ? "hello" : writeSteps(...script)}\n`

/** Text that streams for as long as a test can wait. */
export const endless: Step = { text: "word ", chunks: 10_000, gap: 50 }

export interface PiTest {
  readonly folder: string
  readonly home: string
  readonly engine: NativeEngine
  readonly scripted: ScriptedModel
  readonly activation: Activation
}

/** An engine with its folder, and an activation for it without a binding. */
export const setUp = (config: Partial<PiEngine.PiConfig> = {}) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const home = join(folder, "home")
    const workFolder = join(folder, "work")
    mkdirSync(home)
    mkdirSync(workFolder)
    const scripted = yield* serve({ script: steps })
    const engine = yield* PiEngine.make({
      cliPath: piProgram,
      nodePath: process.execPath,
      hostEnvironment: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder },
      extraEnvironment: {},
      loginFile: null,
      modelsFile: piModels(scripted.baseUrl),
      ...config
    })
    const activation: Activation = {
      agentId: AgentId.make(randomUUID()),
      context: sharedContext,
      runId: newRun(),
      home,
      workFolder,
      model,
      effort: "low",
      instructions: "Answer briefly.",
      tools: { mcpUrl: "", mcpToken: "", socketPath: join(folder, "agent.sock") },
      binding: null
    }
    return { folder, home, engine, scripted, activation } satisfies PiTest
  })

export interface Watched extends NativeSession {
  /** Waits for an event that fits, among all since the session's start. */
  readonly until: <E extends EngineEvent["_tag"]>(
    tag: E,
    fits?: (event: Extract<EngineEvent, { readonly _tag: E }>) => boolean
  ) => Effect.Effect<Extract<EngineEvent, { readonly _tag: E }>>
  readonly seen: Effect.Effect<ReadonlyArray<EngineEvent>>
}

/** The session with all its events kept, so that a test can wait for what has already been. */
export const watch = (session: NativeSession): Effect.Effect<Watched, never, Scope.Scope> =>
  Effect.gen(function*() {
    const events = yield* SubscriptionRef.make(Chunk.empty<EngineEvent>())
    yield* session.events.pipe(
      Stream.runForEach((event) => SubscriptionRef.update(events, Chunk.append(event))),
      Effect.forkScoped
    )
    const until: Watched["until"] = (tag, fits = () => true) => {
      const isMeant = (event: EngineEvent): event is Extract<EngineEvent, { readonly _tag: typeof tag }> =>
        event._tag === tag
      return events.changes.pipe(
        Stream.filterMap((all) =>
          Option.fromNullable(Chunk.toReadonlyArray(all).find((event) => isMeant(event) && fits(event)))
        ),
        Stream.filter(isMeant),
        Stream.runHead,
        Effect.flatten,
        Effect.timeout("25 seconds"),
        Effect.orDie
      )
    }
    return { ...session, until, seen: Effect.map(events.get, Chunk.toReadonlyArray) }
  })

export const activate = (test: PiTest, changes: Partial<Activation> = {}) =>
  Effect.flatMap(test.engine.activate({ ...test.activation, ...changes }), watch)

export const linesOf = (path: string): ReadonlyArray<string> => readFileSync(path, "utf8").split("\n").slice(0, -1)

/** Waits until the model has been asked for the endless answer. */
export const outputStarted = (test: PiTest) => awaitRequest(test.scripted, ({ step }) => step.chunks === endless.chunks)
