// One native process's life inside the daemon: from the guard on its history to the sweep behind it. It follows the
// process's events into the checkpoint; what to submit and when is the receiver's.
import { Clock, Effect, Exit, Option, Schema, Scope, Stream } from "effect"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import { RunId, type TurnId } from "../../domain/Ids.ts"
import type { ContextKey } from "../../domain/Ids.ts"
import { Checkpoints } from "../../services/Checkpoints.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { type EngineEvent, NativeEngines, type NativeSession } from "../../services/NativeEngine.ts"
import { RunSweep } from "../../services/RunSweep.ts"
import { Signals } from "../../services/Signals.ts"
import { ToolAccess } from "../../services/ToolAccess.ts"
import { nextUuid } from "./Uuids.ts"

/** An earlier run's processes cannot be ended: no engine may start beside them. */
export class ProcessesLeft extends Schema.TaggedError<ProcessesLeft>()("ProcessesLeft", {
  processIds: Schema.Array(Schema.Int)
}) {
  override get message(): string {
    return `processes of an earlier run are still there and could not be ended (${this.processIds.join(", ")})`
  }
}

type TurnEnd = "completed" | "interrupted" | "failed"

/** How many ended turns are remembered; an end can come before its receipt was seen, never many turns before. */
const rememberedEnds = 64

export interface Active {
  readonly runId: RunId
  readonly session: NativeSession
  /** The turn that runs now; null while the engine waits for input. */
  readonly turn: () => TurnId | null
  /** A submit was answered with this turn: it runs, unless its end was heard already. */
  readonly turnBegan: (turnId: TurnId) => void
  readonly endOf: (turnId: TurnId) => TurnEnd | null
  /** Why the process is gone; null while it lives. */
  readonly exited: () => string | null
  /** Monotonic, for idle sleep. */
  readonly idleSinceNanos: () => bigint
  /** Ends the process and what it left. Answers the process IDs that could not be ended: then the run is not over. */
  readonly close: (slept: boolean) => Effect.Effect<ReadonlyArray<number>>
}

export const make = (config: { readonly homeOf: (agent: FleetAgent) => string; readonly instructions: string }) =>
  Effect.gen(function*() {
    const engines = yield* NativeEngines
    const checkpoints = yield* Checkpoints
    const registry = yield* FleetRegistry
    const signals = yield* Signals
    const sweeper = yield* RunSweep
    const tools = yield* ToolAccess

    /** Follows the events of one session. The end of a turn is remembered before it is stored: see `endOf`. */
    const follow = (agent: FleetAgent, context: ContextKey, session: NativeSession, startedAtNanos: bigint) => {
      const ends = new Map<TurnId, TurnEnd>()
      let turn: TurnId | null = null
      let exited: string | null = null
      let idleSince = startedAtNanos
      const on = (event: EngineEvent) =>
        Effect.gen(function*() {
          switch (event._tag) {
            case "TurnStarted":
              if (!ends.has(event.turnId)) turn = event.turnId
              break
            case "TurnEnded": {
              ends.set(event.turnId, event.status)
              for (const oldest of ends.keys()) {
                if (ends.size <= rememberedEnds) break
                ends.delete(oldest)
              }
              if (turn === event.turnId) turn = null
              idleSince = yield* Clock.currentTimeNanos
              yield* checkpoints.turnEnded(agent.agentId, context, event.turnId, event.status).pipe(
                // What a full disk lost here is found again in the history when it matters.
                Effect.catchTag("StoreFailed", (failed) => Effect.logWarning(failed.message))
              )
              break
            }
            case "Exited":
              exited = event.reason
              break
            case "UserEntrySeen":
            case "Output":
              break
          }
          yield* signals.agent(agent.agentId)
        })
      const run = session.events.pipe(
        Stream.runForEach(on),
        Effect.zipRight(Effect.suspend(() => {
          exited = exited ?? "its event stream ended"
          turn = null
          return signals.agent(agent.agentId)
        }))
      )
      return {
        run,
        turn: () => exited === null ? turn : null,
        turnBegan: (turnId: TurnId) => {
          if (!ends.has(turnId)) turn = turnId
        },
        endOf: (turnId: TurnId) => ends.get(turnId) ?? null,
        exited: () => exited,
        idleSinceNanos: () => idleSince
      }
    }

    /** No two processes on one history: whatever an earlier run left is ended first, or nothing starts. */
    const endEarlierRuns = (agent: FleetAgent, context: ContextKey) =>
      Effect.gen(function*() {
        for (const run of yield* registry.openRuns) {
          if (run.agentId !== agent.agentId || run.context !== context) continue
          const processIds = yield* sweeper.sweep(run.runId)
          if (processIds.length > 0) return yield* new ProcessesLeft({ processIds })
          yield* registry.runEnded(run.runId, false)
        }
      })

    /** Starts the engine on exactly the context's history, or makes the context's first one. */
    const start = (agent: FleetAgent, context: ContextKey, runId: RunId) =>
      Effect.gen(function*() {
        const engine = engines.get(agent.engine)
        yield* endEarlierRuns(agent, context)
        const known = yield* registry.binding(agent.agentId, context)
        if (Option.isSome(known)) yield* engine.history.guard(known.value.binding, known.value.position)
        yield* registry.runStarted({
          runId,
          agentId: agent.agentId,
          context,
          bootId: yield* sweeper.bootId
        })
        const session = yield* engine.activate({
          agentId: agent.agentId,
          context,
          runId,
          home: config.homeOf(agent),
          workFolder: agent.workFolder,
          model: agent.model,
          effort: agent.effort,
          instructions: [config.instructions, agent.instructions ?? ""].join("\n\n").trim(),
          tools: yield* tools.open(agent.agentId, context, runId),
          binding: Option.getOrNull(Option.map(known, ({ binding }) => binding))
        })
        if (Option.isNone(known)) {
          const position = yield* engine.history.guard(session.binding, null)
          yield* registry.bind(agent.agentId, context, session.binding, position)
          yield* Effect.logInfo("a new history was made").pipe(Effect.annotateLogs({ agent: agent.name, context }))
        }
        return session
      })

    const end = (runId: RunId, scope: Scope.CloseableScope, slept: boolean) =>
      Effect.gen(function*() {
        yield* Scope.close(scope, Exit.void)
        const left = yield* sweeper.sweep(runId)
        if (left.length === 0) {
          yield* registry.runEnded(runId, slept).pipe(
            // The next daemon sweeps it once more: harmless.
            Effect.catchTag("StoreFailed", (failed) => Effect.logWarning(failed.message))
          )
        }
        return left
      }).pipe(Effect.uninterruptible)

    const activate = (agent: FleetAgent, context: ContextKey) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const runId = RunId.make(yield* nextUuid)
          const scope = yield* Scope.make()
          const startedAtNanos = yield* Clock.currentTimeNanos
          const session = yield* restore(Scope.extend(start(agent, context, runId), scope)).pipe(
            Effect.onError(() => end(runId, scope, false))
          )
          const followed = follow(agent, context, session, startedAtNanos)
          // A fork inherits the mask: without this, closing the scope would wait for the stream's own end.
          yield* Effect.forkIn(Effect.interruptible(followed.run), scope)
          const active: Active = { runId, session, ...followed, close: (slept) => end(runId, scope, slept) }
          return active
        })
      )

    return { activate }
  })

export type Activation = Effect.Effect.Success<ReturnType<typeof make>>
