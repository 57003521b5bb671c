import { expect, it } from "@effect/vitest"
import { Chunk, Deferred, Effect, Either, Fiber, Layer, Redacted, Schema, Stream, TestClock } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { BodyTooLarge } from "../../../src/domain/api/AccessErrors.ts"
import { LevelEvent, levelsPath } from "../../../src/domain/api/Crossfire.ts"
import {
  LeaseHeld,
  MessageRefused,
  NotAllowed,
  PageUnusable,
  StaleGeneration
} from "../../../src/domain/api/CrossfireErrors.ts"
import { DeliveryId, Generation, OperationId, RoomId, StreamToken } from "../../../src/domain/Ids.ts"
import { Level } from "../../../src/domain/Level.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import { hashOf } from "../../../src/layers/crypto/Secret.ts"
import * as HttpCrossfireClient from "../../../src/layers/fleetd/HttpCrossfireClient.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { claimRoot } from "../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { CrossfireClient } from "../../../src/services/CrossfireClient.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { type Answers, incarnation, serve } from "../../support/CrossfireContract.ts"
import { editor, registryIn, reporter, scratchFolder, smallFleet } from "../../support/FleetFile.ts"

const stamp = { generation: Generation.make(7), incarnation }
const oldStamp = { generation: Generation.make(6), incarnation }
const room = RoomId.make("!room:test")
const message = {
  operationId: OperationId.make("00000000-0000-4000-8000-000000000001"),
  roomId: room,
  text: "hello",
  replyTo: null,
  mentions: []
}
const pageRequest = {
  roomId: room,
  from: StreamToken.make("s1"),
  to: null,
  direction: "forward" as const,
  limit: 10
}

/** A client of that server, with a registry in which two agents are enrolled. */
const rootOf = (url: string, fleetToken = "token-of-fleet") =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const registry = Layer.provideMerge(SqliteRegistry.layer, registryIn(folder))
    const enrolled = Layer.provideMerge(
      Layer.effectDiscard(Effect.gen(function*() {
        yield* claimRoot(folder)
        const fleet = smallFleet(url)
        yield* (yield* FleetRegistry).introduce({ ...fleet, token: Redacted.make(fleetToken) })
      })),
      registry
    )
    return yield* Layer.build(Layer.provideMerge(HttpCrossfireClient.layer(url), enrolled))
  })

const clientOf = (url: string, fleetToken?: string) =>
  Effect.flatMap(rootOf(url, fleetToken), (context) => Effect.provide(CrossfireClient, context))

const contract = (answers: Answers = {}) =>
  Effect.gen(function*() {
    const server = yield* serve(answers)
    return { server, client: yield* clientOf(server.url) }
  })

/** A bare server for what no contract would answer. */
const bare = (handle: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => createServer(handle)),
      (server) =>
        Effect.async<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    )
    const port = yield* Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    })
    return `http://127.0.0.1:${port}`
  })

it.scopedLive("[C-03] the fleet's and each agent's own credential go with the lease they write under", () =>
  Effect.gen(function*() {
    const { server, client } = yield* contract()
    const lease = { root: "77777777-7777-4777-8777-777777777777", holder: "host", takeOver: false }
    expect(yield* client.acquireLease(lease)).toStrictEqual({ generation: 7, incarnation, lastsMillis: 30_000 })
    expect((yield* client.renewLease(stamp)).generation).toBe(7)
    expect(yield* client.boundary(stamp)).toBe("s1_2")
    expect(yield* client.page(stamp, editor, pageRequest)).toStrictEqual({ records: [], end: null })
    const acknowledgment = {
      deliveryId: DeliveryId.make("55555555-5555-4555-8555-555555555555"),
      cursors: [],
      delivered: [],
      redactionNumber: 0
    }
    expect(yield* client.acknowledge(stamp, reporter, acknowledgment)).toBe(12)
    expect(yield* client.send(stamp, editor, message)).toStrictEqual({ status: "sent", eventId: "$sent" })
    yield* client.notice(stamp, message.operationId, "told")
    yield* client.releaseLease(stamp)
    expect(server.asked.map(({ endpoint, who }) => `${endpoint} ${who}`)).toStrictEqual([
      "acquireLease @alice:test",
      "renewLease @alice:test",
      "boundary @alice:test",
      "page @street-editor:test",
      "acknowledge @street-reporter:test",
      "send @street-editor:test",
      "notice @alice:test",
      "releaseLease @alice:test"
    ])
    expect(server.asked[0]?.payload).toStrictEqual(lease)
  }))

