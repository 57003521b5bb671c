// A full listener: whoever holds connections without end makes room for those who ask something.
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createServer, request, type RequestListener } from "node:http"
import { connect, type Socket } from "node:net"
import { keepRoom } from "../../../../src/programs/crossfire/WaitingConnections.ts"
import { alice } from "../../../layers/crossfire/World.ts"
import { pushHost } from "../Crossfire.ts"
import { pagesHost, start } from "./DoorWorld.ts"
import { homeserverHeaders } from "./Expected.ts"

const opened = (port: number, sent: string) =>
  Effect.acquireRelease(
    Effect.async<Socket>((resume) => {
      const socket = connect(port, "127.0.0.1")
      // Nothing of an answer is taken.
      socket.pause()
      socket.on("error", () => {})
      socket.once("connect", () => socket.write(sent, () => resume(Effect.succeed(socket))))
      socket.once("close", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const most = 8
const Port = Schema.decodeUnknownSync(Schema.Struct({ port: Schema.Int }))

const small = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer(listener)
      server.maxConnections = 2 * most
      keepRoom(server, most)
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          port: Port(server.address()).port,
          close: () => {
            server.close()
            server.closeAllConnections()
          }
        })))
    }),
    ({ close }) => Effect.sync(close)
  )

const answered = (port: number, path = "/") =>
  Effect.async<number | string>((resume) => {
    const call = request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume()
      response.on("end", () => resume(Effect.succeed(response.statusCode ?? 0)))
    })
    call.on("error", ({ message }) => resume(Effect.succeed(message)))
    call.end()
  })

it.scopedLive("[A41] answers that nobody reads make room", () =>
  Effect.gen(function*() {
    const large = Buffer.alloc(16 * 1024 * 1024)
    let begun = 0
    const { port } = yield* small((asked, response) => {
      if (asked.url === "/large") begun += 1
      response.end(asked.url === "/large" ? large : "ok")
    })
    for (let count = 0; count < 5 * most; count += 1) {
      yield* opened(port, "GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
      yield* Effect.repeat(Effect.sleep("1 millis"), { until: () => begun > count })
      expect(yield* answered(port)).toBe(200)
    }
  }))

it.scopedLive("[A41] streams that are read and requests that wait for their answer make none", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const { port } = yield* small((asked, response) => {
      if (asked.url !== "/slow") return void response.end("ok")
      held.push(() => void response.end("late"))
    })
    const slow = yield* Effect.forkScoped(
      Effect.forEach(Array.from({ length: most - 2 }), () => answered(port, "/slow"), { concurrency: "unbounded" })
    )
    yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => held.length === most - 2 })
    for (let count = 0; count < 5 * most; count += 1) {
      yield* opened(port, "")
      yield* opened(port, "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nx")
      expect(yield* answered(port)).toBe(200)
    }
    for (const end of held) end()
    expect(yield* slow).toStrictEqual(Array.from({ length: most - 2 }, () => 200))
  }))

it.scopedLive(
  "[A41] 1,100 requests whose bodies do not come keep no push from being answered",
  () =>
    Effect.gen(function*() {
      const { ask, url } = yield* start()
      const port = Number(new URL(url).port)
      const push = ask({
        method: "PUT",
        path: "/_matrix/app/v1/transactions/1",
        headers: { host: pushHost, ...homeserverHeaders },
        body: { events: [] }
      })
      for (let count = 0; count < 1_100; count += 1) {
        yield* opened(
          port,
          `POST /v1/enrollments/state HTTP/1.1\r\nhost: ${pagesHost}\r\nx-forwarded-for: 10.9.${count % 200}.1\r\n` +
            "content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
        )
        // Each is under way before the next one comes.
        if (count > 850) yield* Effect.sleep("3 millis")
        if (count % 100 === 99) {
          expect((yield* push).status).toBe(200)
        }
      }
    }),
  60_000
)

it.scopedLive(
  "[A41] bodies that have come in part hold bounded memory, and no other kind of request is refused for it",
  () =>
    Effect.gen(function*() {
      const { ask, asPage, url, roster } = yield* start()
      const port = Number(new URL(url).port)
      const part = "x".repeat(1_900_000)
      const heard: Array<string> = []
      const begun = yield* Effect.forEach(Array.from({ length: 48 }), (_, at) =>
        Effect.map(
          opened(
            port,
            `POST /v1/enrollments/state HTTP/1.1\r\nhost: ${pagesHost}\r\nx-forwarded-for: 10.8.${at}.1\r\n` +
              `content-type: application/json\r\ncontent-length: 2000000\r\n\r\n${part}`
          ),
          (socket) => {
            socket.on("data", (answer: Buffer) => void heard.push(answer.toString("latin1")))
            socket.resume()
            return socket
          }
        ))
      yield* Effect.repeat(Effect.sleep("20 millis"), { until: () => heard.length > 0, times: 200 })
      expect(heard[0]).toContain("503")
      expect(heard[0]).toContain("ServerBusy")
      expect((yield* asPage({ path: "/v1/sign-in/ask", body: { user: "x" } })).status).toBe(200)
      for (const socket of begun) socket.destroy()
      const again = Effect.repeat(
        ask({
          method: "POST",
          path: "/v1/enrollments/preflight",
          headers: { host: pagesHost },
          body: { roster: roster(alice) }
        }),
        { until: ({ status }) => status !== 503, times: 100 }
      )
      expect((yield* again).status).toBe(200)
    }),
  30_000
)
