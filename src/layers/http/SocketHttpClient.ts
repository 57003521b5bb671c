// An HTTP client for one Unix socket: one request at a time, its answer bounded in bytes. Small, because a command that an
// agent runs pays for whatever it loads.
import * as HttpClient from "@effect/platform/HttpClient"
import { RequestError } from "@effect/platform/HttpClientError"
import type { HttpClientRequest } from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect } from "effect"
import { type IncomingMessage, request as open } from "node:http"

const bodyOf = ({ body }: HttpClientRequest): Uint8Array | undefined =>
  body._tag === "Uint8Array" ? body.body : undefined

const answerOf = (request: HttpClientRequest, response: IncomingMessage, body: Buffer) => {
  const headers = Object.entries(response.headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : []
  )
  const status = response.statusCode ?? 500
  return HttpClientResponse.fromWeb(
    request,
    new Response(body.length === 0 ? null : body, { status, headers: Object.fromEntries(headers) })
  )
}

export const make = (socketPath: string, maxAnswerBytes: number): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    Effect.async((resume) => {
      const failed = (cause: unknown) => resume(Effect.fail(new RequestError({ request, reason: "Transport", cause })))
      const call = open({
        socketPath,
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: { ...request.headers, host: "localhost" },
        agent: false
      }, (response) => {
        const parts: Array<Buffer> = []
        let bytes = 0
        response.on("data", (part: Buffer) => {
          bytes += part.length
          if (bytes > maxAnswerBytes) call.destroy(new RangeError("the answer is too long"))
          else parts.push(part)
        })
        response.on("error", failed)
        response.on("end", () => resume(Effect.succeed(answerOf(request, response, Buffer.concat(parts)))))
      })
      call.on("error", failed)
      call.end(bodyOf(request))
      return Effect.sync(() => call.destroy())
    })
  ).pipe(HttpClient.withTracerDisabledWhen(() => true), HttpClient.withTracerPropagation(false))
