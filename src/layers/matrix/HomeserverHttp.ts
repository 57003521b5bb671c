// One HTTP exchange with a homeserver: a deadline over the whole of it, an answer bounded in bytes, and what its status
// means. Every request to a homeserver goes through here, those of the Matrix SDK included. It retries nothing.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Agent } from "@effect/platform-node/Undici"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Duration, Effect, Option, Schema, type Scope, Stream } from "effect"
import { HomeserverBusy, HomeserverUnavailable, type MatrixError, MatrixRefused } from "../../services/Matrix.ts"

/** How long an exchange may take, its answer's last byte included. */
export const readDeadlineSeconds = 60
export const writeDeadlineSeconds = 30

/** The bound for answers that are small by nature: sends, joins, state, members. */
const smallAnswerBytes = 16 * 1024 * 1024

/** Sockets to one homeserver; more requests than these wait for one, within their own deadline. */
const maxConnections = 64
/** What is shown of the beginning of an answer that is cut off, and how long it is waited for where nothing else is. */
const maxHeadBytes = 128 * 1024
const headDeadlineSeconds = 2
/** A 429 that names no time, and the longest that is believed. */
const defaultRetryMillis = 5_000
const maxRetryMillis = 300_000

export interface Exchange {
  /** What is done, for errors; holds no identifier of anyone. */
  readonly operation: string
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly deadlineSeconds: number
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** The answer is longer than asked for. It was cut off, nothing of it is kept. */
export class AnswerTooLarge extends Schema.TaggedError<AnswerTooLarge>()("AnswerTooLarge", {
  operation: Schema.String,
  limitBytes: Schema.Int
}) {
  override get message(): string {
    return `The answer to "${this.operation}" is longer than ${this.limitBytes} bytes`
  }
}

export interface HomeserverHttp {
  /** For answers that are small by nature: one over 16 MiB is no usable answer. */
  readonly exchange: (exchange: Exchange) => Effect.Effect<Answer, HomeserverUnavailable>
  /** `cut` is shown the beginning of an answer that is over the bound, where any of it was read. */
  readonly exchangeWithin: (
    maxBytes: number,
    exchange: Exchange,
    cut?: (head: Uint8Array) => void
  ) => Effect.Effect<Answer, HomeserverUnavailable | AnswerTooLarge>
}

/** Text over the same memory: `Buffer.from` of bytes would copy them first. */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")

interface Body {
  readonly add: (chunk: Uint8Array) => void
  /** The beginning. The body is not used any more. */
  readonly head: () => Uint8Array
  readonly whole: () => Uint8Array
}

/** Into memory of the announced length, so that nothing is held twice. */
const announcedBody = (length: number): Body => {
  const body = Buffer.allocUnsafe(length)
  let filled = 0
  return {
    add: (chunk) => {
      body.set(chunk.subarray(0, length - filled), filled)
      filled = Math.min(length, filled + chunk.length)
    },
    head: () => body.subarray(0, Math.min(filled, maxHeadBytes)),
    whole: () => body.subarray(0, filled)
  }
}

const chunkedBody = (): Body => {
  const chunks: Array<Uint8Array> = []
  return {
    add: (chunk) => void chunks.push(chunk),
    head: () => Buffer.concat(chunks, Math.min(maxHeadBytes, chunks.reduce((sum, chunk) => sum + chunk.length, 0))),
    whole: () => Buffer.concat(chunks.splice(0))
  }
}

const announcedBytes = (header: string | undefined): number | null => {
  const length = header === undefined ? null : Number(header)
  return length !== null && Number.isSafeInteger(length) && length >= 0 ? length : null
}

/** Whether the stream ended within the bound; else the rest is not read, and `cut` is shown the beginning. */
const take = <E>(
  stream: Stream.Stream<Uint8Array, E>,
  body: Body,
  maxBytes: number,
  cut: (head: Uint8Array) => void
): Effect.Effect<boolean, E> =>
  Effect.suspend(() => {
    let bytes = 0
    return Stream.runForEachWhile(stream, (chunk) =>
      Effect.sync(() => {
        bytes += chunk.length
        body.add(chunk)
        return bytes <= maxBytes
      })).pipe(Effect.map(() => {
        if (bytes <= maxBytes) return true
        cut(body.head())
        return false
      }))
  })

/** Its sockets close with the scope. */
export const make: Effect.Effect<HomeserverHttp, never, Scope.Scope> = Effect.gen(function*() {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ connections: maxConnections })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  // Closing an exchange's scope aborts it, so that what is cut off is no longer read either.
  const client = HttpClient.withScope(NodeHttpClient.makeUndici(agent)).pipe(
    HttpClient.withTracerDisabledWhen(() => true),
    HttpClient.withTracerPropagation(false)
  )

