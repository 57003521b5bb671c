import { expect, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Deferred, Effect, Exit, Layer, Ref, Scope } from "effect"
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { dirname, join } from "node:path"
import { type SendOutcome, ToolRefused } from "../../../src/domain/api/AgentSocket.ts"
import { EventId, RunId, sharedContext } from "../../../src/domain/Ids.ts"
import * as LocalToolAccess from "../../../src/layers/fleetd/LocalToolAccess.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { claimRoot } from "../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { AgentTools } from "../../../src/services/AgentTools.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import type { ToolAccess as Access } from "../../../src/services/NativeEngine.ts"
import { ToolAccess } from "../../../src/services/ToolAccess.ts"
import { editor, registryIn, reporter, scratchFolder, smallFleet } from "../../support/FleetFile.ts"

type Sent = Parameters<typeof AgentTools.Service.send>
const runId = (n: number) => RunId.make(`${n}0000000-0000-4000-8000-000000000000`)
const sent: SendOutcome = { status: "sent", eventId: EventId.make("$sent") }

/** Tool access of a root with two agents, over tools that record what they are asked. */
const access = (answer: (wish: Sent[1]) => Effect.Effect<SendOutcome, ToolRefused> = () => Effect.succeed(sent)) =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    const asked = yield* Ref.make<ReadonlyArray<Sent>>([])
    const tools = Layer.succeed(
      AgentTools,
      AgentTools.of({
        send: (agentId, wish) =>
          Effect.zipRight(Ref.update(asked, (before) => [...before, [agentId, wish] as Sent]), answer(wish))
      })
    )
    const registry = Layer.provideMerge(
      Layer.effectDiscard(Effect.gen(function*() {
        yield* claimRoot(root)
        yield* (yield* FleetRegistry).introduce(smallFleet())
      })),
      Layer.provideMerge(SqliteRegistry.layer, registryIn(root))
    )
    const layer = LocalToolAccess.layer(root).pipe(Layer.provide(Layer.merge(tools, registry)))
    const context = yield* Layer.build(layer)
    return { root, asked, tools: yield* Effect.provide(ToolAccess, context) }
  })

interface Answer {
  readonly status: number
  readonly body: string
}

/** A plain HTTP exchange with the socket or the MCP server. */
const http = (options: {
  readonly socketPath?: string
  readonly url?: string
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}) =>
  Effect.async<Answer, string>((resume) => {
    const url = options.url === undefined ? undefined : new URL(options.url)
    const call = request({
      ...(options.socketPath === undefined ? {} : { socketPath: options.socketPath }),
      ...(url === undefined ? {} : { host: url.hostname, port: url.port }),
      path: options.path ?? url?.pathname ?? "/",
      method: options.method ?? "POST",
      headers: { "content-type": "application/json", ...options.headers }
    }, (response) => {
      const parts: Array<Buffer> = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("error", (error) => resume(Effect.fail(error.message)))
      response.on(
        "end",
        () => resume(Effect.succeed({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() }))
      )
    })
    call.on("error", (error) => resume(Effect.fail("code" in error ? String(error.code) : error.message)))
    call.end(options.body)
  })

const json = (value: unknown) => JSON.stringify(value)
const parsed = (text: string): unknown => JSON.parse(text)

const postSend = (socketPath: string, body: unknown) =>
  http({ socketPath, path: "/v1/send", body: typeof body === "string" ? body : json(body) })

it.scopedLive("[M-08] a socket is one agent in one context: it sends as that agent, and says who it is", () =>
  Effect.gen(function*() {
    const { tools, asked } = yield* access()
    const one = yield* tools.open(editor, sharedContext, runId(1))
    const two = yield* tools.open(reporter, sharedContext, runId(2))
    const message = { room: "!r:test", text: "hi", replyTo: "$e", mentions: ["@a:test"] }
    expect(yield* postSend(one.socketPath, message)).toStrictEqual({
      status: 200,
      body: json(sent)
    })
    // No payload names an agent.
    yield* postSend(two.socketPath, { room: "!r:test", text: "ho", agentId: editor })
    const who = yield* http({ socketPath: two.socketPath, path: "/v1/whoami", method: "GET" })
    expect(parsed(who.body)).toStrictEqual({
      agentId: reporter,
      name: "reporter",
      userId: "@street-reporter:test",
      owner: "@alice:test",
      context: "shared"
    })
    expect(yield* Ref.get(asked)).toMatchObject([
      [editor, message],
      [reporter, { room: "!r:test", text: "ho", replyTo: null, mentions: [] }]
    ])
  }))

