// What the tests of the Codex adapter share: a private folder, the real Codex against the scripted model, a messaging tool
// that only records, and the session's events to wait on.
import { Chunk, Effect, Option, Schedule, Schema, type Scope, Stream, SubscriptionRef } from "effect"
import { randomUUID } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { renderDeliveryHeader } from "../../../src/domain/DeliveryHeader.ts"
import type { HistoryPosition, Receipt } from "../../../src/domain/History.ts"
import { AgentId, DeliveryId, RunId, sharedContext } from "../../../src/domain/Ids.ts"
import * as CodexEngine from "../../../src/layers/codex/CodexEngine.ts"
import type { CodexConfig, CodexProvider } from "../../../src/layers/codex/CodexSettings.ts"
import { modelCatalog, scriptedModelId, scriptedProviderId } from "../../../src/layers/model/ModelCatalog.ts"
import type { Step } from "../../../src/layers/model/Script.ts"
import { type ScriptedModel, serve } from "../../../src/layers/model/ScriptedModel.ts"
import { steps, writeSteps } from "../../../src/layers/model/StepsScript.ts"
import type { Activation, EngineEvent, NativeEngine, NativeSession } from "../../../src/services/NativeEngine.ts"

const engines = join(import.meta.dirname, "../../../.tools/engines/node_modules")
export const codexBinary = join(engines, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "codex-adapter-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
)

export const newDelivery = () => DeliveryId.make(randomUUID())
export const newRun = () => RunId.make(randomUUID())

/** An input in the rendered form that tells the scripted model what to do. */
export const inputOf = (deliveryId: DeliveryId, ...script: ReadonlyArray<Step>): string =>
  `${renderDeliveryHeader(deliveryId, { agent: "test" })}\n${script.length === 0 ? "hello" : writeSteps(...script)}\n`

/** Text that streams for as long as a test can wait. */
export const endless: Step = { text: "word ", chunks: 10_000, gap: 20 }

export const command = (cmd: string): Step => ({ tool: { name: "exec_command", args: { cmd } } })

export interface McpStandIn {
  readonly url: string
  readonly token: string
  /** The arguments of every call, oldest first. */
  readonly calls: ReadonlyArray<unknown>
}

const Request = Schema.parseJson(Schema.Struct({
  id: Schema.optional(Schema.Number),
  method: Schema.String,
  params: Schema.optional(Schema.Struct({
    protocolVersion: Schema.optional(Schema.String),
    arguments: Schema.optional(Schema.Unknown)
  }))
}))
const encode = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const tool = {
  name: "room_send",
  description: "Sends a message to a room.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } }
}

