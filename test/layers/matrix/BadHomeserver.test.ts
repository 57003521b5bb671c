// A homeserver, or what stands before it, that answers wrongly: each wrong answer has its own typed error, and none of them
// costs memory or waits for ever.
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, TestClock } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { EventId, RoomId, StreamToken, UserId } from "../../../src/domain/Ids.ts"
import * as SynapseMatrix from "../../../src/layers/matrix/SynapseMatrix.ts"
import {
  HomeserverBusy,
  HomeserverUnavailable,
  MatrixRefused,
  PageFailed,
  type PageRequest
} from "../../../src/services/Matrix.ts"

const agent = UserId.make("@cf-agent:cf.test")
const roomId = RoomId.make("!room")
const asked: PageRequest = {
  as: agent,
  roomId,
  from: StreamToken.make("s1"),
  to: StreamToken.make("s9"),
  direction: "forward",
  limit: 10,
  maxBytes: 1_000_000
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A server with this one answer, and the port to the homeserver over it. */
const against = (handler: Handler) =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const server = createServer(handler)
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return yield* SynapseMatrix.make({
      baseUrl: `http://127.0.0.1:${port}`,
      serverName: "cf.test",
      asToken: Redacted.make("secret-token"),
      serviceId: "crossfire"
    })
  })

const answer = (status: number, body: string, headers: Record<string, string> = {}): Handler => (_request, response) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)

const html = (status: number) => answer(status, "<html>a proxy</html>", { "content-type": "text/html" })

const readFails = (handler: Handler) => Effect.flatMap(against(handler), (matrix) => Effect.flip(matrix.page(asked)))
const joinFails = (handler: Handler) =>
  Effect.flatMap(against(handler), (matrix) => Effect.flip(matrix.join(agent, roomId)))

const busy = (operation: string, retryAfterMillis: number) => new HomeserverBusy({ operation, retryAfterMillis })

it.scopedLive("429 waits as long as it says, five seconds where it says nothing, five minutes at most", () =>
  Effect.gen(function*() {
    const cases: ReadonlyArray<readonly [body: string, headers: Record<string, string>, millis: number]> = [
      [`{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":4330}`, {}, 4330],
      [`{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":4330.2}`, { "retry-after": "9" }, 4331],
      [`{"errcode":"M_LIMIT_EXCEEDED"}`, {}, 5000],
      [`{"errcode":"M_LIMIT_EXCEEDED"}`, { "retry-after": "7" }, 7000],
      [`{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":"soon"}`, {}, 5000],
      [`{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1e300}`, {}, 300_000],
      ["<html>slow down</html>", {}, 5000]
    ]
    for (const [body, headers, millis] of cases) {
      expect(yield* readFails(answer(429, body, headers))).toStrictEqual(busy("read a page", millis))
      expect(yield* joinFails(answer(429, body, headers))).toStrictEqual(busy("join", millis))
    }
  }))

it.scopedLive("5xx, a proxy's HTML and other non-answers are an unavailable homeserver, 4xx with an error code a refusal", () =>
  Effect.gen(function*() {
    const unavailable = (operation: string, status: number) => new HomeserverUnavailable({ operation, status })
    const wrong: ReadonlyArray<readonly [Handler, number]> = [
      [html(502), 502],
      [answer(500, `{"errcode":"M_UNKNOWN","error":"Internal"}`), 500],
      [html(404), 404],
      [html(200), 200],
      [answer(302, "", { location: "http://127.0.0.1:1/" }), 302]
    ]
    for (const [handler, status] of wrong) {
      expect(yield* readFails(handler)).toStrictEqual(unavailable("read a page", status))
      expect(yield* joinFails(handler)).toStrictEqual(unavailable("join", status))
    }
    const refused = answer(403, `{"errcode":"M_FORBIDDEN","error":"@alice said secret things"}`)
    const forbidden = { status: 403, errcode: "M_FORBIDDEN" }
    expect(yield* readFails(refused)).toStrictEqual(new MatrixRefused({ operation: "read a page", ...forbidden }))
    expect(yield* joinFails(refused)).toStrictEqual(new MatrixRefused({ operation: "join", ...forbidden }))
    const strange = answer(400, `{"errcode":"you, or someone you know"}`)
    expect(yield* joinFails(strange)).toMatchObject({ errcode: "M_UNKNOWN" })
    expect(yield* joinFails(html(413))).toMatchObject({ _tag: "MatrixRefused", errcode: "M_TOO_LARGE" })
  }))

