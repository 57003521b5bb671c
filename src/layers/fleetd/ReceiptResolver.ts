// Resolves a submitted input by the history file: confirmed, proven absent, unknown, or still to wait for. It never
// guesses, and it needs no lease: what was submitted is resolved with the gate shut too.
import { Effect, Option } from "effect"
import { Checkpoint } from "../../domain/Checkpoint.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { HistoryPosition, Receipt } from "../../domain/History.ts"
import { type Publication, verdict } from "../../domain/Publication.ts"
import { Checkpoints } from "../../services/Checkpoints.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { type NativeEngine, NativeEngines } from "../../services/NativeEngine.ts"
import { Publications } from "../../services/Publications.ts"
import { RunSweep } from "../../services/RunSweep.ts"
import { Signals } from "../../services/Signals.ts"
import type { Active } from "./Activation.ts"

export type Resolution =
  | { readonly _tag: "Confirmed" }
  | { readonly _tag: "Absent"; readonly failures: number }
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Wait" }
  /** The run's processes could not be ended: nothing can be proven, and no engine may start beside them. */
  | { readonly _tag: "WriterAlive"; readonly processIds: ReadonlyArray<number> }

export const make = Effect.gen(function*() {
  const checkpoints = yield* Checkpoints
  const engines = yield* NativeEngines
  const publications = yield* Publications
  const registry = yield* FleetRegistry
  const signals = yield* Signals
  const sweeper = yield* RunSweep

  const boundHistory = (agent: FleetAgent, open: Publication) =>
    Effect.gen(function*() {
      const known = yield* registry.binding(agent.agentId, open.context)
      // A publication is only ever prepared with its context's binding saved.
      if (Option.isNone(known)) return yield* Effect.dieMessage("a submitted input without a binding")
      return { engine: engines.get(agent.engine), binding: known.value.binding }
    })

  const confirm = (
    agent: FleetAgent,
    open: Publication,
    nativeId: string,
    receipt: Receipt,
    end: Checkpoint["turnEnd"],
    active: Active | null
  ) =>
    Effect.gen(function*() {
      const turnId = receipt.turnId ?? open.turnId
      const earlier = yield* checkpoints.get(agent.agentId, open.context)
      if (open.runId === null) return yield* Effect.dieMessage("a submitted input without a run")
      const known = active !== null && turnId !== null ? active.endOf(turnId) : null
      yield* publications.confirmed(
        open.deliveryId,
        receipt,
        new Checkpoint({
          agentId: agent.agentId,
          context: open.context,
          nativeId,
          deliveryId: open.deliveryId,
          runId: open.runId,
          turnId,
          turnEnd: end ?? known,
          continues: open.kind === "continue"
            ? Option.match(earlier, { onNone: () => 1, onSome: (one) => one.continues + 1 })
            : 0
        })
      )
      // The end may have been heard while the receipt was being written.
      const heard = active !== null && turnId !== null ? active.endOf(turnId) : null
      if (turnId !== null && heard !== null) {
        yield* checkpoints.turnEnded(agent.agentId, open.context, turnId, heard)
      }
      yield* Effect.logInfo("delivery confirmed").pipe(
        Effect.annotateLogs({ agent: agent.name, delivery: open.deliveryId, entry: receipt.entry })
      )
      yield* signals.outbox
      return { _tag: "Confirmed" } as Resolution
    })

  /** While the process that took it lives. */
  const resolveLive = (agent: FleetAgent, open: Publication, active: Active) =>
    Effect.gen(function*() {
      const { binding, engine } = yield* boundHistory(agent, open)
      const receipt = yield* engine.history.findReceipt(binding, open.position, open.deliveryId)
      if (Option.isSome(receipt)) return yield* confirm(agent, open, binding.nativeId, receipt.value, null, active)
      const turnEnded = open.turnId === null
        ? Option.none()
        : yield* engine.history.turnEnd(binding, open.position, open.turnId)
      if (Option.isNone(turnEnded)) return { _tag: "Wait" } as Resolution
      // The file was read before the end was in it: read once more, now behind the end.
      const late = yield* engine.history.findReceipt(binding, open.position, open.deliveryId)
      if (Option.isSome(late)) return yield* confirm(agent, open, binding.nativeId, late.value, null, active)
      const position = yield* engine.history.guard(binding, open.position)
      return yield* becameAbsent(open, position)
    })

  const becameAbsent = (open: Publication, position: HistoryPosition) =>
    Effect.gen(function*() {
      yield* publications.absent(open.deliveryId, position)
      return { _tag: "Absent", failures: open.failures + 1 } as Resolution
    })

  /** After its process is gone. The order matters: end the writer, guard the history, and only then look for the entry. */
  const resolveDead = (agent: FleetAgent, open: Publication) =>
    Effect.gen(function*() {
      if (open.runId === null) return yield* Effect.dieMessage("a submitted input without a run")
      const left = yield* sweeper.sweep(open.runId)
      if (left.length > 0) return { _tag: "WriterAlive", processIds: left } as Resolution
      const { binding, engine } = yield* boundHistory(agent, open)
      const position = yield* engine.history.guard(binding, open.position)
      const receipt = yield* engine.history.findReceipt(binding, open.position, open.deliveryId)
      const decided = verdict({
        receipt: Option.isSome(receipt),
        writerDead: true,
        turnEnded: false,
        uncleanBoot: open.bootId !== (yield* sweeper.bootId)
      })
      if (Option.isSome(receipt)) {
        const turnId = receipt.value.turnId ?? open.turnId
        const finished = yield* engine.history.finished(binding, receipt.value.position, turnId)
        return yield* confirm(agent, open, binding.nativeId, receipt.value, finished ? "completed" : null, null)
      }
      if (decided === "absent") return yield* becameAbsent(open, position)
      yield* publications.becameUnknown(open.deliveryId)
      return { _tag: "Unknown" } as Resolution
    })

  /** At start: a turn whose end was not recorded may have ended all the same; the history tells. */
  const settleCheckpoint = (agent: FleetAgent, engine: NativeEngine, checkpoint: Checkpoint) =>
    Effect.gen(function*() {
      const known = yield* registry.binding(agent.agentId, checkpoint.context)
      if (Option.isNone(known) || checkpoint.turnEnd !== null) return
      const { binding, position } = known.value
      if (!(yield* engine.history.finished(binding, position, checkpoint.turnId))) return
      yield* Effect.logInfo("the last turn had ended").pipe(Effect.annotateLogs({ agent: agent.name }))
      yield* checkpoints.settleEnd(checkpoint)
    })

  return { resolveLive, resolveDead, settleCheckpoint }
})

export type ReceiptResolver = Effect.Effect.Success<typeof make>
