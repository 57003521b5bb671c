// Reads one page of a room's timeline as a byte-bounded stream and decodes it whole or not at all. It keeps no position.
import { Effect, Either, Schema } from "effect"
import { StreamToken } from "../../domain/Ids.ts"
import { MatrixEvent } from "../../domain/MatrixEvent.ts"
import {
  HomeserverUnavailable,
  type MatrixError,
  type Page,
  PageFailed,
  type PageRequest
} from "../../services/Matrix.ts"
import * as FirstEventId from "./FirstEventId.ts"
import { failureOf, type HomeserverHttp, textOf } from "./HomeserverHttp.ts"
import type { Masquerade } from "./Masquerade.ts"

const RawPage = Schema.parseJson(Schema.Struct({
  chunk: Schema.Array(Schema.Unknown),
  end: Schema.optionalWith(StreamToken, { nullable: true })
}))
const decodePage = Schema.decodeUnknownEither(RawPage)
const decodeEvent = Schema.decodeUnknownEither(MatrixEvent)
const decodeId = Schema.decodeUnknownEither(Schema.Struct({ event_id: Schema.String }))

/** An unreadable event's ID for the error, where it has one; cut and on one line, since its shape is not trusted. */
const idOf = (raw: unknown): string | null =>
  Either.match(decodeId(raw), {
    onLeft: () => null,
    onRight: ({ event_id }) => event_id.slice(0, 255).replace(/[^!-~]/gu, "?")
  })

const isJson = (contentType: string | undefined): boolean => contentType?.startsWith("application/json") ?? false

/**
 * The bytes of an answer as a page. An event whose required fields cannot be read fails the page, and the error names it:
 * leaving it out would let whoever can make one hide it, and advance past what was never shown.
 */
export const decode = (request: PageRequest, bytes: Uint8Array): Either.Either<Page, PageFailed> => {
  const failed = (reason: PageFailed["reason"], eventId: string | null) =>
    Either.left(new PageFailed({ roomId: request.roomId, reason, limit: request.limit, eventId }))
  const raw = decodePage(textOf(bytes))
  if (Either.isLeft(raw)) return failed("malformed", null)
  const events: Array<MatrixEvent> = []
  for (const each of raw.right.chunk) {
    const event = decodeEvent(each)
    if (Either.isLeft(event)) return failed("malformed", idOf(each))
    if (event.right.room_id !== undefined && event.right.room_id !== request.roomId) {
      return failed("malformed", event.right.event_id)
    }
    events.push(event.right)
  }
  const end = raw.right.end ?? null
  return end === request.from ? failed("not-advancing", null) : Either.right({ events, end })
}

export const read = (
  http: HomeserverHttp,
  masquerade: Masquerade,
  request: PageRequest
): Effect.Effect<Page, MatrixError | PageFailed> => {
  const operation = "read a page"
  const query = {
    dir: request.direction === "forward" ? "f" : "b",
    from: request.from,
    limit: String(request.limit),
    ...request.to === null ? {} : { to: request.to }
  }
  const path = ["_matrix", "client", "v3", "rooms", request.roomId, "messages"]
  // Among several events nobody can say which one is too large.
  let eventId: string | null = null
  const named = request.limit === 1
    ? (head: Uint8Array) => {
      eventId = FirstEventId.find(head)
    }
    : undefined
  return masquerade.get(operation, request.as, path, query, (exchange) =>
    Effect.gen(function*() {
      const answer = yield* http.exchangeWithin(request.maxBytes, exchange, named)
      const failure = failureOf(operation, answer)
      if (failure !== null) return yield* failure
      // A proxy's page in HTML is no word of the homeserver about this room.
      if (!isJson(answer.headers["content-type"])) {
        return yield* new HomeserverUnavailable({ operation, status: answer.status })
      }
      return yield* decode(request, answer.body)
    })).pipe(
      Effect.catchTag("AnswerTooLarge", () =>
        Effect.fail(
          new PageFailed({ roomId: request.roomId, reason: "too-large", limit: request.limit, eventId })
        ))
    )
}