it.scopedLive("no connection, and a connection cut inside the answer, are an unavailable homeserver", () =>
  Effect.gen(function*() {
    const cut: Handler = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
      response.write(`{"chunk":[`, () => response.destroy())
    }
    expect(yield* readFails(cut)).toStrictEqual(new HomeserverUnavailable({ operation: "read a page", status: null }))
    expect(yield* joinFails(cut)).toStrictEqual(new HomeserverUnavailable({ operation: "join", status: null }))
    const nobody = yield* SynapseMatrix.make({
      baseUrl: "http://127.0.0.1:1",
      serverName: "cf.test",
      asToken: Redacted.make("secret-token"),
      serviceId: "crossfire"
    })
    expect(yield* Effect.flip(nobody.boundary)).toMatchObject({ _tag: "HomeserverUnavailable", status: null })
  }))

it.scopedLive("[M-06] malformed and non-advancing pages fail, and an unreadable event is named", () =>
  Effect.gen(function*() {
    const failed = (reason: PageFailed["reason"], eventId: string | null = null) =>
      new PageFailed({ roomId, reason, limit: 10, eventId })
    const event = `"type":"m.room.message","sender":"@alice:cf.test","content":{"body":"hi"}`
    const cases: ReadonlyArray<readonly [body: string, error: PageFailed]> = [
      [`{"chunk":[`, failed("malformed")],
      [`{}`, failed("malformed")],
      [`{"chunk":{}}`, failed("malformed")],
      [`{"chunk":[],"end":7}`, failed("malformed")],
      [`{"chunk":[{"event_id":"$ok",${event}},{"event_id":"$bad","type":7}]}`, failed("malformed", "$bad")],
      [`{"chunk":[{"event_id":"$bad",${event.replace("@alice:cf.test", "alice")}}]}`, failed("malformed", "$bad")],
      [`{"chunk":[7]}`, failed("malformed")],
      [`{"chunk":[{"event_id":"$other","room_id":"!elsewhere",${event}}]}`, failed("malformed", "$other")],
      [`{"chunk":[{"event_id":"$ok",${event}}],"end":"s1"}`, failed("not-advancing")]
    ]
    for (const [body, error] of cases) expect(yield* readFails(answer(200, body))).toStrictEqual(error)
    const matrix = yield* against(answer(200, `{"chunk":[{"event_id":"$ok",${event}}],"end":"t5-7"}`))
    const page = yield* matrix.page(asked)
    expect(page.events.map(({ event_id }) => event_id)).toStrictEqual(["$ok"])
    expect(page.end).toBe("t5-7")
  }))

it.scopedLive("[M-06] an endless answer is cut at the bound, the connection with it, and memory stays flat", () =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<number>()
    let sent = 0
    const endless: Handler = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      const chunk = Buffer.alloc(1024 * 1024, 0x20)
      const more = () => {
        sent += chunk.length
        if (!response.destroyed) response.write(chunk, more)
      }
      response.on("close", () => Deferred.unsafeDone(closed, Effect.succeed(sent)))
      more()
    }
    const matrix = yield* against(endless)
    const before = process.memoryUsage.rss()
    const failed = yield* Effect.flip(matrix.page({ ...asked, maxBytes: 20 * 1024 * 1024 }))
    expect(failed).toStrictEqual(new PageFailed({ roomId, reason: "too-large", limit: 10, eventId: null }))
    expect(yield* Deferred.await(closed)).toBeLessThan(60 * 1024 * 1024)
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 * 1024)
    expect(yield* Effect.flip(matrix.join(agent, roomId))).toStrictEqual(
      new HomeserverUnavailable({ operation: "join", status: null })
    )
  }))

