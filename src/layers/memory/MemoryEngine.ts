// The native engines' twin in memory: processes that can be killed at any point of an input's way, over histories that
// outlive them. The owner of the twin decides what an agent does in a turn and what goes wrong.
import { Effect, Fiber, Mailbox } from "effect"
import { checkModel, type EngineKind, ModelNotOffered, ModelOffer } from "../../domain/Engine.ts"
import { Binding } from "../../domain/History.ts"
import { type AgentId, type RunId, TurnId } from "../../domain/Ids.ts"
import {
  type EngineEvent,
  EngineGone,
  InputRefused,
  type NativeEngine,
  type NativeSession
} from "../../services/NativeEngine.ts"
import { type HistoryFile, make as makeHistories, type MemoryHistories } from "./MemoryHistories.ts"

/** What happens to one submitted input. */
export interface SubmitPlan {
  readonly refuse?: string
  /** The process dies before the user entry is written. */
  readonly dieBefore?: boolean
  /** The process dies right after the user entry is written. */
  readonly dieAfter?: boolean
  /** The answer to the submit is never given, though the input goes its way. */
  readonly loseAnswer?: boolean
  readonly delayMillis: number
  readonly turn: "completed" | "failed"
}

export interface EngineBehaviour {
  readonly onSubmit: (agentId: AgentId) => Effect.Effect<SubmitPlan>
  /**
   * The agent's work in a turn. `file` is the whole conversation; `note` writes a line of work into it. Interrupted when
   * the process dies.
   */
  readonly onTurn: (turn: {
    readonly agentId: AgentId
    readonly turnId: TurnId
    readonly file: HistoryFile
    readonly note: (eventId: string) => Effect.Effect<void>
  }) => Effect.Effect<void>
  readonly onActivate: (agentId: AgentId) => Effect.Effect<boolean>
}

export interface MemoryEngines {
  readonly histories: MemoryHistories
  readonly engine: (kind: EngineKind) => NativeEngine
  readonly running: () => ReadonlyArray<{ readonly runId: RunId; readonly agentId: AgentId }>
  /** Ends that process at once; nothing of it writes any more. */
  readonly kill: (runId: RunId) => Effect.Effect<void>
  readonly killAll: Effect.Effect<void>
}

interface Process {
  readonly agentId: AgentId
  readonly runId: RunId
  readonly die: Effect.Effect<void>
}

const offers = [new ModelOffer({ model: "scripted-1", efforts: ["low", "medium", "high"], isDefault: true })]

export const make = (behaviour: EngineBehaviour): MemoryEngines => {
  const histories = makeHistories()
  const processes = new Map<RunId, Process>()
  let counter = 0

  const engine = (kind: EngineKind): NativeEngine => ({
    kind,
    history: histories.history,
    models: () => Effect.succeed(offers),
    activate: (activation) =>
      Effect.gen(function*() {
        const checked = checkModel(kind, { model: activation.model, effort: activation.effort }, offers)
        if (checked instanceof ModelNotOffered) return yield* checked
        if (!(yield* behaviour.onActivate(activation.agentId))) {
          return yield* new EngineGone({ engine: kind, reason: "died while starting" })
        }
        const nativeId = activation.binding?.nativeId ?? `native-${++counter}`
        const path = activation.binding?.path ?? `/histories/${activation.agentId}/${nativeId}`
        const file = histories.files.get(path) ?? { lines: [{ kind: "header" as const, nativeId }], synced: 0 }
        histories.files.set(path, file)

        const events = yield* Mailbox.make<EngineEvent>()
        const scope = yield* Effect.scope
        let work: Fiber.RuntimeFiber<void> | null = null
        let alive = true
        let turn: TurnId | null = null
        const die = Effect.suspend(() => {
          if (!alive) return Effect.void
          alive = false
          processes.delete(activation.runId)
          return events.offer({ _tag: "Exited", reason: "killed" }).pipe(
            Effect.zipRight(events.end),
            // Not awaited: the dying turn may be the one that asks.
            Effect.zipRight(Effect.suspend(() => work === null ? Effect.void : Fiber.interruptFork(work)))
          )
        })
        processes.set(activation.runId, { agentId: activation.agentId, runId: activation.runId, die })
        yield* Effect.addFinalizer(() => die)

        const write = (line: HistoryFile["lines"][number]) =>
          Effect.sync(() => {
            if (alive) file.lines.push(line)
          })

        const runTurn = (turnId: TurnId, text: string, plan: SubmitPlan) =>
          Effect.gen(function*() {
            yield* Effect.sleep(plan.delayMillis)
            if (plan.dieBefore === true) return yield* die
            yield* write({ kind: "user", turnId, text })
            if (plan.dieAfter === true) return yield* die
            yield* events.offer({ _tag: "UserEntrySeen" })
            yield* Effect.sleep(plan.delayMillis)
            yield* behaviour.onTurn({
              agentId: activation.agentId,
              turnId,
              file,
              note: (eventId) => write({ kind: "answer", turnId, eventId })
            })
            yield* write({ kind: "end", turnId, status: plan.turn })
            turn = null
            yield* events.offer({ _tag: "TurnEnded", turnId, status: plan.turn, error: null })
          })

        const gone = new EngineGone({ engine: kind, reason: "killed" })
        const session: NativeSession = {
          binding: new Binding({ engine: kind, nativeId, path }),
          processId: ++counter,
          submit: ({ text }) =>
            Effect.gen(function*() {
              if (!alive) return yield* gone
              if (turn !== null) return yield* new InputRefused({ engine: kind, reason: "busy" })
              const plan = yield* behaviour.onSubmit(activation.agentId)
              if (plan.refuse !== undefined) return yield* new InputRefused({ engine: kind, reason: plan.refuse })
              const turnId = TurnId.make(`turn-${++counter}`)
              turn = turnId
              work = yield* Effect.forkIn(runTurn(turnId, text, plan), scope)
              // Without an answer the caller's own bound ends the process; here it waits for that.
              if (plan.loseAnswer === true) yield* Effect.repeat(Effect.sleep("1 second"), { until: () => !alive })
              if (!alive) return yield* gone
              yield* events.offer({ _tag: "TurnStarted", turnId })
              return { turnId }
            }),
          interrupt: (turnId) =>
            Effect.succeed(turn === turnId ? "requested" : turn === null ? "not-running" : "other-turn"),
          events: Mailbox.toStream(events)
        }
        return session
      })
  })

  return {
    histories,
    engine,
    running: () => [...processes.values()],
    kill: (runId) => Effect.suspend(() => processes.get(runId)?.die ?? Effect.void),
    killAll: Effect.suspend(() => Effect.forEach([...processes.values()], (process) => process.die, { discard: true }))
  }
}
