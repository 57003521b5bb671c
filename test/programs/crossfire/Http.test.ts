import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { expect, it } from "@effect/vitest"
import { Chunk, Context, Effect, Fiber, Queue, Redacted, Schema, Stream, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { LeaseGrant, PageAnswer } from "../../../src/domain/api/Crossfire.ts"
import { cursorAt } from "../../../src/domain/Cursor.ts"
import { FleetId, StreamToken } from "../../../src/domain/Ids.ts"
import type { Level } from "../../../src/domain/Level.ts"
import { levelStream } from "../../../src/layers/fleetd/LevelStream.ts"
import type { LeaseStamp } from "../../../src/services/CrossfireClient.ts"
import { Levels } from "../../../src/services/Levels.ts"
import { Revocations } from "../../../src/services/Revocations.ts"
import { Participations, takesPart } from "../../../src/services/store/Participations.ts"
import { alice, bot, make, mallory, message, until, type World } from "../../layers/crossfire/World.ts"
import { agentToken, call, credentials, fleetToken, hsToken, root, serve, stampHeaders } from "./Crossfire.ts"

const decodeLease = Schema.decodeUnknown(LeaseGrant)
const decodePage = Schema.decodeUnknown(PageAnswer)

const acquire = (url: string, takeOver = false, by = root) =>
  Effect.flatMap(
    call(url, "/v1/fleet/lease", { token: fleetToken, body: { root: by, holder: "desk", takeOver } }),
    ({ body }) => decodeLease(body)
  )

/** Hands over what was pushed so far by the endpoint that the homeserver calls. */
const push = (world: World, url: string) =>
  call(url, "/_matrix/app/v1/transactions/1", {
    method: "PUT",
    token: Redacted.value(hsToken),
    body: { events: world.pushed.splice(0) }
  })

const levels = (url: string, stamp: LeaseStamp) =>
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const seen = yield* Queue.unbounded<Level>()
    const fiber = yield* Effect.forkScoped(
      levelStream({
        baseUrl: url,
        client: HttpClient.withScope(client),
        token: Effect.succeed(Redacted.make(fleetToken)),
        isReplaced: () => Effect.succeed(false),
        stamp
      }).pipe(Stream.runForEach((level) => Queue.offer(seen, level)))
    )
    return { seen, fiber }
  }).pipe(Effect.provide(FetchHttpClient.layer))

const served = Effect.gen(function*() {
  const world = yield* make()
  const writer = yield* world.agent("writer", alice)
  yield* credentials(world, writer)
  const { context, url } = yield* serve(world)
  return { world, writer, url, context }
})

const groups = {
  fleet: [
    ["/v1/fleet/lease", { root, holder: "x", takeOver: false }],
    ["/v1/fleet/lease/renew", undefined],
    ["/v1/fleet/lease/release", undefined],
    ["/v1/fleet/boundary", undefined],
    ["/v1/fleet/notices", { operationId: randomUUID(), text: "x" }]
  ],
  agent: [
    ["/v1/agent/page", { roomId: "!x", from: "s1", to: null, direction: "backward", limit: 1 }],
    ["/v1/agent/acknowledge", { deliveryId: randomUUID(), cursors: [], delivered: [], redactionNumber: 0 }],
    ["/v1/agent/send", { operationId: randomUUID(), roomId: "!x", text: "x", replyTo: null, mentions: [] }]
  ]
} as const

it.scopedLive("[H-04] every route takes its own kind of credential alone, and the lease that stands", () =>
  Effect.gen(function*() {
    const { url } = yield* served
    const stamp = yield* acquire(url)
    const lost = stampHeaders({ generation: stamp.generation + 5, incarnation: stamp.incarnation })
    for (const [kind, routes] of Object.entries(groups)) {
      for (const [path, body] of routes) {
        const right = kind === "fleet" ? fleetToken : agentToken
        const wrong = kind === "fleet" ? agentToken : fleetToken
        const headers = stampHeaders(stamp)
        for (const token of [undefined, wrong, `${right}x`]) {
          const answer = yield* call(url, path, { body, headers, ...token === undefined ? {} : { token } })
          expect([path, answer.status]).toStrictEqual([path, 401])
        }
        if (path === "/v1/fleet/lease") continue
        const stale = yield* call(url, path, { token: right, body, headers: lost })
        expect([path, stale.status]).toStrictEqual([path, path.endsWith("release") ? 200 : 409])
        const unstamped = yield* call(url, path, { token: right, body })
        expect([path, unstamped.status]).toStrictEqual([path, 400])
      }
    }
    expect((yield* call(url, "/v1/fleet/levels", { method: "GET", headers: stampHeaders(stamp) })).status).toBe(401)
    const lostLevels = yield* call(url, "/v1/fleet/levels", { method: "GET", token: fleetToken, headers: lost })
    expect(lostLevels).toMatchObject({ status: 409, body: { _tag: "StaleGeneration", current: stamp.generation } })
  }))

