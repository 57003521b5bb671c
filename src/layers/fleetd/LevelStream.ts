// The level stream of crossfire over server-sent events: one connection, read as it comes and within bounds. It ends in an
// error whatever happens; connecting again is the caller's.
import type * as HttpClient from "@effect/platform/HttpClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import { Duration, Effect, type Redacted, Schema, type Scope, Stream } from "effect"
import { LevelEvent, levelsHeartbeatMillis, levelsPath } from "../../domain/api/Crossfire.ts"
import { StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import type { Level } from "../../domain/Level.ts"
import {
  type CallFailed,
  CredentialRefused,
  CrossfireUnavailable,
  type LeaseStamp
} from "../../services/CrossfireClient.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { eventData } from "../http/ServerSentEvents.ts"

/** One level: thousands of open wakes and rooms stay far below it. */
const maxLevelBytes = 16 * 1024 * 1024
/** An error's body. */
const maxRefusalBytes = 64 * 1024
const connectDeadline = Duration.seconds(15)
const silence = Duration.millis(2 * levelsHeartbeatMillis)

const operation = "follow the levels"
const unavailable = (reason: string) => new CrossfireUnavailable({ operation, reason })
const ended = unavailable("the connection ended")

const decodeLevel = Schema.decode(LevelEvent)
const decodeRefusal = Schema.decodeUnknown(Schema.parseJson(StaleGeneration))

/** What an answer other than a stream means. */
const refusalOf = (response: HttpClientResponse): Effect.Effect<never, CallFailed | StaleGeneration> => {
  const { status } = response
  const unclear = unavailable(`it answered ${status} instead of a stream`)
  if (status === 401) return Effect.fail(new CredentialRefused({ operation }))
  if (status !== 409) return Effect.fail(unclear)
  return response.stream.pipe(
    Stream.mapAccum(0, (bytes, chunk) => [bytes + chunk.length, { chunk, bytes: bytes + chunk.length }]),
    Stream.takeWhile(({ bytes }) => bytes <= maxRefusalBytes),
    Stream.map(({ chunk }) => chunk),
    Stream.decodeText(),
    Stream.mkString,
    Effect.flatMap(decodeRefusal),
    Effect.mapError(() => unclear),
    Effect.flatMap((stale) => Effect.fail(stale))
  )
}

export const levelStream = (connection: {
  readonly baseUrl: string
  readonly client: HttpClient.HttpClient.With<HttpClientError, Scope.Scope>
  readonly token: Effect.Effect<Redacted.Redacted, StoreFailed>
  /** Whether that one was refused only because another takes its place. */
  readonly isReplaced: (used: Redacted.Redacted) => Effect.Effect<boolean, StoreFailed>
  readonly stamp: LeaseStamp
}): Stream.Stream<Level, CallFailed | StaleGeneration> => {
  const connect = Effect.gen(function*() {
    const token = yield* Effect.mapError(connection.token, (error) => unavailable(error.message))
    const request = HttpClientRequest.get(`${connection.baseUrl}${levelsPath}`).pipe(
      HttpClientRequest.accept("text/event-stream"),
      HttpClientRequest.bearerToken(token),
      HttpClientRequest.setHeaders({
        "x-crossfire-generation": String(connection.stamp.generation),
        "x-crossfire-incarnation": connection.stamp.incarnation
      })
    )
    const response = yield* connection.client.execute(request).pipe(
      Effect.mapError(() => unavailable("it could not be reached")),
      Effect.timeoutFail({ duration: connectDeadline, onTimeout: () => unavailable("no answer within 15 s") })
    )
    const isStream = response.status === 200 &&
      (response.headers["content-type"] ?? "").startsWith("text/event-stream")
    if (isStream) return response
    return yield* refusalOf(response).pipe(
      Effect.catchTag("CredentialRefused", (refused) =>
        connection.isReplaced(token).pipe(
          Effect.mapError((error) => unavailable(error.message)),
          Effect.flatMap((so) => Effect.fail(so ? unavailable("this fleet's credentials are being replaced") : refused))
        ))
    )
  })
  const bytesOf = (response: HttpClientResponse) =>
    response.stream.pipe(
      Stream.mapError(() => ended),
      Stream.timeoutFail(() => unavailable(`silent for ${Duration.toSeconds(silence)} s`), silence)
    )
  return Stream.unwrapScoped(
    Effect.map(connect, (response) =>
      eventData(bytesOf(response), maxLevelBytes).pipe(
        Stream.catchTag("LineTooLong", () => Stream.fail(unavailable(`a level is longer than ${maxLevelBytes} bytes`))),
        Stream.mapEffect((data) =>
          Effect.mapError(decodeLevel(data), () => unavailable("a level is not in the contract's form"))
        ),
        Stream.concat(Stream.fail(ended))
      ))
  )
}