const bodyOf = async (request: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

/** The least MCP server that Codex accepts. It answers nobody without the token. */
export const mcpStandIn: Effect.Effect<McpStandIn, never, Scope.Scope> = Effect.gen(function*() {
  const token = randomUUID()
  const calls: Array<unknown> = []
  const resultOf = (request: typeof Request.Type): unknown => {
    if (request.method === "tools/list") return { tools: [tool] }
    if (request.method === "tools/call") {
      calls.push(request.params?.arguments)
      return { content: [{ type: "text", text: "sent" }] }
    }
    const serverInfo = { name: "fleet", version: "1" }
    return { protocolVersion: request.params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
  }
  const server = createServer((incoming, response) => {
    if (incoming.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end()
    if (incoming.method !== "POST") return void response.writeHead(405).end()
    void bodyOf(incoming).then((body) => {
      const request = Schema.decodeSync(Request)(body)
      if (request.id === undefined) return void response.writeHead(202).end()
      response.writeHead(200, { "content-type": "application/json" })
      response.end(encode({ jsonrpc: "2.0", id: request.id, result: resultOf(request) }))
    })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}/mcp`, token, calls }
})

export interface CodexTest {
  readonly folder: string
  readonly engine: NativeEngine
  readonly scripted: ScriptedModel
  readonly mcp: McpStandIn
  readonly activation: Activation
  readonly config: CodexConfig
}

/** An engine with its folder, and an activation for it without a binding. */
export const setUp = (changes: Partial<CodexConfig> = {}): Effect.Effect<CodexTest, never, Scope.Scope> =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const workFolder = join(folder, "work")
    const catalog = join(folder, "models.json")
    mkdirSync(workFolder)
    writeFileSync(catalog, modelCatalog())
    const scripted = yield* Effect.orDie(serve({ script: steps }))
    const mcp = yield* mcpStandIn
    const provider: CodexProvider = {
      id: scriptedProviderId,
      name: "Scripted",
      baseUrl: scripted.baseUrl,
      modelCatalog: catalog,
      keyVariable: null,
      requestMaxRetries: 0,
      streamMaxRetries: 0
    }
    const config: CodexConfig = {
      binary: codexBinary,
      hostLogin: null,
      hostEnvironment: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder },
      provider,
      ...changes
    }
    const activation: Activation = {
      agentId: AgentId.make(randomUUID()),
      context: sharedContext,
      runId: newRun(),
      home: join(folder, "home"),
      workFolder,
      model: scriptedModelId,
      effort: "low",
      instructions: "Answer briefly.",
      tools: { mcpUrl: mcp.url, mcpToken: mcp.token, socketPath: join(folder, "agent.sock") },
      binding: null
    }
    return { folder, engine: yield* CodexEngine.make(config), scripted, mcp, activation, config }
  })

export interface Watched extends NativeSession {
  /** Waits for an event that fits, among all since the session's start. */
  readonly until: <E extends EngineEvent["_tag"]>(
    tag: E,
    fits?: (event: Extract<EngineEvent, { readonly _tag: E }>) => boolean
  ) => Effect.Effect<Extract<EngineEvent, { readonly _tag: E }>>
  readonly seen: Effect.Effect<ReadonlyArray<EngineEvent>>
}

/** The session with all its events kept, so that a test can wait for what has already been. */
export const watch = (session: NativeSession): Effect.Effect<Watched, never, Scope.Scope> =>
  Effect.gen(function*() {
    const events = yield* SubscriptionRef.make(Chunk.empty<EngineEvent>())
    yield* session.events.pipe(
      Stream.runForEach((event) => SubscriptionRef.update(events, Chunk.append(event))),
      Effect.forkScoped
    )
    const until: Watched["until"] = (tag, fits = () => true) => {
      const isMeant = (event: EngineEvent): event is Extract<EngineEvent, { readonly _tag: typeof tag }> =>
        event._tag === tag
      return events.changes.pipe(
        Stream.filterMap((all) =>
          Option.fromNullable(Chunk.toReadonlyArray(all).find((event) => isMeant(event) && fits(event)))
        ),
        Stream.filter(isMeant),
        Stream.runHead,
        Effect.flatten,
        Effect.timeout("25 seconds"),
        Effect.orDie
      )
    }
    return { ...session, until, seen: Effect.map(events.get, Chunk.toReadonlyArray) }
  })

export const activate = (test: CodexTest, changes: Partial<Activation> = {}) =>
  Effect.flatMap(test.engine.activate({ ...test.activation, ...changes }), watch)

/** Submits and waits until the history proves it; the receipt, and the turn that it started. */
export const deliver = (
  test: CodexTest,
  session: Watched,
  after: HistoryPosition,
  deliveryId: DeliveryId,
  ...script: ReadonlyArray<Step>
) =>
  Effect.gen(function*() {
    const { turnId } = yield* session.submit({ deliveryId, text: inputOf(deliveryId, ...script) })
    const receipt: Receipt = yield* Effect.flatten(
      test.engine.history.findReceipt(session.binding, after, deliveryId)
    ).pipe(Effect.retry({ schedule: Schedule.spaced("10 millis"), times: 1000 }))
    return { receipt, turnId }
  })

export const kill9 = (session: NativeSession) =>
  Effect.sync(() => {
    process.kill(-session.processId, "SIGKILL")
  })