it.scopedLive("[C-03] a second controller is refused by name, takes over on purpose, and the first one's stream ends", () =>
  Effect.gen(function*() {
    const { url } = yield* served
    const first = yield* acquire(url)
    const refused = yield* call(url, "/v1/fleet/lease", {
      token: fleetToken,
      body: { root: randomUUID(), holder: "laptop", takeOver: false }
    })
    expect(refused).toMatchObject({ status: 409, body: { _tag: "LeaseHeld", holder: "desk" } })
    const { fiber, seen } = yield* levels(url, first)
    yield* Queue.take(seen)
    const renewed = yield* call(url, "/v1/fleet/lease/renew", { token: fleetToken, headers: stampHeaders(first) })
    expect(renewed).toMatchObject({ status: 200, body: { generation: first.generation } })
    yield* acquire(url, true, randomUUID())
    const ended = yield* Effect.flip(Fiber.join(fiber))
    expect(ended._tag).toBe("CrossfireUnavailable")
    const stale = yield* call(url, "/v1/fleet/lease/renew", { token: fleetToken, headers: stampHeaders(first) })
    expect(stale).toMatchObject({ status: 409, body: { _tag: "StaleGeneration" } })
    const released = yield* call(url, "/v1/fleet/lease/release", { token: fleetToken, headers: stampHeaders(first) })
    expect(released).toMatchObject({ status: 200, body: { released: false } })
  }))

it.scopedLive("[D-02] from a push to the answer: level, page, acknowledgment, send", () =>
  Effect.gen(function*() {
    const { context, url, world, writer } = yield* served
    const stamp = yield* acquire(url)
    const headers = stampHeaders(stamp)
    const { seen } = yield* levels(url, stamp)
    const room = yield* world.human.createRoom(alice, { name: "Plans", invite: [writer.userId] })
    const wrong = { method: "PUT", token: "wrong", body: { events: [] } }
    expect((yield* call(url, "/_matrix/app/v1/transactions/1", wrong)).status).toBe(403)
    expect((yield* push(world, url)).status).toBe(200)
    yield* until(
      "the agent takes part",
      Effect.flatMap(Participations, (rows) => rows.get(writer.agentId, room)).pipe(
        Effect.map((standing) => standing._tag === "Some" && takesPart(standing.value)),
        Effect.provide(context)
      )
    )
    const asked = yield* world.human.send(alice, room, message("what now?"))
    yield* push(world, url)
    let level = yield* Queue.take(seen)
    while (level.wakes.length === 0) level = yield* Queue.take(seen)
    expect(level.wakes).toMatchObject([{ eventId: asked, roomId: room, kind: "wake" }])
    expect(level.rooms).toMatchObject([{ roomId: room, name: "Plans" }])

    const boundary = yield* call(url, "/v1/fleet/boundary", { token: fleetToken, headers })
    const { boundary: to } = yield* Schema.decodeUnknown(Schema.Struct({ boundary: StreamToken }))(boundary.body)
    const answer = yield* call(url, "/v1/agent/page", {
      token: agentToken,
      headers,
      body: { roomId: room, from: level.rooms[0]?.boundary, to, direction: "forward", limit: 100 }
    })
    expect(answer.status).toBe(200)
    const page = yield* decodePage(answer.body)
    expect(page.records.find((record) => record.eventId === asked)).toMatchObject({
      kind: "wake",
      senderRole: "owner",
      text: "what now?"
    })
    const foreign = yield* call(url, "/v1/agent/page", {
      token: agentToken,
      headers,
      body: { roomId: "!elsewhere", from: to, to, direction: "forward", limit: 100 }
    })
    expect(foreign).toMatchObject({ status: 403, body: { _tag: "NotAllowed" } })

    const acknowledged = yield* call(url, "/v1/agent/acknowledge", {
      token: agentToken,
      headers,
      body: {
        deliveryId: randomUUID(),
        cursors: [{ roomId: room, cursor: { ...cursorAt(to, asked) } }],
        delivered: [{ roomId: room, eventId: asked }],
        redactionNumber: 0
      }
    })
    expect(acknowledged.status).toBe(200)
    const after = yield* Effect.flatMap(Levels, (port) => port.of(writer.agentId)).pipe(Effect.provide(context))
    expect(after.wakes).toStrictEqual([])
    expect(acknowledged.body).toStrictEqual({ levelNumber: after.number })

    const body = { operationId: randomUUID(), roomId: room, text: "this", replyTo: asked, mentions: [alice] }
    const sent = yield* call(url, "/v1/agent/send", { token: agentToken, headers, body })
    expect(sent).toMatchObject({ status: 200, body: { status: "sent" } })
    expect(yield* call(url, "/v1/agent/send", { token: agentToken, headers, body })).toStrictEqual(sent)
    const elsewhere = yield* call(url, "/v1/agent/send", {
      token: agentToken,
      headers,
      body: { ...body, operationId: randomUUID(), roomId: "!elsewhere" }
    })
    expect(elsewhere).toMatchObject({ status: 403, body: { _tag: "NotAllowed" } })
  }))

