// An HTTP client whose sockets hang from a scope and whose answers are bounded in bytes. It follows no redirect, retries
// nothing and puts no header of its own on a request.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Agent } from "@effect/platform-node/Undici"
import * as HttpClient from "@effect/platform/HttpClient"
import { type HttpClientError, ResponseError } from "@effect/platform/HttpClientError"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect, type Scope, Stream } from "effect"

/** Sockets to one server; more requests than these wait for one, within their own deadline. */
const maxConnections = 64

export interface BoundedHttpClient {
  /** The whole answer is read before it is handed out; a longer one than the bound is no usable answer. */
  readonly whole: HttpClient.HttpClient
  /** The body is a stream that ends with the request's scope. */
  readonly streaming: HttpClient.HttpClient.With<HttpClientError, Scope.Scope>
}

const quiet = <E, R>(client: HttpClient.HttpClient.With<E, R>) =>
  client.pipe(HttpClient.withTracerDisabledWhen(() => true), HttpClient.withTracerPropagation(false))

const collected = (maxBytes: number) => (response: HttpClientResponse.HttpClientResponse) =>
  Effect.gen(function*() {
    const { request, status } = response
    const refused = (description: string) => new ResponseError({ request, response, reason: "Decode", description })
    const tooLong = refused(`the answer is longer than ${maxBytes} bytes`)
    if (status < 200 || status > 599) return yield* refused("the status is none of HTTP")
    if (Number(response.headers["content-length"] ?? 0) > maxBytes) return yield* tooLong
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    yield* Stream.runForEach(response.stream, (chunk) => {
      bytes += chunk.length
      chunks.push(chunk)
      return bytes > maxBytes ? Effect.fail(tooLong) : Effect.void
    })
    const body = bytes === 0 ? null : Buffer.concat(chunks, bytes)
    const bodiless = status === 204 || status === 205 || status === 304
    return HttpClientResponse.fromWeb(
      request,
      new Response(bodiless ? null : body, { status, headers: { ...response.headers } })
    )
  })

export const make = (maxAnswerBytes: number): Effect.Effect<BoundedHttpClient, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Agent({ connections: maxConnections })),
      (agent) => Effect.promise(() => agent.destroy())
    ),
    (agent) => {
      const streaming = quiet(HttpClient.withScope(NodeHttpClient.makeUndici(agent)))
      const read = collected(maxAnswerBytes)
      const whole = quiet(
        HttpClient.make((request) => Effect.scoped(Effect.flatMap(streaming.execute(request), read)))
      )
      return { whole, streaming }
    }
  )
