// One running thread as a NativeSession: its events in order, its input, and the interrupt that means one turn.
// What is sent and when is the caller's; during a turn an input is refused, since Codex would write it into that turn.
import { Deferred, Effect, Mailbox, type Scope, Stream } from "effect"
import type { Binding } from "../../domain/History.ts"
import {
  type EngineEvent,
  InputRefused,
  type InterruptOutcome,
  type NativeSession
} from "../../services/NativeEngine.ts"
import type * as CodexProcess from "./CodexProcess.ts"
import { declined, Empty, type Notification, readNotification, TurnStartResult } from "./CodexProtocol.ts"
import * as CodexTurns from "./CodexTurns.ts"
import { type CodexWire, Disorder, type Listener } from "./CodexWire.ts"

const maxWaitingEvents = 1024
const consumerPatience = "30 seconds"
const submitDeadline = "60 seconds"
const interruptDeadline = "30 seconds"
/** Codex's own limit, in Unicode characters over the whole input. */
const maxInputCharacters = 1_048_576

const refused = (reason: string) => new InputRefused({ engine: "codex", reason })

const charactersOf = (text: string): number => {
  if (text.length <= maxInputCharacters) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}

/** The side of a session that listens. It is there before the process is, and learns later which thread it serves. */
interface CodexEvents {
  readonly listener: Listener
  readonly serve: (turns: CodexTurns.CodexTurns) => void
  readonly stream: Stream.Stream<EngineEvent>
  /** From here on an event is dropped rather than waited for, so that the reader can come to its end. */
  readonly hurry: Effect.Effect<void>
  /** Hands out what is left and ends the stream. */
  readonly finish: Effect.Effect<void>
}

const makeEvents: Effect.Effect<CodexEvents> = Effect.gen(function*() {
  const mailbox = yield* Mailbox.make<EngineEvent>({ capacity: maxWaitingEvents, strategy: "suspend" })
  const hurried = yield* Deferred.make<void>()
  let served: CodexTurns.CodexTurns | null = null

  // A consumer that is slow holds the engine back; one that does not read at all ends the session, not the daemon.
  const hand = (event: EngineEvent) =>
    Effect.suspend(() =>
      mailbox.unsafeOffer(event) ? Effect.void : Effect.raceFirst(mailbox.offer(event), Deferred.await(hurried)).pipe(
        Effect.timeoutFail({
          duration: consumerPatience,
          onTimeout: () => new Disorder({ reason: `its events were not read for ${consumerPatience}` })
        })
      )
    )

  const onKnown = (notification: Notification) =>
    Effect.gen(function*() {
      if (served === null || !served.concerns(notification)) return
      if (notification.method === "thread/closed") return yield* new Disorder({ reason: "it closed the thread" })
      if (notification.method === "model/rerouted") yield* Effect.logWarning("codex: the provider rerouted the model")
      yield* Effect.forEach(served.read(notification), hand, { discard: true })
    })

  return {
    listener: {
      onNotification: (method, params) =>
        readNotification(method, params).pipe(
          Effect.mapError(() => new Disorder({ reason: `its notification ${method} has an unknown form` })),
          Effect.flatMap((notification) => notification === null ? Effect.void : onKnown(notification))
        ),
      onRequest: (method) =>
        Effect.logInfo("codex: a request was declined").pipe(
          Effect.annotateLogs("request", method.slice(0, 100)),
          Effect.as(declined(method))
        )
    },
    serve: (turns) => {
      served = turns
    },
    stream: Mailbox.toStream(mailbox),
    hurry: Effect.asVoid(Deferred.succeed(hurried, undefined)),
    finish: Effect.suspend(() => {
      served?.left().forEach((event) => mailbox.unsafeOffer(event))
      return Effect.asVoid(mailbox.end)
    })
  }
})

const sessionOf = (
  { ended, pid, wire }: CodexProcess.CodexProcess,
  binding: Binding,
  turns: CodexTurns.CodexTurns,
  events: Stream.Stream<EngineEvent>
): NativeSession => {
  const threadId = binding.nativeId

  const submit: NativeSession["submit"] = ({ deliveryId, text }) =>
    Effect.gen(function*() {
      const characters = charactersOf(text)
      if (characters > maxInputCharacters) {
        return yield* refused(`it has ${characters} characters, and ${maxInputCharacters} is the limit`)
      }
      if (turns.busy()) return yield* refused("a turn is running")
      turns.submitting()
      // Half of a surrogate pair would make the whole line unreadable, and Codex answers nothing to such a line.
      const input = [{ type: "text", text: text.toWellFormed() }]
      const params = { threadId, clientUserMessageId: deliveryId, input }
      const { turn } = yield* wire.request("turn/start", params, TurnStartResult, submitDeadline).pipe(
        Effect.catchTag("RequestRefused", (refusal) => {
          turns.submitted(null)
          return refused(refusal.message)
        })
      )
      turns.submitted(turn.id)
      return { turnId: turn.id }
    })

  // Before its start is reported an interrupt has no effect; and an empty turn ID would stop whatever runs.
  const interrupt: NativeSession["interrupt"] = (turnId) =>
    Effect.suspend(() => {
      const running = turns.running()
      if (running === null) return Effect.succeed<InterruptOutcome>("not-running")
      if (running !== turnId) return Effect.succeed<InterruptOutcome>("other-turn")
      return wire.request("turn/interrupt", { threadId, turnId }, Empty, interruptDeadline).pipe(
        Effect.as<InterruptOutcome>("requested"),
        Effect.catchTag("RequestRefused", ({ error }) =>
          Effect.succeed<InterruptOutcome>(
            error.message.startsWith("expected active turn") ? "other-turn" : "not-running"
          ))
      )
    })

  const exited = Effect.map(ended, (reason): EngineEvent => ({ _tag: "Exited", reason }))
  return { binding, processId: pid, submit, interrupt, events: Stream.concat(events, Stream.fromEffect(exited)) }
}

/** Starts the process, lets `open` choose the thread, and serves it until either ends. */
export const make = <E>(
  start: (listener: Listener) => Effect.Effect<CodexProcess.CodexProcess, E, Scope.Scope>,
  open: (wire: CodexWire) => Effect.Effect<Binding, E>
): Effect.Effect<NativeSession, E, Scope.Scope> =>
  Effect.gen(function*() {
    const events = yield* makeEvents
    yield* Effect.addFinalizer(() => events.finish)
    const process = yield* start(events.listener)
    yield* process.wire.over.pipe(
      Effect.zipRight(events.hurry),
      Effect.zipRight(process.ended),
      Effect.zipRight(events.finish),
      Effect.forkScoped
    )
    yield* Effect.addFinalizer(() => events.hurry)
    const binding = yield* open(process.wire)
    const turns = CodexTurns.make(binding.nativeId)
    events.serve(turns)
    return sessionOf(process, binding, turns, events.stream)
  })