it.scopedLive("a call made again under its ID is the same operation, and only then", () =>
  Effect.gen(function*() {
    const { tools, asked } = yield* access()
    const { socketPath } = yield* tools.open(editor, sharedContext, runId(1))
    const call = { toolCallId: "call_1", room: "!r:test", text: "hi" }
    yield* postSend(socketPath, call)
    yield* postSend(socketPath, call)
    yield* postSend(socketPath, { ...call, text: "another" })
    yield* postSend(socketPath, { ...call, toolCallId: "call_2" })
    yield* postSend(socketPath, { ...call, toolCallId: null })
    yield* postSend(socketPath, { ...call, toolCallId: null })
    const operations = (yield* Ref.get(asked)).map(([, { operationId }]) => operationId)
    expect(operations[0]).toBe(operations[1])
    expect(new Set(operations).size).toBe(5)
  }))

it.scopedLive("a refusal is told in words, and what is no request at all is one too", () =>
  Effect.gen(function*() {
    const { tools, asked } = yield* access(() => Effect.fail(new ToolRefused({ reason: "Take the room's ID" })))
    const { socketPath } = yield* tools.open(editor, sharedContext, runId(1))
    expect(yield* postSend(socketPath, { room: "General", text: "hi" })).toStrictEqual({
      status: 422,
      body: json({ reason: "Take the room's ID", _tag: "ToolRefused" })
    })
    expect((yield* postSend(socketPath, { text: "no room" })).status).toBe(400)
    expect((yield* postSend(socketPath, "{\"room\":")).status).toBe(400)
    expect((yield* http({ socketPath, path: "/v1/nothing" })).status).toBe(404)
    expect((yield* Ref.get(asked)).length).toBe(1)
  }))

it.scopedLive("a body over the bound is refused on both ways, and the server goes on", () =>
  Effect.gen(function*() {
    const { tools, asked } = yield* access()
    const { socketPath, mcpUrl, mcpToken } = yield* tools.open(editor, sharedContext, runId(1))
    const huge = json({ room: "!r:test", text: "x".repeat(9 * 1024 * 1024) })
    const onSocket = yield* Effect.either(postSend(socketPath, huge))
    expect(onSocket._tag === "Left" || onSocket.right.status >= 400).toBe(true)
    const onMcp = yield* Effect.either(http({
      url: mcpUrl,
      headers: { authorization: `Bearer ${mcpToken}`, accept: "application/json, text/event-stream" },
      body: huge
    }))
    expect(onMcp._tag === "Left" || onMcp.right.status === 413).toBe(true)
    expect(yield* Ref.get(asked)).toStrictEqual([])
    expect((yield* postSend(socketPath, { room: "!r:test", text: "hi" })).status).toBe(200)
  }))

it.scopedLive("[C-01] the socket is private, and what a dead daemon left in its folder is gone", () =>
  Effect.gen(function*() {
    const outer = yield* scratchFolder
    mkdirSync(join(outer, "run"))
    const left = join(outer, "run", "000000000000.sock")
    writeFileSync(left, "")
    yield* Layer.build(
      LocalToolAccess.layer(outer).pipe(
        Layer.provide(Layer.succeed(AgentTools, AgentTools.of({ send: () => Effect.succeed(sent) }))),
        Layer.provide(SqliteRegistry.layer.pipe(Layer.provide(registryIn(outer))))
      )
    )
    expect(existsSync(left)).toBe(false)

    const { tools } = yield* access()
    const { socketPath } = yield* tools.open(editor, sharedContext, runId(1))
    expect((statSync(socketPath).mode & 0o777).toString(8)).toBe("600")
    expect((statSync(dirname(socketPath)).mode & 0o777).toString(8)).toBe("700")
  }))

it.scopedLive("socket and token die with the activation's scope, and a call that runs ends with it", () =>
  Effect.gen(function*() {
    const started = yield* Deferred.make<void>()
    const ended = yield* Deferred.make<void>()
    const { tools } = yield* access(() =>
      Effect.zipRight(Deferred.succeed(started, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
      )
    )
    const scope = yield* Scope.make()
    const { socketPath, mcpUrl, mcpToken } = yield* Scope.extend(tools.open(editor, sharedContext, runId(1)), scope)
    const hanging = yield* Effect.fork(Effect.flip(postSend(socketPath, { room: "!r:test", text: "hi" })))
    yield* Deferred.await(started)
    yield* Scope.close(scope, Exit.void)
    yield* Deferred.await(ended)
    expect(yield* hanging).toBe("ECONNRESET")
    expect(existsSync(socketPath)).toBe(false)
    const late = yield* http({ url: mcpUrl, headers: { authorization: `Bearer ${mcpToken}` }, body: "{}" })
    expect(late.status).toBe(401)
  }))

it.scopedLive("a root too deep for a socket's path is told as such", () =>
  Effect.gen(function*() {
    const outer = yield* scratchFolder
    const deep = join(outer, "d".repeat(100))
    const layer = LocalToolAccess.layer(deep).pipe(
      Layer.provide(Layer.succeed(AgentTools, AgentTools.of({ send: () => Effect.succeed(sent) }))),
      Layer.provide(SqliteRegistry.layer.pipe(Layer.provide(registryIn(outer))))
    )
    const error = yield* Effect.flatMap(ToolAccess, (tools) => tools.open(editor, sharedContext, runId(1))).pipe(
      Effect.provide(layer),
      Effect.flip
    )
    expect(error.message).toContain("longer than 107 bytes")
  }))

const mcpClient = ({ mcpUrl, mcpToken }: Access) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "test", version: "1" })
      await client.connect(
        new StreamableHTTPClientTransport(new URL(mcpUrl), {
          requestInit: { headers: { authorization: `Bearer ${mcpToken}` } }
        })
      )
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

