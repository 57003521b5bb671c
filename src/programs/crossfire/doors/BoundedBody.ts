// The request with a body that cannot grow over its bound: told by its declared length before anything is read, and counted
// while it is read. Nothing is read here before the handler asks, so an unknown caller's body never is.
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Option, Schema, Stream } from "effect"
import { BodyTooLarge } from "../../../domain/api/AccessErrors.ts"

const length = /^\d{1,15}$/u

/** Of a length that was declared; one that was not is seen while reading. */
export const declaredTooLarge = (
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number
): Option.Option<BodyTooLarge> => {
  const declared = request.headers["content-length"]
  if (declared === undefined) return Option.none()
  return length.test(declared) && Number(declared) <= maxBytes
    ? Option.none()
    : Option.some(new BodyTooLarge({ maxBytes }))
}

export const hasBody = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0

/** Beyond this many times the bound the rest is not waited for, and the connection is cut. */
const maxOverrun = 4

const parse = Schema.decode(Schema.parseJson(Schema.Unknown))
const notJson = new HttpApiDecodeError({ issues: [], message: "The request's body is not JSON" })

/**
 * The text and JSON of this request within the bound. What is too large is read on for a while without being kept: an answer
 * before the body's end would be lost with the connection.
 */
export const bounded = (request: HttpServerRequest.HttpServerRequest, maxBytes: number) => {
  const text = Effect.gen(function*() {
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    yield* request.stream.pipe(
      Stream.takeWhile(() => bytes <= maxBytes * maxOverrun),
      Stream.runForEach((chunk) =>
        Effect.sync(() => {
          bytes += chunk.length
          if (bytes > maxBytes) chunks.length = 0
          else chunks.push(chunk)
        })
      )
    )
    // The contract's error in the contract's words, whichever endpoint was reading.
    if (bytes > maxBytes) return yield* Effect.die(new BodyTooLarge({ maxBytes }))
    return Buffer.concat(chunks).toString("utf8")
  })
  const json = Effect.flatMap(
    text,
    (read) => read === "" ? Effect.succeed(null) : Effect.catchAll(parse(read), () => Effect.die(notJson))
  )
  return new Proxy(request, {
    get: (target, key) => {
      if (key === "text") return text
      if (key === "json") return json
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
}
