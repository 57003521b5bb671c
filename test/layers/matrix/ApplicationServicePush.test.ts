import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { expect, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Logger, Redacted, Ref, Schema } from "effect"
import { createServer } from "node:http"
import { connect } from "node:net"
import { type PushedEvent, router } from "../../../src/layers/matrix/ApplicationServicePush.ts"
import * as HomeserverHttp from "../../../src/layers/matrix/HomeserverHttp.ts"

const token = "homeserver-token"
const json = Schema.encodeSync(Schema.parseJson(Schema.Unknown))
const event = (id: string, body = "hi") => ({
  event_id: `$${id}`,
  room_id: "!room",
  type: "m.room.message",
  sender: "@alice:cf.test",
  content: { body }
})

/** The endpoint on loopback, what its handler was given, what was logged, and a caller. */
const endpoint = (onEvents: (events: ReadonlyArray<PushedEvent>) => Effect.Effect<void, string> = () => Effect.void) =>
  Effect.gen(function*() {
    const given = yield* Ref.make<ReadonlyArray<ReadonlyArray<string>>>([])
    const logged: Array<string> = []
    const logger = Logger.make(({ annotations, cause, message }) => {
      logged.push(`${String(message)} ${json([...annotations])} ${Cause.pretty(cause)}`)
    })
    const server = yield* NodeHttpServer.make(() => createServer(), { port: 0, host: "127.0.0.1" })
    const port = server.address._tag === "TcpAddress" ? server.address.port : 0
    const routes = router({
      hsToken: Redacted.make(token),
      onEvents: (events) =>
        Effect.zipRight(
          Ref.update(given, (before) => [...before, events.map(({ event_id }) => event_id)]),
          onEvents(events)
        )
    })
    yield* server.serve(routes).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    const http = yield* HomeserverHttp.make
    const call = (
      method: "GET" | "POST" | "PUT",
      path: string,
      body: string,
      authorization: string | null = `Bearer ${token}`
    ) =>
      http.exchange({
        operation: "push",
        method,
        url: new URL(`http://127.0.0.1:${port}${path}`),
        headers: {
          ...method === "GET" ? {} : { "content-type": "application/json" },
          ...authorization === null ? {} : { authorization }
        },
        ...method === "GET" ? {} : { body: new TextEncoder().encode(body) },
        deadlineSeconds: 20
      }).pipe(Effect.map((answer) => [answer.status, Buffer.from(answer.body).toString("utf8")] as const))
    return { given, logged, port, call }
  })

it.scopedLive("a transaction is answered after its events were taken, whatever is in it", () =>
  Effect.gen(function*() {
    const { call, given } = yield* endpoint()
    const bodies: ReadonlyArray<readonly [body: string, ids: ReadonlyArray<string>]> = [
      [json({ events: [event("one"), event("two")], ephemeral: [], "de.sorunome.msc2409.to_device": [] }), [
        "$one",
        "$two"
      ]],
      [json({ events: [event("same")] }), ["$same"]],
      [json({ events: [event("same")] }), ["$same"]],
      [json({ events: [event("big", "x".repeat(6_000_000))] }), ["$big"]]
    ]
    for (const [body, ids] of bodies) {
      expect(yield* call("PUT", "/_matrix/app/v1/transactions/1", body)).toStrictEqual([200, "{}"])
      expect((yield* Ref.get(given)).at(-1)).toStrictEqual(ids)
    }
  }))

it.scopedLive("events that cannot be read are skipped, counted in one log line, and never block what comes behind", () =>
  Effect.gen(function*() {
    const { call, given, logged } = yield* endpoint()
    const { room_id: _, ...roomless } = event("roomless")
    const events = [7, event("good"), { event_id: "$secret", content: "secret text" }, roomless]
    expect(yield* call("PUT", "/_matrix/app/v1/transactions/1", json({ events }))).toStrictEqual([200, "{}"])
    expect(yield* Ref.get(given)).toStrictEqual([["$good"]])
    expect(logged).toHaveLength(1)
    expect(logged[0]).toContain(`"skipped",3`)
    for (const body of ["", "not json", "[]", json({ events: 7 }), json({ events: [7] })]) {
      expect(yield* call("PUT", "/_matrix/app/v1/transactions/2", body)).toStrictEqual([200, "{}"])
    }
    expect(yield* Ref.get(given)).toHaveLength(1)
    expect(logged.join("\n")).not.toContain("secret")
  }))