it.scopedLive("[M-08] MCP offers one tool that needs a destination, sends as its agent, and tells refusals as such", () =>
  Effect.gen(function*() {
    const { tools, asked } = yield* access(({ room }) =>
      room.startsWith("!") ? Effect.succeed(sent) : Effect.fail(new ToolRefused({ reason: "Take the room's ID" }))
    )
    const client = yield* mcpClient(yield* tools.open(reporter, sharedContext, runId(1)))
    const { tools: offered } = yield* Effect.promise(() => client.listTools())
    expect(offered.map(({ name, inputSchema, annotations }) => [name, inputSchema.required, annotations]))
      .toStrictEqual([
        ["room_send", ["room", "text"], { readOnlyHint: false, destructiveHint: false, openWorldHint: false }]
      ])
    const call = (given: Record<string, unknown>) =>
      Effect.promise(() => client.callTool({ name: "room_send", arguments: given }))
    expect(yield* call({ room: "!r:test", text: "hi", reply_to: "$e", mentions: ["@a:test"] })).toMatchObject({
      isError: false,
      content: [{ type: "text", text: "Sent. Its event ID is $sent." }]
    })
    expect(yield* call({ room: "General", text: "hi" })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "Take the room's ID" }]
    })
    expect(yield* call({ text: "hi" })).toMatchObject({ isError: true })
    expect((yield* Ref.get(asked))[0]).toMatchObject([
      reporter,
      { room: "!r:test", text: "hi", replyTo: "$e", mentions: ["@a:test"] }
    ])
    // Several calls over one client: nothing is kept between two exchanges.
    const many = yield* Effect.forEach(
      Array.from({ length: 8 }, (_, n) => n),
      (n) => call({ room: "!r:test", text: `n ${n}` }),
      { concurrency: 8 }
    )
    expect(many.every((answer) => answer.isError === false)).toBe(true)
  }))

it.scopedLive("MCP answers no other host name, no web page, no wrong token and nothing but its path", () =>
  Effect.gen(function*() {
    const { tools, asked } = yield* access()
    const one = yield* tools.open(editor, sharedContext, runId(1))
    const two = yield* tools.open(reporter, sharedContext, runId(2))
    expect(one.mcpToken).not.toBe(two.mcpToken)
    expect(one.mcpUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/u)
    const body = json({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "room_send", arguments: { room: "!r:test", text: "hi" } }
    })
    const port = new URL(one.mcpUrl).port
    const good = { authorization: `Bearer ${one.mcpToken}`, accept: "application/json, text/event-stream" }
    const status = (headers: Record<string, string>, more: { readonly path?: string; readonly method?: string } = {}) =>
      Effect.map(http({ url: one.mcpUrl, headers: { ...good, ...headers }, body, ...more }), (answer) => answer.status)
    expect(yield* status({ host: "evil.test" })).toBe(421)
    expect(yield* status({ host: `localhost:${port}` })).toBe(421)
    expect(yield* status({ origin: "https://evil.test" })).toBe(403)
    expect(yield* status({ origin: "null" })).toBe(403)
    expect(yield* status({ origin: `http://127.0.0.1:${port}` })).toBe(403)
    expect(yield* status({ authorization: "" })).toBe(401)
    expect(yield* status({ authorization: `Bearer ${"A".repeat(43)}` })).toBe(401)
    expect(yield* status({ authorization: `Basic ${one.mcpToken}` })).toBe(401)
    expect(yield* status({}, { path: "/other" })).toBe(404)
    expect(yield* status({}, { path: `/mcp?token=${one.mcpToken}` })).toBe(404)
    expect(yield* status({}, { method: "GET" })).toBe(405)
    expect(yield* status({}, { method: "DELETE" })).toBe(405)
    expect(yield* status({ "content-type": "text/plain" })).toBe(415)
    expect(yield* Ref.get(asked)).toStrictEqual([])
    expect(yield* status({})).toBe(200)
  }))
