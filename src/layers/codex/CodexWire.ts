// Requests, answers and notifications over the pipes of one app-server: correlation, limits and deadlines.
// It knows no turn and no thread. Once something is out of order nothing more is sent, and the reason is told.
import { Deferred, Duration, Effect, Schema, type Scope, Stream } from "effect"
import { EngineGone } from "../../services/NativeEngine.ts"
import { lines } from "../process/LineReader.ts"
import type { ManagedProcess } from "../process/ManagedProcess.ts"
import { unavailable } from "./CodexHome.ts"
import { decodeLine, encodeLine, type Message, type RequestId, RpcError } from "./CodexProtocol.ts"

const maxLineBytes = 32 * 1024 * 1024
/** Requests that wait for an answer at the same time; one more waits for its turn, within its own deadline. */
const maxPendingRequests = 16
/** How long an answer of ours may wait for room in the pipe. */
const answerPatience = "10 seconds"
/** Between the end of the output and the end of the process. */
const endGrace = "2 seconds"

/** The engine answered that it will not do this. Its words are cut, since they may be long. */
export class RequestRefused extends Schema.TaggedError<RequestRefused>()("RequestRefused", {
  method: Schema.String,
  error: RpcError
}) {
  override get message(): string {
    return `${this.method} was refused (${this.error.code}): ${this.error.message.slice(0, 300)}`
  }
}

/** For a request without which the engine is of no use. */
export const asUnavailable = (refused: RequestRefused) => unavailable(refused.message)

/** What the engine sent makes no sense, or cannot be taken: the conversation must end. Quotes nothing of it. */
export class Disorder extends Schema.TaggedError<Disorder>()("Disorder", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

export interface CodexWire {
  readonly request: <A, I>(
    method: string,
    params: unknown,
    result: Schema.Schema<A, I>,
    deadline: Duration.DurationInput
  ) => Effect.Effect<A, RequestRefused | EngineGone>
  readonly notify: (method: string) => Effect.Effect<void, EngineGone>
  /** Ends the conversation for this reason; a first reason stands. */
  readonly cut: (reason: string) => Effect.Effect<void>
  /** Waits until the conversation is over, for whatever reason. The process may still live. */
  readonly over: Effect.Effect<EngineGone>
}

export interface Listener {
  /** Awaited before the next line is read. */
  readonly onNotification: (method: string, params: unknown) => Effect.Effect<void, Disorder>
  /** What is answered to the engine's own request; `null` refuses it as unknown. */
  readonly onRequest: (method: string) => Effect.Effect<unknown>
}

const reasonOfEnd = (process: ManagedProcess) =>
  process.end.pipe(
    Effect.map(({ code, signal }) => signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`),
    Effect.timeoutTo({
      duration: endGrace,
      onSuccess: (reason) => reason,
      onTimeout: () => "it closed its output and did not end"
    })
  )

/** Reads until the output ends, its stop included: a child never waits on a full pipe. */
export const make = (process: ManagedProcess, listener: Listener): Effect.Effect<CodexWire, never, Scope.Scope> =>
  Effect.gen(function*() {
    const over = yield* Deferred.make<EngineGone>()
    const pending = new Map<RequestId, Deferred.Deferred<unknown, typeof RpcError.Type>>()
    const permits = yield* Effect.makeSemaphore(maxPendingRequests)
    let lastId = 0

    const cut = (reason: string) => Effect.asVoid(Deferred.succeed(over, new EngineGone({ engine: "codex", reason })))
    const isOver = Effect.flatMap(Deferred.await(over), Effect.fail)
    const send = (message: Message) =>
      process.write(encodeLine(message)).pipe(
        // A closed pipe means that the end is near: the reader says which.
        Effect.catchTag("ProcessGone", () => isOver)
      )

    const onMessage = ({ error, id, method, params, result }: Message) =>
      Effect.gen(function*() {
        if (method !== undefined && id === undefined) return yield* listener.onNotification(method, params)
        if (method !== undefined) {
          const answer = yield* listener.onRequest(method)
          const refusal = { code: -32601, message: "not supported by this client" }
          const line = encodeLine(answer === null ? { id, error: refusal } : { id, result: answer })
          // Never waits for the end: it is this reader that will notice it.
          return yield* process.write(line).pipe(Effect.timeoutOption(answerPatience), Effect.ignore)
        }
        const waiting = id === undefined ? undefined : pending.get(id)
        if (waiting === undefined) return
        yield* error === undefined ? Deferred.succeed(waiting, result) : Deferred.fail(waiting, error)
      })

    const reading = lines(process.stdout, maxLineBytes).pipe(
      Stream.runForEach((line) => {
        const message = decodeLine(line)
        return message === null ? new Disorder({ reason: "a line of its output is no message" }) : onMessage(message)
      }),
      Effect.zipRight(reasonOfEnd(process)),
      Effect.catchAll((error) => Effect.succeed(error.message)),
      Effect.flatMap(cut)
    )
    yield* Effect.forkScoped(reading)

    const request: CodexWire["request"] = (method, params, result, deadline) =>
      Effect.gen(function*() {
        const id = ++lastId
        const answer = yield* Deferred.make<unknown, typeof RpcError.Type>()
        pending.set(id, answer)
        const value = yield* send({ id, method, params }).pipe(
          Effect.zipRight(Effect.raceFirst(Deferred.await(answer), isOver)),
          Effect.mapError((error) => error instanceof EngineGone ? error : new RequestRefused({ method, error })),
          Effect.ensuring(Effect.sync(() => pending.delete(id)))
        )
        return yield* Schema.decodeUnknown(result)(value).pipe(
          Effect.catchTag(
            "ParseError",
            () => Effect.zipRight(cut(`its answer to ${method} has an unknown form`), isOver)
          )
        )
      }).pipe(
        permits.withPermits(1),
        Effect.timeoutTo({
          duration: deadline,
          onSuccess: Effect.succeed,
          onTimeout: () =>
            cut(`no answer to ${method} within ${Duration.format(deadline)}`).pipe(Effect.zipRight(isOver))
        }),
        Effect.flatten
      )

    return { request, notify: (method) => send({ method }), cut, over: Deferred.await(over) }
  })