  const exchangeWithin: HomeserverHttp["exchangeWithin"] = (maxBytes, asked, cut) => {
    const { operation } = asked
    const tooLarge = new AnswerTooLarge({ operation, limitBytes: maxBytes })
    const unavailable = new HomeserverUnavailable({ operation, status: null })
    const bare = HttpClientRequest.make(asked.method)(asked.url, { headers: asked.headers ?? {} })
    const request = asked.body === undefined
      ? bare
      : HttpClientRequest.bodyUint8Array(bare, asked.body, asked.headers?.["content-type"])
    return Effect.gen(function*() {
      const response = yield* client.execute(request)
      const announced = announcedBytes(response.headers["content-length"])
      if (announced !== null && announced > maxBytes) {
        if (cut !== undefined) {
          yield* take(response.stream, chunkedBody(), Math.min(maxHeadBytes, maxBytes), cut).pipe(
            Effect.timeout(Duration.seconds(headDeadlineSeconds)),
            Effect.ignore
          )
        }
        return yield* tooLarge
      }
      const body = announced === null ? chunkedBody() : announcedBody(announced)
      if (!(yield* take(response.stream, body, maxBytes, cut ?? (() => {})))) return yield* tooLarge
      return { status: response.status, headers: response.headers, body: body.whole() }
    }).pipe(
      Effect.scoped,
      Effect.catchTags({
        RequestError: () => Effect.fail(unavailable),
        ResponseError: () => Effect.fail(unavailable)
      }),
      Effect.timeoutFail({ duration: `${asked.deadlineSeconds} seconds`, onTimeout: () => unavailable })
    )
  }
  const exchange: HomeserverHttp["exchange"] = (asked) =>
    Effect.catchTag(
      exchangeWithin(smallAnswerBytes, asked),
      "AnswerTooLarge",
      ({ operation }) => Effect.fail(new HomeserverUnavailable({ operation, status: null }))
    )
  return { exchange, exchangeWithin }
})

/** A homeserver's own words for a refusal. */
const Refusal = Schema.parseJson(
  Schema.Struct({ errcode: Schema.String, retry_after_ms: Schema.optional(Schema.Unknown) })
)
const readRefusal = Schema.decodeUnknownOption(Refusal)

/** An error code as Matrix writes it; anything else is not taken into an error field. */
const errorCode = (text: string): string => /^[A-Z0-9_.]{1,100}$/u.test(text) ? text : "M_UNKNOWN"

const retryAfterMillis = (told: unknown, header: string | undefined): number => {
  const seconds = header !== undefined && /^\d{1,9}$/u.test(header) ? Number(header) * 1000 : defaultRetryMillis
  const millis = typeof told === "number" && Number.isFinite(told) && told >= 0 ? Math.ceil(told) : seconds
  return Math.min(millis, maxRetryMillis)
}

/** What a status other than success means, or null for success. A 4xx without Matrix's own words came from a proxy. */
export const failureOf = (operation: string, answer: Answer): MatrixError | null => {
  const { status } = answer
  if (status >= 200 && status < 300) return null
  const refusal = Option.getOrNull(readRefusal(textOf(answer.body)))
  if (status === 429) {
    const millis = retryAfterMillis(refusal?.retry_after_ms, answer.headers["retry-after"])
    return new HomeserverBusy({ operation, retryAfterMillis: millis })
  }
  if (status === 413) return new MatrixRefused({ operation, status, errcode: "M_TOO_LARGE" })
  if (status >= 400 && status < 500 && refusal !== null) {
    return new MatrixRefused({ operation, status, errcode: errorCode(refusal.errcode) })
  }
  return new HomeserverUnavailable({ operation, status })
}

/** The body of a successful answer; one that is not the expected JSON is no usable answer. */
export const decodeAnswer = <A, I>(operation: string, schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(Schema.parseJson(schema))
  return (answer: Answer): Effect.Effect<A, MatrixError> => {
    const failure = failureOf(operation, answer)
    if (failure !== null) return Effect.fail(failure)
    return decode(textOf(answer.body)).pipe(
      Effect.mapError(() => new HomeserverUnavailable({ operation, status: answer.status }))
    )
  }
}

const versionsDeadlineSeconds = 5

/** Whether a homeserver answers there now. */
export const answers = (http: HomeserverHttp, baseUrl: string): Effect.Effect<boolean> =>
  http.exchange({
    operation: "ask for versions",
    method: "GET",
    url: new URL(`${baseUrl}/_matrix/client/versions`),
    deadlineSeconds: versionsDeadlineSeconds
  }).pipe(Effect.map(({ status }) => status === 200), Effect.orElseSucceed(() => false))
