// A local stand-in for the provider: it serves the Responses API on loopback and answers by a script. It owns the sockets,
// the limits and the record of requests; what is answered is the script's.
import { Effect, FiberSet, Option, Random, Ref, Schema, type Scope, SubscriptionRef } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type ModelRequest, type OfferedTool, readRequest } from "./Conversation.ts"
import { codexModel, scriptedModelId } from "./ModelCatalog.ts"
import { type Frame, framesOf } from "./ResponseFrames.ts"
import type { Script, Step } from "./Script.ts"

const maxBodyBytes = 64 * 1024 * 1024
/** Bodies that are held in memory at the same time; the next one waits. */
const maxBodiesAtOnce = 8
const defaultMaxOpenResponses = 256
const maxRecordedRequests = 1000
const maxRecordedStepCharacters = 16_384
const maxRecordedTools = 200
const bodyTimeoutMs = 30_000

export interface ScriptedModelConfig {
  readonly script: Script
  /** On loopback; a free one where it is left out. A kept port lets engines of an earlier start find it again. */
  readonly port?: number
  /** Open responses, hanging ones included; one more is answered 503, as an overloaded provider does. */
  readonly maxOpenResponses?: number
}

export interface RecordedRequest {
  readonly model: string
  readonly effort: string | null
  readonly itemCount: number
  /** One too long to be kept is replaced by a text that says so. */
  readonly step: Step
  readonly offered: ReadonlyArray<OfferedTool>
}

export interface ScriptedModel {
  /** What the engines take as the provider's base URL. */
  readonly baseUrl: string
  readonly port: number
  /** The newest requests that a script answered, oldest first; each is there before its answer starts. */
  readonly requests: SubscriptionRef.SubscriptionRef<ReadonlyArray<RecordedRequest>>
}

export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", { reason: Schema.String }) {
  override get message(): string {
    return `the scripted model cannot listen on loopback: ${this.reason}`
  }
}

class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()("BodyTooLarge", {}) {}
class ClientGone extends Schema.TaggedError<ClientGone>()("ClientGone", {}) {}

const listen = (port: number): Effect.Effect<Server, ListenFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<Server, ListenFailed>((resume) => {
      const server = createServer({ requestTimeout: bodyTimeoutMs })
      server.once("error", (cause) => resume(Effect.fail(new ListenFailed({ reason: cause.message }))))
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

const encodeJson = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const record = ({ effort, itemCount, model, offered }: ModelRequest, step: Step): RecordedRequest => ({
  model,
  effort,
  itemCount,
  step: encodeJson(step).length <= maxRecordedStepCharacters ? step : { text: "(a step too long to be recorded)" },
  offered: offered.slice(0, maxRecordedTools)
})

// By listeners, since the end of the async iterator waits for the next chunk and could not be interrupted.
const readBody = (request: IncomingMessage): Effect.Effect<string, BodyTooLarge | ClientGone> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    const done = (result: Effect.Effect<string, BodyTooLarge | ClientGone>) => {
      request.off("data", onData).off("end", onEnd).off("close", onClose)
      // What is left of a body too large flows off unread, or its sender would never look at the answer.
      request.resume()
      resume(result)
    }
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBodyBytes) done(Effect.fail(new BodyTooLarge()))
      else chunks.push(chunk)
    }
    const onEnd = () => done(Effect.sync(() => Buffer.concat(chunks).toString("utf8")))
    const onClose = () => done(Effect.fail(new ClientGone()))
    request.on("data", onData).on("end", onEnd).on("close", onClose)
  })

const write = (response: ServerResponse, text: string): Effect.Effect<void, ClientGone> =>
  Effect.async((resume) => {
    response.write(text, (error) => resume(error == null ? Effect.void : Effect.fail(new ClientGone())))
  })

const sendJson = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  Effect.sync(() => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(encodeJson(body))
  })

const sendError = (response: ServerResponse, status: number, code: string, message: string, headers = {}) =>
  sendJson(response, status, { error: { type: code, code, message } }, headers)

