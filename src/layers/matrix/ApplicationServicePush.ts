// The endpoint to which the homeserver pushes: who calls is checked before the body is read, what came is handed to one
// handler, and the answer is 200 once the handler took it, whatever the content. It decides nothing about an event.
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect, Either, Option, Redacted, Schema, Stream } from "effect"
import type { RoomId } from "../../domain/Ids.ts"
import { MatrixEvent } from "../../domain/MatrixEvent.ts"
import { isSame } from "../crypto/Secret.ts"

/** An event with the room that it is in. */
export type PushedEvent = MatrixEvent & { readonly room_id: RoomId }

export interface PushConfig<E, R> {
  /** The homeserver's token for calls to crossfire. */
  readonly hsToken: Redacted.Redacted
  /** Takes the events of one transaction durably. Its failure makes the homeserver send them again. */
  readonly onEvents: (events: ReadonlyArray<PushedEvent>) => Effect.Effect<void, E, R>
}

/** A transaction holds up to 100 events of 64 KiB; 5.4 MB is the largest seen. */
const maxBodyBytes = 32 * 1024 * 1024
/** The homeserver gives up after 60 s, and everything behind waits meanwhile. */
const bodyDeadlineSeconds = 20
const handlerDeadlineSeconds = 30

const Transaction = Schema.parseJson(Schema.Struct({ events: Schema.Array(Schema.Unknown) }))
const readTransaction = Schema.decodeUnknownOption(Transaction)
const readEvent = Schema.decodeUnknownEither(MatrixEvent)
/** Whether the event says in which room it is. */
export const isPushed = (event: MatrixEvent): event is PushedEvent => event.room_id !== undefined

const refusal = (status: number, errcode: string) =>
  HttpServerResponse.unsafeJson({ errcode, error: errcode }, { status })
const done = HttpServerResponse.unsafeJson({})

/** Only the header counts: a token in an address ends up in logs. */
const isHomeserver = (hsToken: Redacted.Redacted) => {
  const wanted = `Bearer ${Redacted.value(hsToken)}`
  return (request: HttpServerRequest.HttpServerRequest) => isSame(request.headers["authorization"] ?? "", wanted)
}

/**
 * The whole body, or none where it is longer than the limit. It is read to its end all the same: an answer before that
 * would be lost with the connection, and the same transaction would come for ever.
 */
const bodyOf = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.gen(function*() {
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    yield* Stream.runForEach(request.stream, (chunk) =>
      Effect.sync(() => {
        bytes += chunk.length
        if (bytes > maxBodyBytes) chunks.length = 0
        else chunks.push(chunk)
      }))
    return bytes > maxBodyBytes ? Option.none() : Option.some(Buffer.concat(chunks).toString("utf8"))
  })

/** The events that can be read; how many others there were stands in the log, the rooms' timelines have them all. */
const eventsOf = (body: string) =>
  Effect.gen(function*() {
    const transaction = readTransaction(body)
    if (Option.isNone(transaction)) {
      yield* Effect.logWarning("a pushed transaction could not be read and is left to the sweep")
      return []
    }
    const events = transaction.value.events.flatMap((raw) =>
      Either.match(readEvent(raw), { onLeft: () => [], onRight: (event) => isPushed(event) ? [event] : [] })
    )
    const skipped = transaction.value.events.length - events.length
    if (skipped > 0) {
      yield* Effect.logWarning("pushed events could not be read and are left to the sweep").pipe(
        Effect.annotateLogs({ skipped })
      )
    }
    return events
  })

/** The routes under `/_matrix/app/`, to be mounted by the program that listens. */
export const router = <E, R>(config: PushConfig<E, R>): HttpRouter.HttpRouter<never, R> => {
  const authentic = isHomeserver(config.hsToken)

  const guarded = <E2, R2>(answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E2, R2>) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) => authentic(request) ? answer : Effect.succeed(refusal(403, "M_FORBIDDEN"))
    )

  const transaction = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const body = yield* bodyOf(request).pipe(Effect.timeoutOption(`${bodyDeadlineSeconds} seconds`), Effect.option)
    // Cut off or too slow: nothing was taken, the homeserver sends it again.
    if (Option.isNone(body) || Option.isNone(body.value)) return refusal(503, "M_UNKNOWN")
    const text = Option.getOrElse(body.value.value, () => "")
    const events = yield* eventsOf(text)
    if (events.length === 0) return done
    return yield* config.onEvents(events).pipe(
      Effect.timeoutFail({ duration: `${handlerDeadlineSeconds} seconds`, onTimeout: () => "slow" as const }),
      Effect.as(done),
      Effect.catchAllCause((cause) =>
        Effect.as(
          Effect.logError("pushed events could not be stored; the homeserver sends them again", cause),
          refusal(503, "M_UNKNOWN")
        )
      )
    )
  })

  const unknown = Effect.succeed(refusal(404, "M_NOT_FOUND"))
  return HttpRouter.empty.pipe(
    HttpRouter.put("/_matrix/app/v1/transactions/:txn", guarded(transaction)),
    HttpRouter.post("/_matrix/app/v1/ping", guarded(Effect.succeed(done))),
    HttpRouter.get("/_matrix/app/v1/users/:user", guarded(unknown)),
    HttpRouter.get("/_matrix/app/v1/rooms/:alias", guarded(unknown))
  )
}