it.scopedLive("[R-05] a fleet's notice reaches its owner once; the health page tells of the homeserver", () =>
  Effect.gen(function*() {
    const { url, world } = yield* served
    const headers = stampHeaders(yield* acquire(url))
    const body = { operationId: randomUUID(), text: "The engine **stopped**" }
    for (const _ of [1, 2]) {
      const answer = yield* call(url, "/v1/fleet/notices", { token: fleetToken, headers, body })
      expect(answer).toStrictEqual({ status: 200, body: { recorded: true } })
    }
    yield* until(
      "it was sent",
      Effect.map(
        world.db.read(world.sql`SELECT state, recipient FROM outbound`),
        (rows) => rows.length === 1 && rows[0]?.["state"] === "sent"
      )
    )
    expect(yield* world.memory.matrix.joinedRooms(bot)).toHaveLength(1)
    expect(yield* call(url, "/healthz", { method: "GET" })).toStrictEqual({
      status: 200,
      body: { ok: true, homeserver: "up" }
    })
    const room = yield* world.human.createRoom(mallory)
    expect(room).toBeDefined()
  }))

/** The stream as it comes over the wire. */
const openLevels = (url: string, stamp: LeaseStamp) =>
  Effect.gen(function*() {
    const chunks = yield* Queue.unbounded<string>()
    const response = yield* Effect.promise(() =>
      fetch(`${url}/v1/fleet/levels`, {
        headers: { authorization: `Bearer ${fleetToken}`, ...stampHeaders(stamp) }
      })
    )
    expect(response.headers.get("content-type")).toContain("text/event-stream")
    const { body } = response
    if (body === null) return yield* Effect.dieMessage("no body")
    const fiber = yield* Effect.forkScoped(
      Stream.fromReadableStream(() => body, () => "cut" as const).pipe(
        Stream.decodeText(),
        Stream.runForEach((text) => Queue.offer(chunks, text)),
        Effect.ignore
      )
    )
    return { chunks, fiber }
  })
const takeUntil = (chunks: Queue.Queue<string>, text: string) =>
  until(
    text,
    Effect.map(Queue.takeAll(chunks), (all) => Chunk.toReadonlyArray(all).join("").includes(text))
  )

it.scoped(
  "a level stream opens at once, beats every 15 seconds, and ends when the lease was not renewed or the token went",
  () =>
    Effect.gen(function*() {
      const { url, world, writer } = yield* served
      const stamp = yield* acquire(url)
      const first = yield* openLevels(url, stamp)
      yield* takeUntil(first.chunks, "data: ")
      yield* TestClock.adjust("15 seconds")
      yield* takeUntil(first.chunks, ": beat")
      yield* call(url, "/v1/fleet/lease/renew", { token: fleetToken, headers: stampHeaders(stamp) })
      yield* TestClock.adjust("15 seconds")
      yield* takeUntil(first.chunks, ": beat")
      yield* TestClock.adjust("15 seconds")
      yield* Fiber.join(first.fiber)

      yield* call(url, "/v1/fleet/lease/renew", { token: fleetToken, headers: stampHeaders(stamp) })
      const second = yield* openLevels(url, stamp)
      yield* takeUntil(second.chunks, "data: ")
      yield* world.db.transaction(
        world.sql`UPDATE fleet SET token_hash = 'revoked' WHERE fleet_id = ${writer.fleetId}`
      )
      yield* TestClock.adjust("15 seconds")
      yield* Fiber.join(second.fiber)
    }),
  60_000
)

it.scopedLive("[A12] a level stream ends at once when its fleet's credential is over, and no other fleet's does", () =>
  Effect.gen(function*() {
    const { context, url, world, writer } = yield* served
    const stamp = yield* acquire(url)
    const { chunks, fiber } = yield* openLevels(url, stamp)
    yield* takeUntil(chunks, "data: ")
    const revocations = Context.get(context, Revocations)
    yield* revocations.announce([{ fleet: FleetId.make(randomUUID()) }, { agent: writer.agentId }])
    yield* Effect.flatMap(Levels, (all) => all.changed([writer.agentId])).pipe(Effect.provide(context))
    yield* takeUntil(chunks, "data: ")
    yield* world.db.transaction(
      world.sql`UPDATE fleet SET token_hash = 'revoked' WHERE fleet_id = ${writer.fleetId}`
    )
    yield* revocations.announce([{ fleet: writer.fleetId }])
    yield* Fiber.join(fiber).pipe(Effect.timeout("5 seconds"))
    const again = yield* call(url, "/v1/fleet/levels", {
      method: "GET",
      token: fleetToken,
      headers: stampHeaders(stamp)
    })
    expect(again.status).toBe(401)
  }))
