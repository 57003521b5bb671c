// What a context holds when its next input is chosen, read off the stores: checkpoint, unknown input, wakes, items.
import { Effect, Option } from "effect"
import { type Checkpoint, isUnfinished } from "../../domain/Checkpoint.ts"
import type { AgentId, ContextKey, RunId } from "../../domain/Ids.ts"
import type { Level } from "../../domain/Level.ts"
import { maxContinues, type NextInput, nextInput, type Publication } from "../../domain/Publication.ts"
import { Checkpoints } from "../../services/Checkpoints.ts"
import { DirectInputs } from "../../services/DirectInputs.ts"
import { Publications } from "../../services/Publications.ts"
import { ReadState } from "../../services/ReadState.ts"

export interface ContextState {
  readonly next: NextInput
  /** Open wakes wait that were not given yet. */
  readonly wakes: boolean
  readonly checkpoint: Option.Option<Checkpoint>
  readonly unknown: Option.Option<Publication>
  /** How the last input's work ended for good: `failing` when its continuations failed too; null while it goes on. */
  readonly outcome: "worked" | "failing" | null
}

export const make = (agentId: AgentId, context: ContextKey) =>
  Effect.gen(function*() {
    const checkpoints = yield* Checkpoints
    const inputs = yield* DirectInputs
    const publications = yield* Publications
    const readState = yield* ReadState

    /** What was given is only waiting for its acknowledgment. */
    const undelivered = (level: Level) =>
      Effect.map(
        readState.deliveredAmong(agentId, level.wakes.map((wake) => wake.eventId)),
        (delivered) => level.wakes.some((wake) => !delivered.has(wake.eventId))
      )

    return {
      /** `runId` is the running process's; null while none runs. */
      read: (level: Level, runId: RunId | null, prepared: Publication | null) =>
        Effect.gen(function*() {
          const checkpoint = yield* checkpoints.get(agentId, context)
          const unknown = yield* publications.unknown(agentId, context)
          const wakes = yield* undelivered(level)
          const items = (yield* inputs.waiting(agentId, context, 1)).length > 0
          const sameRun = Option.exists(checkpoint, (one) => one.runId === runId)
          const unfinished = Option.exists(checkpoint, (one) => isUnfinished(one) && one.continues < maxContinues)
          const next = nextInput({
            unknown: Option.isSome(unknown),
            reminderDue: unfinished && !sameRun,
            continueDue: sameRun && Option.exists(checkpoint, (one) => one.turnEnd === "failed") && unfinished,
            inputWaits: wakes || items || prepared?.kind === "batch"
          })
          const outcome = Option.match(checkpoint, {
            onNone: () => null,
            onSome: (one) => {
              if (one.turnEnd === "completed") return "worked" as const
              return one.turnEnd === "failed" && one.continues >= maxContinues ? "failing" as const : null
            }
          })
          const state: ContextState = { next, wakes, checkpoint, unknown, outcome }
          return state
        })
    }
  })