it.scopedLive("[C-04] a write under an old lease comes back as a stale generation, whatever it was", () =>
  Effect.gen(function*() {
    const { client } = yield* contract()
    const errors = [
      yield* Effect.flip(client.renewLease(oldStamp)),
      yield* Effect.flip(client.boundary(oldStamp)),
      yield* Effect.flip(client.page(oldStamp, editor, pageRequest)),
      yield* Effect.flip(client.send(oldStamp, editor, message)),
      yield* Effect.flip(client.notice(oldStamp, message.operationId, "told"))
    ]
    for (const error of errors) expect(error).toStrictEqual(new StaleGeneration({ given: 6, current: 7 }))
  }))

it.scopedLive("[A12] a credential that is refused while it is replaced says nothing of the fleet; refused for good, it does", () =>
  Effect.gen(function*() {
    let good = "token-of-fleet"
    const server = yield* serve({ fleetToken: () => good })
    const context = yield* rootOf(server.url)
    const { client, registry } = yield* Effect.provide(
      Effect.all({ client: CrossfireClient, registry: FleetRegistry }),
      context
    )
    const pending = {
      fleetToken: Redacted.make("another-one"),
      agentTokens: new Map([[editor, Redacted.make("token-of-editor")]])
    }
    const hashes = {
      fleetToken: hashOf(pending.fleetToken),
      agentTokens: new Map([[editor, hashOf(Redacted.make("x"))]])
    }
    yield* registry.prepareCredentials(pending)
    expect(yield* Effect.flip(client.rotateCredentials(stamp, pending.fleetToken, hashes))).toMatchObject({
      _tag: "CredentialRefused"
    })
    expect(yield* client.rotateCredentials(stamp, null, hashes)).toBe(2)
    expect(server.asked.at(-1)).toMatchObject({
      endpoint: "rotateCredentials",
      payload: { fleetToken: hashes.fleetToken, agentTokens: [{ agentId: editor }] }
    })
    // crossfire has committed, and fleetd does not know it yet.
    good = "another-one"
    expect(yield* Effect.flip(client.renewLease(stamp))).toMatchObject({ _tag: "CrossfireUnavailable" })
    expect(yield* client.rotateCredentials(stamp, pending.fleetToken, hashes)).toBe(2)
    yield* registry.promoteCredentials
    expect((yield* client.renewLease(stamp)).generation).toBe(7)
    good = "revoked"
    expect(yield* Effect.flip(client.renewLease(stamp))).toMatchObject({ _tag: "CredentialRefused" })
  }))

it.scopedLive("what is refused as it is comes back as a refusal, never as something to send again", () =>
  Effect.gen(function*() {
    const { client } = yield* contract({
      acknowledge: Effect.fail(new BodyTooLarge({ maxBytes: 8_388_608 })),
      rotate: Effect.fail(new NotAllowed({ reason: "it was revoked" }))
    })
    const acknowledgment = {
      deliveryId: DeliveryId.make("55555555-5555-4555-8555-555555555555"),
      cursors: [],
      delivered: [],
      redactionNumber: 0
    }
    const refused = yield* Effect.flip(client.acknowledge(stamp, reporter, acknowledgment))
    expect(refused).toMatchObject({ _tag: "AcknowledgmentRefused" })
    expect(refused.message).toContain("8388608 bytes")
    // A proxy before crossfire says it in its own words.
    const proxy = yield* bare((_request, response) => {
      response.writeHead(413, { "content-type": "text/html" })
      response.end("<html>413 Request Entity Too Large</html>")
    })
    const behind = yield* clientOf(proxy)
    expect(yield* Effect.flip(behind.acknowledge(stamp, reporter, acknowledgment))).toMatchObject({
      _tag: "AcknowledgmentRefused"
    })
    expect(yield* Effect.flip(behind.send(stamp, editor, message))).toMatchObject({ _tag: "SendRefused" })
    const tokens = { fleetToken: hashOf(Redacted.make("x")), agentTokens: new Map() }
    expect(yield* Effect.flip(client.rotateCredentials(stamp, null, tokens))).toMatchObject({
      _tag: "RotationRefused",
      reason: "it was revoked"
    })
  }))

it.scopedLive("an address that serves no fleets is told with the one that people use", () =>
  Effect.gen(function*() {
    const url = yield* bare((_request, response) => {
      response.writeHead(421, { "content-type": "application/json" })
      response.end("{\"_tag\":\"HostUnknown\",\"open\":\"https://crossfire.example.org\"}")
    })
    const error = yield* Effect.flip(Effect.flatMap(clientOf(url), (client) => client.boundary(stamp)))
    expect(error.message).toContain("web pages at https://crossfire.example.org")
    expect(error.message).toContain("--server")
  }))