it.scopedLive("whoever does not have the token in the header is refused before the body is read", () =>
  Effect.gen(function*() {
    const { call, given, port } = yield* endpoint()
    const body = json({ events: [event("one")] })
    for (
      const authorization of [null, "", "Bearer", `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`]
    ) {
      const [status] = yield* call("PUT", "/_matrix/app/v1/transactions/1", body, authorization)
      expect(status).toBe(403)
      expect((yield* call("POST", "/_matrix/app/v1/ping", "{}", authorization))[0]).toBe(403)
      expect((yield* call("GET", "/_matrix/app/v1/users/@cf-a:cf.test", "", authorization))[0]).toBe(403)
    }
    const asParameter = `/_matrix/app/v1/transactions/1?access_token=${token}`
    expect((yield* call("PUT", asParameter, body, null))[0]).toBe(403)
    // The head alone is enough for the answer.
    const answered = yield* Effect.async<string>((resume) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.write("PUT /_matrix/app/v1/transactions/1 HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n")
      })
      socket.once("data", (data) => {
        resume(Effect.succeed(data.toString("utf8")))
        socket.destroy()
      })
    })
    expect(answered).toContain("403")
    expect(yield* Ref.get(given)).toStrictEqual([])
  }))

it.scopedLive("what the handler could not store is answered 503, so that it comes again", () =>
  Effect.gen(function*() {
    const failing = yield* Ref.make(true)
    const { call, logged } = yield* endpoint(() =>
      Effect.flatMap(Ref.get(failing), (now) => now ? Effect.fail("disk full") : Effect.void)
    )
    const body = json({ events: [event("one", "secret text")] })
    expect((yield* call("PUT", "/_matrix/app/v1/transactions/1", body))[0]).toBe(503)
    expect(logged.join("\n")).toContain("disk full")
    expect(logged.join("\n")).not.toContain("secret")
    yield* Ref.set(failing, false)
    expect(yield* call("PUT", "/_matrix/app/v1/transactions/1", body)).toStrictEqual([200, "{}"])
    const { call: dying } = yield* endpoint(() => Effect.dieMessage("a defect"))
    expect((yield* dying("PUT", "/_matrix/app/v1/transactions/1", body))[0]).toBe(503)
  }))

it.scopedLive("more than 32 MiB is left to the sweep: answered, not kept, and not sent again for ever", () =>
  Effect.gen(function*() {
    const { call, given, logged } = yield* endpoint()
    const body = json({ events: [event("huge", "x".repeat(33 * 1024 * 1024))] })
    expect(yield* call("PUT", "/_matrix/app/v1/transactions/1", body)).toStrictEqual([200, "{}"])
    expect(yield* Ref.get(given)).toStrictEqual([])
    expect(logged).toHaveLength(1)
  }))

it.scopedLive("a transaction cut off on its way gives the handler nothing", () =>
  Effect.gen(function*() {
    const { call, given, port } = yield* endpoint()
    const closed = yield* Deferred.make<void>()
    const socket = connect(port, "127.0.0.1", () => {
      const part = `{"events":[${json(event("one"))}`
      socket.write(
        `PUT /_matrix/app/v1/transactions/1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
          `content-length: 100000\r\n\r\n${part}`,
        () => socket.end(() => socket.destroy())
      )
    })
    socket.on("close", () => Deferred.unsafeDone(closed, Effect.void))
    yield* Deferred.await(closed)
    expect(yield* call("POST", "/_matrix/app/v1/ping", "{}")).toStrictEqual([200, "{}"])
    expect(yield* Ref.get(given)).toStrictEqual([])
  }))

it.scopedLive("pings are answered; unknown users, rooms and paths are not found", () =>
  Effect.gen(function*() {
    const { call } = yield* endpoint()
    expect(yield* call("POST", "/_matrix/app/v1/ping", json({ transaction_id: "x" }))).toStrictEqual([200, "{}"])
    expect((yield* call("GET", "/_matrix/app/v1/users/%40cf-new%3Acf.test", ""))[0]).toBe(404)
    expect((yield* call("GET", "/_matrix/app/v1/rooms/%23room%3Acf.test", ""))[0]).toBe(404)
    expect((yield* call("GET", "/_matrix/app/v1/other", ""))[0]).toBe(404)
  }))
