// One Pi process as requests with answers and a run of records: correlation, deadlines, and what ends it.
// It knows no turns. Whatever breaks the protocol ends the process: what it had taken is told by its history alone.
import { Deferred, type Duration, Effect, Either, Exit, Fiber, Schema, Scope, Stream } from "effect"
import { EngineGone } from "../../services/NativeEngine.ts"
import { lines } from "../process/LineReader.ts"
import type { ManagedProcess } from "../process/ManagedProcess.ts"
import { withoutUnread } from "./PiLines.ts"
import { decodeRecord, encodeCommand, type PiCommand, type PiEvent, type PiResponse } from "./PiRecords.ts"
import { harmless } from "./PiTurn.ts"

const outputLineLimitBytes = 32 * 1024 * 1024
const maxPendingRequests = 16

/** Why the wire was cut. */
class Cut extends Schema.TaggedError<Cut>()("Cut", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

type Ask =
  | { readonly type: "prompt"; readonly message: string }
  | { readonly type: "get_state" | "get_available_models" | "get_available_thinking_levels" | "get_commands" }

export interface PiWire {
  /** The answer, whether it says success or not. Without one in time the process is ended. */
  readonly ask: (ask: Ask, deadline: Duration.DurationInput) => Effect.Effect<PiResponse, EngineGone>
  /** `ask`, its success and the form of its data required. */
  readonly query: <A, I>(
    type: Exclude<Ask["type"], "prompt">,
    form: Schema.Schema<A, I>,
    deadline: Duration.DurationInput
  ) => Effect.Effect<A, EngineGone>
  /** Ends the process for this reason and waits until nothing of it is left. */
  readonly end: (reason: string) => Effect.Effect<EngineGone>
  /** Waits for the end, with the reason. Everything that carried the run's marker is gone by then. */
  readonly ended: Effect.Effect<string>
}

export interface PiListener {
  /** `false` cuts the wire: the consumer does not keep up. */
  readonly onEvent: (event: PiEvent) => Effect.Effect<boolean>
  readonly onNotice: (message: string) => Effect.Effect<void>
  /** No event comes any more. */
  readonly onEnd: Effect.Effect<void>
}

/**
 * Starts the process in a scope of its own inside the caller's, which the end of either closes. Output is read until the
 * process has ended, its stop included, so that it can never hang on a full pipe.
 */
export const make = <E>(
  start: Effect.Effect<ManagedProcess, E, Scope.Scope>,
  listener: PiListener
): Effect.Effect<PiWire & { readonly pid: number }, E, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const processScope = yield* Effect.acquireRelease(Scope.make(), (inner) => Scope.close(inner, Exit.void))
    const process = yield* Scope.extend(start, processScope)

    // Shared, since closing a scope that is being closed already waits for nothing.
    const stop = yield* Effect.cached(Effect.uninterruptible(Scope.close(processScope, Exit.void)))
    const cut = yield* Deferred.make<never, Cut>()
    const gone = yield* Deferred.make<never, EngineGone>()
    const ended = yield* Deferred.make<string>()
    const pending = new Map<string, Deferred.Deferred<PiResponse>>()
    const permits = yield* Effect.makeSemaphore(maxPendingRequests)
    let asked = 0
    let inputSent = false

    const send = (command: PiCommand) =>
      Effect.suspend(() => {
        inputSent ||= command.type === "prompt"
        return process.write(encodeCommand(command))
      })

    const onLine = (line: string) =>
      Effect.gen(function*() {
        const decoded = decodeRecord(line)
        if (Either.isLeft(decoded)) return yield* new Cut({ reason: decoded.left })
        const record = decoded.right
        switch (record.type) {
          case "ignored":
            return
          case "response": {
            const waiting = record.id === undefined ? undefined : pending.get(record.id)
            if (waiting !== undefined) yield* Deferred.succeed(waiting, record)
            return
          }
          case "extension_ui_request":
            if (record.method === "notify") return yield* listener.onNotice(record.message ?? "")
            // Nobody here answers dialogs. One without an answer would hold the agent for ever.
            if (["select", "confirm", "input", "editor"].includes(record.method)) {
              const cancel = send({ type: "extension_ui_response", id: record.id, cancelled: true })
              yield* Effect.forkIn(Effect.ignore(cancel), scope)
            }
            return
          default:
            if (!(yield* listener.onEvent(record))) {
              return yield* new Cut({ reason: "its events were not read in time" })
            }
        }
      })

    const output = lines(withoutUnread(process.stdout), outputLineLimitBytes).pipe(
      Stream.runForEach(onLine),
      Effect.as(null),
      Effect.catchAll((error) => Effect.succeed(error.message))
    )
    const reader = Effect.gen(function*() {
      const reason = yield* Effect.raceFirst(
        output,
        Effect.catchAll(Deferred.await(cut), (error) => Effect.succeed(error.reason))
      )
      yield* stop
      const end = yield* process.end
      const how = end.signal === null ? `it exited with code ${end.code}` : `it was ended by ${end.signal}`
      // Before the first input it has taken nothing, so its own words only say why it would not start.
      const words = inputSent ? "" : harmless(end.stderrTail)
      const told = reason ?? [how, words].filter((part) => part !== "").join(": ")
      yield* listener.onEnd
      yield* Deferred.fail(gone, new EngineGone({ engine: "pi", reason: told }))
      yield* Deferred.succeed(ended, told)
    })
    const reading = yield* Effect.forkIn(reader, scope)
    yield* Scope.addFinalizer(scope, Effect.zipRight(stop, Fiber.await(reading)))

    const end = (reason: string) =>
      Effect.zipRight(
        Deferred.fail(cut, new Cut({ reason })),
        Effect.flip(Deferred.await(gone))
      )

    const ask: PiWire["ask"] = (ask, deadline) =>
      Effect.gen(function*() {
        const id = `fleet-${++asked}`
        const answer = yield* Deferred.make<PiResponse>()
        pending.set(id, answer)
        const asking = send({ ...ask, id }).pipe(
          // A closed pipe means that the process is ending: the reader says how.
          Effect.catchTag("ProcessGone", () => Deferred.await(gone)),
          Effect.zipRight(Effect.raceFirst(Deferred.await(answer), Deferred.await(gone))),
          Effect.timeoutFail({ duration: deadline, onTimeout: () => new Cut({ reason: `no answer to ${ask.type}` }) })
        )
        return yield* Effect.ensuring(asking, Effect.sync(() => pending.delete(id)))
      }).pipe(
        permits.withPermits(1),
        Effect.catchTag("Cut", (error) => Effect.flatMap(end(error.reason), Effect.fail))
      )

    const query: PiWire["query"] = (type, form, deadline) =>
      Effect.flatMap(ask({ type }, deadline), (response) =>
        Schema.decodeUnknown(form)(response.success ? response.data : undefined).pipe(
          Effect.catchAll(() =>
            Effect.flatMap(end(`its answer to ${type} has an unknown form`), Effect.fail)
          )
        ))

    return { pid: process.pid, ask, query, end, ended: Deferred.await(ended) }
  })