it.scopedLive("refusals come back in the port's words", () =>
  Effect.gen(function*() {
    const held = new LeaseHeld({ holder: "another host", remainingMillis: 1_000 })
    const lease = { root: "77777777-7777-4777-8777-777777777777", holder: "host", takeOver: false }
    const one = yield* contract({
      acquireLease: Effect.fail(held),
      page: Effect.fail(new NotAllowed({ reason: "not a member" })),
      send: Effect.fail(new MessageRefused({ reason: "no such room" }))
    })
    expect(yield* Effect.flip(one.client.acquireLease(lease))).toStrictEqual(held)
    expect(yield* Effect.flip(one.client.page(stamp, editor, pageRequest))).toMatchObject({
      _tag: "ReadRefused",
      reason: "not a member"
    })
    expect(yield* Effect.flip(one.client.send(stamp, editor, message))).toMatchObject({
      _tag: "SendRefused",
      reason: "no such room"
    })
    const two = yield* contract({ page: Effect.fail(new PageUnusable({ reason: "too-large" })) })
    expect((yield* Effect.flip(two.client.page(stamp, editor, pageRequest)))._tag).toBe("RoomPageFailed")
  }))

it.scopedLive("a credential that is not accepted is told apart, on calls and on the stream", () =>
  Effect.gen(function*() {
    const server = yield* serve()
    const client = yield* clientOf(server.url, "revoked")
    expect((yield* Effect.flip(client.renewLease(stamp)))._tag).toBe("CredentialRefused")
    const url = yield* bare((_request, response) => response.writeHead(401).end())
    const stream = (yield* clientOf(url)).levels(stamp)
    expect((yield* Effect.flip(Stream.runDrain(stream)))._tag).toBe("CredentialRefused")
  }))

it.scopedLive("a redirect is never followed and carries no credential on", () =>
  Effect.gen(function*() {
    const seen: Array<string> = []
    const elsewhere = yield* bare((request, response) => {
      seen.push(String(request.headers.authorization))
      response.end("{}")
    })
    const url = yield* bare((_request, response) => response.writeHead(307, { location: elsewhere }).end())
    const client = yield* clientOf(url)
    const onCall = yield* Effect.flip(client.renewLease(stamp))
    expect(onCall).toMatchObject({ _tag: "CrossfireUnavailable", operation: "renew the lease" })
    expect(onCall.message).toContain("redirect (307)")
    expect((yield* Effect.flip(Stream.runDrain(client.levels(stamp))))._tag).toBe("CrossfireUnavailable")
    expect(seen).toStrictEqual([])
  }))

it.scopedLive("what is no answer of crossfire's is unavailable: HTML, a torn body, a closed port, a lie about length", () =>
  Effect.gen(function*() {
    const answers: ReadonlyArray<(request: IncomingMessage, response: ServerResponse) => void> = [
      (_request, response) => response.writeHead(502, { "content-type": "text/html" }).end("<html>"),
      (_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{\"generation\":"),
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "500" })
        response.write("{")
        response.socket?.resetAndDestroy()
      },
      (_request, response) => response.writeHead(200, { "content-length": String(200 * 1024 * 1024) }).flushHeaders(),
      (request) => request.socket.destroy()
    ]
    for (const answer of answers) {
      const client = yield* clientOf(yield* bare(answer))
      const error = yield* Effect.flip(client.renewLease(stamp))
      expect(error._tag).toBe("CrossfireUnavailable")
      expect(error.message).not.toContain("token-of")
    }
    const closed = yield* Effect.scoped(bare(() => {}))
    expect((yield* Effect.flip((yield* clientOf(closed)).renewLease(stamp)))._tag).toBe("CrossfireUnavailable")
  }))

const level = (number: number) =>
  new Level({
    agentId: editor,
    name: RegisteredName.make("editor"),
    standing: "active",
    incarnation,
    number,
    authorityRevision: 1,
    wakes: [],
    rooms: [],
    redactions: []
  })
const encodeLevel = Schema.encodeSync(LevelEvent)