it.scopedLive("an answer announced as too large is not read at all", () =>
  Effect.gen(function*() {
    const announced: Handler = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": String(2_000_000) })
      response.write("{")
    }
    expect(yield* readFails(announced)).toMatchObject({ _tag: "PageFailed", reason: "too-large" })
  }))

it.scoped("a read is given up after 60 s and a write after 30 s, silent at the start or inside the body", () =>
  Effect.gen(function*() {
    const silent: Handler = () => {}
    const halting: Handler = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.write(`{"room_id":`)
    }
    for (const behaviour of [silent, halting]) {
      const arrived = yield* Deferred.make<void>()
      const matrix = yield* against((request, response) => {
        behaviour(request, response)
        Deferred.unsafeDone(arrived, Effect.void)
      })
      for (
        const [seconds, call] of [
          [60, matrix.page(asked)],
          [60, matrix.event(agent, roomId, EventId.make("$event"))],
          [30, matrix.join(agent, roomId)],
          [30, matrix.upload(agent, { name: "a", mediaType: "text/plain", bytes: new Uint8Array(10) })]
        ] as const
      ) {
        const fiber = yield* Effect.fork(Effect.flip(Effect.asVoid<unknown, { readonly _tag: string }, never>(call)))
        yield* Deferred.await(arrived)
        yield* Effect.yieldNow()
        yield* TestClock.adjust(`${seconds - 1} seconds`)
        expect(fiber.unsafePoll()).toBeNull()
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "HomeserverUnavailable", status: null })
      }
    }
  }))

it.scopedLive("every call carries the user, the device and the token, and dots or slashes reach no other endpoint", () =>
  Effect.gen(function*() {
    const seen: Array<{ readonly url: URL; readonly authorization: string | undefined }> = []
    const matrix = yield* against((request, response) => {
      seen.push({ url: new URL(request.url ?? "", "http://h"), authorization: request.headers.authorization })
      answer(200, `{"event_id":"$sent","joined_rooms":[],"room_id":"!room"}`)(request, response)
    })
    yield* matrix.joinedRooms(agent)
    yield* matrix.join(agent, roomId)
    yield* matrix.state(agent, roomId, "a/../b", "c?d#e")
    yield* matrix.send({ as: agent, roomId, type: "m.room.message", transactionId: "x/../../y", content: {} })
    for (const { authorization, url } of seen) {
      expect(authorization).toBe("Bearer secret-token")
      expect(url.searchParams.get("user_id")).toBe(agent)
      expect(url.searchParams.get("device_id")).toBe("CFDEV")
      expect(url.search).not.toContain("secret-token")
    }
    expect(seen.map(({ url }) => url.pathname)).toStrictEqual([
      "/_matrix/client/v3/joined_rooms",
      "/_matrix/client/v3/join/!room",
      "/_matrix/client/v3/rooms/!room/state/a%2F..%2Fb/c%3Fd%23e",
      "/_matrix/client/v3/rooms/!room/send/m.room.message/x%2F..%2F..%2Fy"
    ])
    for (const dots of [".", ".."]) {
      const send = { as: agent, roomId, type: dots, transactionId: "x", content: {} }
      expect(yield* Effect.flip(matrix.send(send))).toMatchObject({ status: 400, errcode: "M_INVALID_PARAM" })
      expect(yield* Effect.flip(matrix.state(agent, roomId, "x", dots))).toMatchObject({ status: 400 })
    }
    expect(seen).toHaveLength(4)
  }))

it.scopedLive("interrupting a call ends its request", () =>
  Effect.gen(function*() {
    for (const kind of ["read", "write"] as const) {
      const arrived = yield* Deferred.make<void>()
      const gone = yield* Deferred.make<void>()
      const matrix = yield* against((request) => {
        request.socket.on("close", () => Deferred.unsafeDone(gone, Effect.void))
        Deferred.unsafeDone(arrived, Effect.void)
      })
      const call = kind === "read" ? Effect.asVoid(matrix.page(asked)) : matrix.join(agent, roomId)
      const fiber = yield* Effect.fork(call)
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(gone)
    }
  }))