const models = { object: "list", data: [{ id: scriptedModelId, object: "model" }], models: [codexModel] }

const play = (response: ServerResponse, frame: Frame): Effect.Effect<void, ClientGone> => {
  switch (frame._tag) {
    case "Event":
      return write(response, frame.text)
    case "Pause":
      return Effect.sleep(frame.ms)
    case "Drop":
      return Effect.zipRight(Effect.sync(() => response.destroy()), Effect.fail(new ClientGone()))
    case "Hang":
      return Effect.never
  }
}

export const serve = (config: ScriptedModelConfig): Effect.Effect<ScriptedModel, ListenFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const requests = yield* SubscriptionRef.make<ReadonlyArray<RecordedRequest>>([])
    const bodies = yield* Effect.makeSemaphore(maxBodiesAtOnce)
    const open = yield* Effect.makeSemaphore(config.maxOpenResponses ?? defaultMaxOpenResponses)
    const count = yield* Ref.make(0)
    // A conversation outlives this server; its calls must not meet equal names after a restart.
    const life = (yield* Random.nextIntBetween(0, 2 ** 32)).toString(36)
    const server = yield* listen(config.port ?? 0)
    const running = yield* FiberSet.make<void>()
    const fork = yield* FiberSet.runtime(running)<never>()

    const answer = (response: ServerResponse, request: ModelRequest, step: Step, requestBytes: number) =>
      Effect.gen(function*() {
        if (step.status !== undefined) {
          yield* Effect.sleep(step.delay ?? 0)
          const message = step.message ?? `scripted status ${step.status}`
          return yield* sendError(response, step.status, step.code ?? "scripted", message, step.headers)
        }
        const responseId = `${life}_${yield* Ref.updateAndGet(count, (n) => n + 1)}`
        response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...step.headers })
        for (const frame of framesOf(step, { responseId, requestBytes, offered: request.offered })) {
          yield* play(response, frame)
        }
        response.end()
      })

    const respond = (incoming: IncomingMessage, response: ServerResponse) =>
      Effect.gen(function*() {
        const { bytes, request } = yield* bodies.withPermits(1)(
          Effect.flatMap(readBody(incoming), (body) =>
            Effect.map(readRequest(body), (request) => ({ request, bytes: Buffer.byteLength(body) })))
        )
        const step = config.script(request.conversation, request.offered)
        yield* SubscriptionRef.update(
          requests,
          (before) =>
            [...before, record(request, step)].slice(-maxRecordedRequests)
        )
        yield* answer(response, request, step, bytes)
      }).pipe(
        open.withPermitsIfAvailable(1),
        Effect.flatMap(Option.match({
          onSome: () => Effect.void,
          onNone: () => sendError(response, 503, "server_is_overloaded", "too many open responses")
        })),
        Effect.catchTags({
          BodyTooLarge: () => sendError(response, 413, "request_too_large", `more than ${maxBodyBytes} bytes`),
          RequestUnreadable: (error) => sendError(response, 400, "invalid_request", error.message),
          ClientGone: () => Effect.void
        }),
        // Whatever else ends this fiber, no response stays open without one.
        Effect.ensuring(Effect.sync(() => {
          if (!response.writableEnded) response.destroy()
        }))
      )

    const route = (incoming: IncomingMessage, response: ServerResponse): Effect.Effect<void> => {
      const path = (incoming.url ?? "").split("?", 1)[0] ?? ""
      if (incoming.method === "POST" && path === "/v1/responses") return respond(incoming, response)
      if (incoming.method === "GET" && path === "/v1/models") return sendJson(response, 200, models)
      return sendError(response, 404, "not_found", "this server has GET /v1/models and POST /v1/responses")
    }

    server.on("request", (incoming, response) => {
      const fiber = fork(route(incoming, response))
      response.once("close", () => fiber.unsafeInterruptAsFork(fiber.id()))
    })

    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { baseUrl: `http://127.0.0.1:${port}/v1`, port, requests }
  })
