// The native engines' twin in memory: processes that can be killed at any point of an input's way, over histories that
// outlive them. The owner of the twin decides what an agent does in a turn and what goes wrong.
import { Deferred, Effect, Fiber, Mailbox } from "effect"
import { checkModel, type EngineKind, ModelNotOffered, ModelOffer } from "../../domain/Engine.ts"
import { Binding } from "../../domain/History.ts"
import { type AgentId, type DeliveryId, type RunId, TurnId } from "../../domain/Ids.ts"
import {
  type EngineEvent,
  EngineGone,
  EngineUnavailable,
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
  readonly onSubmit: (
    agentId: AgentId,
    input: { readonly deliveryId: DeliveryId; readonly text: string }
  ) => Effect.Effect<SubmitPlan>
  /**
   * The agent's work in a turn. `file` is the whole conversation; `note` writes a line of work into it; `say` puts out
   * visible text. Interrupted with the turn, and when the process dies.
   */
  readonly onTurn: (turn: {
    readonly agentId: AgentId
    readonly turnId: TurnId
    readonly file: HistoryFile
    readonly note: (eventId: string) => Effect.Effect<void>
    readonly say: (text: string) => Effect.Effect<void>
  }) => Effect.Effect<void>
  readonly onActivate: (agentId: AgentId) => Effect.Effect<boolean>
}

export interface MemoryEngines {
  readonly histories: MemoryHistories
  readonly engine: (kind: EngineKind) => NativeEngine
  readonly running: () => ReadonlyArray<{
    readonly runId: RunId
    readonly agentId: AgentId
    readonly processId: number
  }>
  /** Ends that process at once; nothing of it writes any more. */
  readonly kill: (runId: RunId) => Effect.Effect<void>
  readonly killAll: Effect.Effect<void>
}

interface Process {
  readonly agentId: AgentId
  readonly processId: number
  readonly path: string
  readonly runId: RunId
  readonly die: Effect.Effect<void>
}

const offers = [new ModelOffer({ model: "scripted-1", efforts: ["low", "medium", "high"], isDefault: true })]

export const make = (behaviour: EngineBehaviour): MemoryEngines => {
  const histories = makeHistories()
  const processes = new Map<RunId, Process>()
  let counter = 0

  /** A new history, on disk with its header before anybody learns of it. */
  const newBinding = (kind: EngineKind, agentId: AgentId): Binding => {
    const nativeId = `native-${++counter}`
    const path = `/histories/${agentId}/${nativeId}`
    histories.files.set(path, { lines: [{ kind: "header", nativeId }], synced: 1 })
    return new Binding({ engine: kind, nativeId, path })
  }

  const engine = (kind: EngineKind): NativeEngine => ({
    kind,
    history: histories.of(kind),
    models: () => Effect.succeed(offers),
    activate: (activation) =>
      Effect.gen(function*() {
        const checked = checkModel(kind, { model: activation.model, effort: activation.effort }, offers)
        if (checked instanceof ModelNotOffered) return yield* checked
        if (!(yield* behaviour.onActivate(activation.agentId))) {
          return yield* new EngineGone({ engine: kind, reason: "died while starting" })
        }
        const binding = activation.binding ?? newBinding(kind, activation.agentId)
        const { path } = binding
        const unavailable = (reason: string) => new EngineUnavailable({ engine: kind, reason })
        yield* Effect.mapError(histories.of(kind).guard(binding, null), (broken) => unavailable(broken.message))
        if ([...processes.values()].some((process) => process.path === path)) {
          return yield* unavailable(`its history ${path} is in use by a running session`)
        }
        const file = histories.files.get(path)
        if (file === undefined) return yield* Effect.dieMessage("the history is there: it was just looked at")

        const events = yield* Mailbox.make<EngineEvent>()
        const scope = yield* Effect.scope
        let running: Fiber.RuntimeFiber<void> | null = null
        let alive = true
        let turn: { readonly turnId: TurnId; readonly cut: Deferred.Deferred<void> } | null = null
        const die = Effect.suspend(() => {
          if (!alive) return Effect.void
          alive = false
          processes.delete(activation.runId)
          return events.offer({ _tag: "Exited", reason: "it was ended by SIGKILL" }).pipe(
            Effect.zipRight(events.end),
            // Not awaited: the dying turn may be the one that asks.
            Effect.zipRight(Effect.suspend(() => running === null ? Effect.void : Fiber.interruptFork(running)))
          )
        })
        const processId = ++counter
        processes.set(activation.runId, { agentId: activation.agentId, processId, path, runId: activation.runId, die })
        yield* Effect.addFinalizer(() => die)

        const write = (line: HistoryFile["lines"][number]) =>
          Effect.sync(() => {
            if (alive) file.lines.push(line)
          })

        /** From the start of the turn to the end of the work in it. The entry may be cut off with it. */
        const work = (turnId: TurnId, text: string, plan: SubmitPlan) =>
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
              note: (eventId) => write({ kind: "answer", turnId, eventId }),
              say: (text) => events.offer({ _tag: "Output", turnId, text })
            })
          })

        const runTurn = (turnId: TurnId, cut: Deferred.Deferred<void>, text: string, plan: SubmitPlan) =>
          Effect.gen(function*() {
            yield* events.offer({ _tag: "TurnStarted", turnId })
            const status = yield* Effect.raceFirst(
              Effect.as(work(turnId, text, plan), plan.turn),
              Effect.as(Deferred.await(cut), "interrupted" as const)
            )
            if (!alive) return
            yield* write({ kind: "end", turnId, status: status === "interrupted" ? "aborted" : status })
            turn = null
            const error = status === "failed" ? "the provider failed" : null
            yield* events.offer({ _tag: "TurnEnded", turnId, status, error })
          })

        const gone = new EngineGone({ engine: kind, reason: "it was ended by SIGKILL" })
        const session: NativeSession = {
          binding,
          processId,
          submit: (input) =>
            Effect.gen(function*() {
              if (!alive) return yield* gone
              if (turn !== null) return yield* new InputRefused({ engine: kind, reason: "a turn is running" })
              const plan = yield* behaviour.onSubmit(activation.agentId, input)
              if (plan.refuse !== undefined) return yield* new InputRefused({ engine: kind, reason: plan.refuse })
              const turnId = TurnId.make(`turn-${++counter}`)
              const cut = yield* Deferred.make<void>()
              turn = { turnId, cut }
              running = yield* Effect.forkIn(runTurn(turnId, cut, input.text, plan), scope)
              // Without an answer the caller's own bound ends the process; here it waits for that.
              if (plan.loseAnswer === true) yield* Effect.repeat(Effect.sleep("1 second"), { until: () => !alive })
              if (!alive) return yield* gone
              return { turnId }
            }),
          interrupt: (turnId) =>
            Effect.suspend(() => {
              if (!alive || turn === null) return Effect.succeed("not-running" as const)
              if (turn.turnId !== turnId) return Effect.succeed("other-turn" as const)
              return Effect.as(Deferred.succeed(turn.cut, undefined), "requested" as const)
            }),
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
