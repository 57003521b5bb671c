// One running Pi on one session file: one input at a time, interrupts that name their turn, events until the end.
import { Deferred, Effect, Either, Exit, Fiber, Mailbox, Ref, Schema, Scope, Stream } from "effect"
import { deliveryIdOfFirstLine } from "../../domain/DeliveryHeader.ts"
import type { Binding } from "../../domain/History.ts"
import type { DeliveryId } from "../../domain/Ids.ts"
import {
  type EngineEvent,
  EngineGone,
  type EngineUnavailable,
  InputRefused,
  type NativeSession
} from "../../services/NativeEngine.ts"
import type { ManagedProcess } from "../process/ManagedProcess.ts"
import { PiDisposition } from "./PiRecords.ts"
import { advance, harmless, idle, type PiTurn, turnIdOf } from "./PiTurn.ts"
import * as PiWire from "./PiWire.ts"

/** How many events may wait for their reader. */
const maxWaitingEvents = 10_000
/** Pi answers an input only after it has compacted its context where that is due, which asks the model. */
const promptDeadline = "15 minutes"
const abortDeadline = "30 seconds"

/** The extension's command; see `extension/fleet.ts`. */
export const abortCommand = "fleet-abort"

const AbortNotice = Schema.parseJson(Schema.Struct({
  fleetAbort: Schema.String,
  outcome: Schema.Literal("requested", "not-running", "other-turn")
}))
const decodeNotice = Schema.decodeUnknownEither(AbortNotice)
const decodeDisposition = Schema.decodeUnknownEither(PiDisposition)

type AbortOutcome = (typeof AbortNotice.Type)["outcome"]

const refused = (reason: string) => new InputRefused({ engine: "pi", reason })

export interface PiSession extends NativeSession {
  readonly wire: PiWire.PiWire
}

export const make = (
  start: Effect.Effect<ManagedProcess, EngineUnavailable, Scope.Scope>,
  binding: Binding,
  /** Run once the process is gone with all that it left. */
  release: Effect.Effect<void> = Effect.void
): Effect.Effect<PiSession, EngineUnavailable, Scope.Scope> =>
  Effect.gen(function*() {
    // Made before the process, so closed after it: who waits for an answer is told that the engine is gone.
    const deliveries = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const turn = yield* Ref.make<PiTurn>(idle)
    const waiting = yield* Mailbox.make<EngineEvent>({ capacity: maxWaitingEvents, strategy: "dropping" })
    const aborts = new Map<string, Deferred.Deferred<AbortOutcome>>()
    let abortsSent = 0

    const wire = yield* PiWire.make(start, {
      onEvent: (event) =>
        Effect.gen(function*() {
          const told = yield* Ref.modify(turn, (current) => {
            const [next, events] = advance(current, event)
            return [events, next]
          })
          return yield* Effect.every(told, (one) => waiting.offer(one))
        }),
      onNotice: (message) =>
        Effect.suspend(() => {
          const notice = decodeNotice(message)
          if (Either.isLeft(notice)) return Effect.void
          const asked = aborts.get(notice.right.fleetAbort)
          return asked === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(asked, notice.right.outcome))
        }),
      // A process that is gone has no running turn.
      onEnd: Effect.all([Ref.set(turn, idle), release, waiting.end], { discard: true })
    })
    /** Only the turn of this delivery: another one may have begun meanwhile. */
    const forget = (deliveryId: DeliveryId) =>
      Ref.update(
        turn,
        (current) => current._tag === "Running" && current.deliveryId === deliveryId ? idle : current
      )

    const deliver = (deliveryId: DeliveryId, text: string) =>
      Effect.gen(function*() {
        const response = yield* wire.ask({ type: "prompt", message: text }, promptDeadline)
        if (!response.success) return yield* refused(harmless(response.error ?? "without a reason"))
        const disposition = Either.map(decodeDisposition(response.data), (data) => data.disposition)
        if (Either.isRight(disposition) && disposition.right === "started") return { turnId: turnIdOf(deliveryId) }
        // Queued text is in memory only, and would come at a time of its own.
        return yield* Effect.flatMap(wire.end("it did not start the input that it was given"), Effect.fail)
      }).pipe(Effect.tapError(() => forget(deliveryId)))

    const submit: NativeSession["submit"] = ({ deliveryId, text }) =>
      Effect.gen(function*() {
        // Also keeps out what Pi would take for a command: those start with a slash.
        if (deliveryIdOfFirstLine(text) !== deliveryId) {
          return yield* refused("it does not open with the header of its delivery")
        }
        const free = yield* Ref.modify(turn, (current): readonly [boolean, PiTurn] =>
          current._tag === "Idle"
            ? [true, { _tag: "Running", deliveryId, reported: false, last: null }]
            : [false, current])
        if (!free) return yield* refused("busy: a turn is running")
        // Not in the caller's fiber: a caller that stops waiting must not leave the answer unread.
        const delivery = yield* Effect.forkIn(deliver(deliveryId, text), deliveries)
        const exit = yield* Fiber.await(delivery)
        // Nothing is begun any more once the session's scope has closed.
        if (!Exit.isInterrupted(exit)) return yield* exit
        return yield* new EngineGone({ engine: "pi", reason: yield* wire.ended })
      })

    const interrupt: NativeSession["interrupt"] = (turnId) =>
      Effect.gen(function*() {
        const current = yield* Ref.get(turn)
        if (current._tag === "Idle") return "not-running"
        if (turnIdOf(current.deliveryId) !== turnId) return "other-turn"
        const id = `abort-${++abortsSent}`
        const asked = yield* Deferred.make<AbortOutcome>()
        aborts.set(id, asked)
        // Pi compares once more, in its own process: between here and there the turn may have changed.
        const message = `/${abortCommand} ${current.deliveryId} ${id}`
        yield* wire.ask({ type: "prompt", message }, abortDeadline).pipe(
          Effect.ensuring(Effect.sync(() => aborts.delete(id)))
        )
        // The notice comes before the command's answer; without it the command did not do its work.
        const answer = yield* Deferred.poll(asked)
        if (answer._tag === "Some") return yield* answer.value
        return yield* Effect.flatMap(wire.end("its interrupt command did not answer"), Effect.fail)
      })

    const events = Stream.concat(
      Mailbox.toStream(waiting),
      Stream.fromEffect(Effect.map(wire.ended, (reason): EngineEvent => ({ _tag: "Exited", reason })))
    )
    return { binding, processId: wire.pid, submit, interrupt, events, wire }
  })
