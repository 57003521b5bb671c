// What tests need around a native engine's session, whichever engine: inputs in the rendered form, its events to wait on,
// deliveries that wait for their proof, and its end by force.
import { Chunk, Effect, Option, Schedule, type Scope, Stream, SubscriptionRef } from "effect"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { renderDeliveryHeader } from "../../src/domain/DeliveryHeader.ts"
import type { HistoryPosition, Receipt } from "../../src/domain/History.ts"
import { AgentId, DeliveryId, RunId, sharedContext } from "../../src/domain/Ids.ts"
import type { Step } from "../../src/layers/model/Script.ts"
import { writeSteps } from "../../src/layers/model/StepsScript.ts"
import type { Activation, EngineEvent, NativeEngine, NativeSession } from "../../src/services/NativeEngine.ts"

/** Where the real engines are installed. */
export const enginePackages = join(import.meta.dirname, "../../.tools/engines/node_modules")

/** The environment of a daemon on a host with nothing but Node. */
export const bareEnvironment = (home: string) => ({ PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home })

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "engine-test-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
)

export const newDelivery = () => DeliveryId.make(randomUUID())
export const newRun = () => RunId.make(randomUUID())

/** An input in the rendered form that tells the scripted model what to do. */
export const inputOf = (deliveryId: DeliveryId, ...script: ReadonlyArray<Step>): string =>
  `${renderDeliveryHeader(deliveryId, { agent: "test" })}\n${script.length === 0 ? "hello" : writeSteps(...script)}\n`

/** Text that streams for as long as a test can wait. */
export const endless: Step = { text: "word ", chunks: 10_000, gap: 20 }

/** An engine, and an activation for it without a binding. */
export interface EngineTest {
  readonly engine: NativeEngine
  readonly activation: Activation
}

/** An activation of a new agent at a low effort, its home and socket below `folder`. */
export const activationIn = (folder: string, workFolder: string, model: string): Activation => ({
  agentId: AgentId.make(randomUUID()),
  context: sharedContext,
  runId: newRun(),
  home: join(folder, "home"),
  workFolder,
  model,
  effort: "low",
  instructions: "Answer briefly.",
  tools: { mcpUrl: "", mcpToken: "", socketPath: join(folder, "agent.sock") },
  binding: null
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

export const activate = (test: EngineTest, changes: Partial<Activation> = {}) =>
  Effect.flatMap(test.engine.activate({ ...test.activation, ...changes }), watch)

/** Waits until the history proves the delivery by its entry: Codex writes that right behind the text, which is seen first. */
export const proven = (test: EngineTest, session: NativeSession, after: HistoryPosition, deliveryId: DeliveryId) =>
  Effect.flatten(test.engine.history.findReceipt(session.binding, after, deliveryId)).pipe(
    Effect.filterOrFail(({ form }) => form === "entry", () => "text-only" as const),
    Effect.retry({ schedule: Schedule.spaced("10 millis"), times: 1000 })
  )

/** Submits and waits until the history proves it; the receipt, and the turn that it started. */
export const deliver = (
  test: EngineTest,
  session: NativeSession,
  after: HistoryPosition,
  deliveryId: DeliveryId,
  ...script: ReadonlyArray<Step>
) =>
  Effect.gen(function*() {
    const { turnId } = yield* session.submit({ deliveryId, text: inputOf(deliveryId, ...script) })
    const receipt: Receipt = yield* proven(test, session, after, deliveryId)
    return { receipt, turnId }
  })

/** The engine and its group, at once. */
export const kill9 = (session: NativeSession) =>
  Effect.sync(() => {
    process.kill(-session.processId, "SIGKILL")
  })