it.scopedLive("levels come as the server sends them, however they are cut, and the stream's end is an error", () =>
  Effect.gen(function*() {
    const asked: Array<IncomingMessage> = []
    const url = yield* bare((request, response) => {
      asked.push(request)
      response.writeHead(200, { "content-type": "text/event-stream" })
      const text =
        `: hello\n\nid: 1\ndata: ${encodeLevel(level(1))}\n\n: beat\r\n\r\ndata:${encodeLevel(level(2))}\r\n\r\n` +
        `data: ${encodeLevel(level(3))}\n`
      const middle = Math.floor(text.length / 2)
      response.write(text.slice(0, middle))
      setImmediate(() => response.end(text.slice(middle)))
    })
    const client = yield* clientOf(url)
    const levels: Array<Level> = []
    const error = yield* Effect.flip(
      Stream.runForEach(client.levels(stamp), (level) => Effect.sync(() => levels.push(level)))
    )
    // The third one was cut off before its end.
    expect(levels).toStrictEqual([level(1), level(2)])
    expect(error).toMatchObject({ _tag: "CrossfireUnavailable", reason: "the connection ended" })
    expect(asked[0]?.url).toBe(levelsPath)
    expect(asked[0]?.headers).toMatchObject({
      authorization: "Bearer token-of-fleet",
      "x-crossfire-generation": "7",
      "x-crossfire-incarnation": incarnation
    })
  }))

it.scopedLive("the stream is refused for a stale generation, and for what is no level", () =>
  Effect.gen(function*() {
    const stale = yield* bare((_request, response) =>
      response.writeHead(409, { "content-type": "application/json" }).end(
        "{\"_tag\":\"StaleGeneration\",\"given\":6,\"current\":7}"
      )
    )
    const streamOf = (url: string) => Effect.map(clientOf(url), (client) => client.levels(oldStamp))
    expect(yield* Effect.flip(Stream.runDrain(yield* streamOf(stale)))).toStrictEqual(
      new StaleGeneration({ given: 6, current: 7 })
    )
    const garbage = yield* bare((_request, response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end("data: {\"half\": true}\n\n")
    )
    expect((yield* Effect.flip(Stream.runDrain(yield* streamOf(garbage)))).message).toContain("contract's form")
    const endless = yield* bare((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const line = `data: ${"x".repeat(1024 * 1024)}\n`
      const more = (left: number): unknown => left === 0 ? undefined : response.write(line, () => more(left - 1))
      more(40)
    })
    expect((yield* Effect.flip(Stream.runDrain(yield* streamOf(endless)))).message).toContain("longer than")
  }))

it.scopedLive("closing the level stream ends its connection", () =>
  Effect.gen(function*() {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const url = yield* bare((request, response) => {
      request.socket.on("close", () => resolve())
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`data: ${encodeLevel(level(1))}\n\n`)
    })
    const client = yield* clientOf(url)
    const first = yield* Stream.runCollect(Stream.take(client.levels(stamp), 1))
    expect(Chunk.toReadonlyArray(first)).toStrictEqual([level(1)])
    yield* Effect.promise(() => closed)
  }))

it.scopedLive("an interrupted call ends its connection", () =>
  Effect.gen(function*() {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    const url = yield* bare((request) => {
      request.socket.on("close", () => close())
      reach()
    })
    const client = yield* clientOf(url)
    const call = yield* Effect.fork(client.renewLease(stamp))
    yield* Effect.promise(() => reached)
    yield* Fiber.interrupt(call)
    yield* Effect.promise(() => closed)
  }))

it.scopedLive("[C-03] plain http to anything but this machine is refused before a credential is read", () =>
  Effect.gen(function*() {
    for (const url of ["http://crossfire.example.org", "http://10.0.0.5:8000", "http://127.0.0.1.example.org"]) {
      const error = yield* Effect.flip(clientOf(url))
      expect(error).toMatchObject({ _tag: "ServerUrlRefused", reason: "plain-http" })
    }
    expect(Either.isRight(yield* Effect.either(clientOf("https://crossfire.example.org/under/a/path/")))).toBe(true)
  }))

it.scoped("a server that says nothing ends in an error: a call at its deadline, a stream after two missed heartbeats", () =>
  Effect.gen(function*() {
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    const mute = yield* clientOf(yield* bare(() => reach()))
    const call = yield* Effect.fork(Effect.flip(mute.renewLease(stamp)))
    yield* Effect.promise(() => reached)
    yield* TestClock.adjust("10 seconds")
    expect(yield* Fiber.join(call)).toMatchObject({ _tag: "CrossfireUnavailable", reason: "no answer within 10 s" })

    const url = yield* bare((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`data: ${encodeLevel(level(1))}\n\n`)
    })
    const client = yield* clientOf(url)
    const first = yield* Deferred.make<Level>()
    const stream = yield* Effect.fork(
      Effect.flip(Stream.runForEach(client.levels(stamp), (level) => Deferred.succeed(first, level)))
    )
    yield* Deferred.await(first)
    yield* TestClock.adjust("29 seconds")
    expect(stream.unsafePoll()).toBeNull()
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(stream)).toMatchObject({ reason: "silent for 30 s" })
  }))
