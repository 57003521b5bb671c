// The real engines against the scripted model: each runs a turn, calls the offered `room_send`, and shows the model's text.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Schema, type Scope, Stream, SubscriptionRef } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { encodeManifest, manifestName, manifestOf, planFiles, renderFiled } from "../../../src/domain/FiledInput.ts"
import { DeliveryId, EventId, RoomId, UserId } from "../../../src/domain/Ids.ts"
import type { BatchInput } from "../../../src/domain/InputText.ts"
import { RoomRecord } from "../../../src/domain/Level.ts"
import { scriptedEfforts, scriptedModelId, scriptedProviderId } from "../../../src/layers/model/ModelCatalog.ts"
import { responder } from "../../../src/layers/model/ResponderScript.ts"
import { serve } from "../../../src/layers/model/ScriptedModel.ts"
import { steps, writeSteps } from "../../../src/layers/model/StepsScript.ts"
import { lines } from "../../../src/layers/process/LineReader.ts"
import { type ProcessSpec, spawn } from "../../../src/layers/process/ManagedProcess.ts"
import { inputOf, messageBlock, writeCodexHome, writePiHome } from "../../support/ScriptedModel.ts"

const engines = join(import.meta.dirname, "../../../.tools/engines/node_modules")
const codexBinary = join(engines, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
const piProgram = join(engines, "@earendil-works/pi-coding-agent/dist/bundle/cli.js")
const path = `${dirname(process.execPath)}:/usr/bin:/bin`

const Json = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
type Json = typeof Json.Type
const decode = Schema.decodeSync(Json)
const encode = Schema.encodeSync(Json)

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "scripted-model-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** A process that speaks JSON lines; `until` waits for one that fits, from the first one on. */
const talkTo = (spec: Omit<ProcessSpec, "marker" | "grace" | "stopBy">) =>
  Effect.gen(function*() {
    const marker = ["SCRIPTED_MODEL_TEST", spec.cwd] as const
    const child = yield* spawn({ ...spec, marker, grace: "5 seconds", stopBy: "stdin" })
    const seen = yield* SubscriptionRef.make<ReadonlyArray<Json>>([])
    yield* lines(child.stdout, 16 * 1024 * 1024).pipe(
      Stream.runForEach((line) => SubscriptionRef.update(seen, (before) => [...before, decode(line)])),
      Effect.forkScoped
    )
    const until = (fits: (message: Json) => boolean) =>
      seen.changes.pipe(
        Stream.filterMap((messages) => Option.fromNullable(messages.find(fits))),
        Stream.runHead,
        Effect.flatten,
        Effect.timeout("25 seconds")
      )
    const call = (message: Json) =>
      Effect.zipRight(child.write(`${encode(message)}\n`), until((answer) => answer["id"] === message["id"]))
    return { seen: seen.get, until, call, send: (message: Json) => child.write(`${encode(message)}\n`) }
  })

/** The least MCP server that Codex accepts: one tool, which records its arguments. */
const mcpServer = (calls: Array<unknown>): Effect.Effect<string, never, Scope.Scope> => {
  const tool = {
    name: "room_send",
    description: "Sends a message to a room.",
    inputSchema: {
      type: "object",
      properties: { room: { type: "string" }, text: { type: "string" }, reply_to: { type: "string" } },
      required: ["room", "text"]
    },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false }
  }
  const resultOf = (method: unknown, params: Json): Json => {
    if (method === "tools/list") return { tools: [tool] }
    if (method === "tools/call") {
      calls.push(params["arguments"])
      return { content: [{ type: "text", text: "sent $answer" }] }
    }
    const serverInfo = { name: "fleet", version: "1" }
    return { protocolVersion: params["protocolVersion"], capabilities: { tools: {} }, serverInfo }
  }
  const Request = Schema.parseJson(Schema.Struct({
    id: Schema.optional(Schema.Unknown),
    method: Schema.String,
    params: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), { default: () => ({}) })
  }))
  return Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((incoming, response) => {
        const body: Array<Buffer> = []
        incoming.on("data", (chunk: Buffer) => body.push(chunk))
        incoming.on("end", () => {
          if (incoming.method !== "POST") return response.writeHead(405).end()
          const { id, method, params } = Schema.decodeSync(Request)(Buffer.concat(body).toString())
          if (id === undefined) return response.writeHead(202).end()
          response.writeHead(200, { "content-type": "application/json" })
          return response.end(encode({ jsonrpc: "2.0", id, result: resultOf(method, params) }))
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          server.close()
          server.closeAllConnections()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}/mcp`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ url }) => url))
}

const decodeStarted = Schema.decodeUnknown(
  Schema.Struct({ result: Schema.Struct({ thread: Schema.Struct({ id: Schema.String }) }) })
)

const startCodex = (baseUrl: string, calls: Array<unknown>) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const home = join(folder, "codex")
    yield* writeCodexHome(home, baseUrl)
    const mcpUrl = yield* mcpServer(calls)
    const env = { CODEX_HOME: home, HOME: folder, PATH: path }
    const codex = yield* talkTo({ command: codexBinary, args: ["app-server"], cwd: folder, env })
    const clientInfo = { name: "test", version: "1" }
    yield* codex.call({ id: 1, method: "initialize", params: { clientInfo, capabilities: { experimentalApi: true } } })
    yield* codex.send({ method: "initialized" })
    const models = yield* codex.call({ id: 2, method: "model/list", params: { includeHidden: true } })
    const config = { mcp_servers: { fleet: { url: mcpUrl, required: true } } }
    const started = yield* codex.call({
      id: 3,
      method: "thread/start",
      params: { model: scriptedModelId, cwd: folder, sandbox: "read-only", approvalPolicy: "never", config }
    })
    const { result } = yield* decodeStarted(started)
    const turn = (id: number, text: string) =>
      codex.call({
        id,
        method: "turn/start",
        params: { threadId: result.thread.id, effort: "medium", input: [{ type: "text", text }] }
      })
    return { codex, models, turn }
  })

const startPi = (baseUrl: string) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const home = join(folder, "pi")
    yield* writePiHome(home, baseUrl)
    const extension = join(folder, "room.ts")
    writeFileSync(
      extension,
      `import { Type } from "typebox"
export default (pi) => pi.registerTool({
  name: "room_send", label: "Send", description: "Sends a message to a room.",
  parameters: Type.Object({ room: Type.String(), text: Type.String(), reply_to: Type.Optional(Type.String()) }),
  execute: async () => ({ content: [{ type: "text", text: "sent $answer" }], details: {} })
})
`
    )
    const model = ["--provider", scriptedProviderId, "--model", scriptedModelId, "--thinking", "medium"]
    return yield* talkTo({
      command: process.execPath,
      args: [piProgram, "--mode", "rpc", ...model, "-na", "-ne", "-e", extension],
      cwd: folder,
      env: { PI_CODING_AGENT_DIR: home, PI_OFFLINE: "1", PI_TELEMETRY: "0", HOME: folder, PATH: path }
    })
  })

const input = inputOf(
  messageBlock({ eventId: "$one", roomId: "!a:test", text: "first" }),
  messageBlock({ eventId: "$two", roomId: "!b:test", text: "second" })
)
const answers = [
  { room: "!a:test", text: "Re: first", reply_to: "$one" },
  { room: "!b:test", text: "Re: second", reply_to: "$two" }
]

const said = (eventId: string, roomId: string, text: string, kind: RoomRecord["kind"]) =>
  new RoomRecord({
    eventId: EventId.make(eventId),
    roomId: RoomId.make(roomId),
    kind,
    sender: UserId.make("@alice:test"),
    senderRole: "owner",
    senderAgent: null,
    displayName: null,
    sentAtMillis: 0,
    type: "m.room.message",
    form: "message",
    text,
    replyTo: null,
    relatesTo: null
  })

/** What stands for an input that is too large: the messages are in files, among much that needs no answer. */
const manifestIn = (folder: string) =>
  Effect.sync(() => {
    const large: BatchInput = {
      deliveryId: DeliveryId.make("5b0f7a52-6b1e-4c55-9f3e-1f0a3f8f4a01"),
      agentName: "agent",
      rooms: [],
      records: [
        said("$context", "!a:test", "x".repeat(200_000), "context"),
        said("$one", "!a:test", "first", "wake"),
        said("$two", "!b:test", "second", "mention")
      ],
      items: []
    }
    const files = planFiles(large, [])
    for (const { entry, text } of files) writeFileSync(join(folder, entry.name), text)
    const size = { bytes: 1, sha256: "00" }
    const manifest = manifestOf(large, files.map(({ entry }) => ({ ...entry, ...size })), 0)
    const path = join(folder, manifestName)
    writeFileSync(path, encodeManifest(manifest))
    return renderFiled(large, manifest, { path, ...size })
  })

describe("EngineTurn", () => {
  it.scopedLive("Codex answers each message through its MCP tool and ends the turn", () =>
    Effect.gen(function*() {
      const calls: Array<unknown> = []
      const model = yield* serve({ script: responder() })
      const { codex, models, turn } = yield* startCodex(model.baseUrl, calls)
      expect(models).toMatchObject({
        result: {
          data: [{
            model: scriptedModelId,
            supportedReasoningEfforts: scriptedEfforts.map((effort) => ({ reasoningEffort: effort }))
          }]
        }
      })
      yield* turn(4, input)
      const completed = yield* codex.until(({ method }) => method === "turn/completed")
      expect(completed).toMatchObject({ params: { turn: { status: "completed", error: null } } })
      expect(calls).toEqual(answers)
      const requests = yield* model.requests.get
      expect(requests.map(({ effort, model }) => [effort, model])).toEqual(
        [1, 2, 3].map(() => ["medium", scriptedModelId])
      )
      // Functions, one namespace a server, no "code mode" and no tool that would load others first.
      expect(requests[0]?.offered).toContainEqual({ name: "room_send", namespace: "mcp__fleet" })
      expect(requests[0]?.offered).toContainEqual({ name: "exec_command", namespace: null })
      const names = requests[0]?.offered.map(({ name }) => name)
      expect(names).not.toContain("exec")
      expect(names).not.toContain("tool_search")
    }), 60_000)

  it.scopedLive("Pi answers each message through its extension's tool and settles", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: responder() })
      const pi = yield* startPi(model.baseUrl)
      const levels = yield* pi.call({ id: "1", type: "get_available_thinking_levels" })
      expect(levels).toMatchObject({ success: true, data: { levels: scriptedEfforts } })
      yield* pi.call({ id: "2", type: "prompt", message: input })
      yield* pi.until(({ type }) => type === "agent_settled")
      const calls = (yield* pi.seen).filter(({ type }) => type === "tool_execution_start")
      expect(calls.map((call) => call["args"])).toEqual(answers)
      const failed = (yield* pi.seen).filter((message) => message["isError"] === true)
      expect(failed).toEqual([])
      const requests = yield* model.requests.get
      expect(requests.map(({ effort }) => effort)).toEqual(["medium", "medium", "medium"])
      expect(requests[0]?.offered).toContainEqual({ name: "room_send", namespace: null })
      expect(requests.at(-1)?.step.text).toBe("Done.")
    }), 60_000)

  it.scopedLive(
    "both read the file in place of a large input with their own shell, and answer what is there",
    () =>
      Effect.gen(function*() {
        const folder = yield* temporaryFolder
        const manifest = yield* manifestIn(folder)
        const model = yield* serve({ script: responder() })
        const calls: Array<unknown> = []
        const { codex, turn } = yield* startCodex(model.baseUrl, calls)
        yield* turn(4, manifest)
        yield* codex.until(({ method }) => method === "turn/completed")
        expect(calls).toEqual(answers)

        const pi = yield* startPi(model.baseUrl)
        yield* pi.call({ id: "1", type: "prompt", message: manifest })
        yield* pi.until(({ type }) => type === "agent_settled")
        const made = (yield* pi.seen).filter(({ type }) => type === "tool_execution_start")
        expect(made.slice(1).map((call) => call["args"])).toEqual(answers)
      }),
    60_000
  )

  it.scopedLive("both show reasoning, chunked text and the usage that a step names", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps })
      const usage = { in: 5000, cached: 4000, out: 70, reasoning: 30 }
      const text = writeSteps({ reasoning: "thinking", text: "visible", chunks: 3, gap: 1, usage })

      const { codex, turn } = yield* startCodex(model.baseUrl, [])
      yield* turn(4, text)
      yield* codex.until(({ method }) => method === "turn/completed")
      const shown = yield* codex.seen
      expect(shown.filter(({ method }) => method === "item/agentMessage/delta").length).toBe(3)
      expect(shown.find(({ method }) => method === "thread/tokenUsage/updated")).toMatchObject({
        params: {
          tokenUsage: {
            total: { inputTokens: 5000, cachedInputTokens: 4000, outputTokens: 70, reasoningOutputTokens: 30 }
          }
        }
      })

      const pi = yield* startPi(model.baseUrl)
      yield* pi.call({ id: "1", type: "prompt", message: text })
      yield* pi.until(({ type }) => type === "agent_settled")
      const ended = (yield* pi.seen).filter(({ type }) => type === "message_end").at(-1)
      expect(ended).toMatchObject({
        message: {
          content: [{ type: "thinking", thinking: "thinking" }, { type: "text", text: "visible" }],
          usage: { input: 1000, cacheRead: 4000, output: 70, reasoning: 30 },
          stopReason: "stop"
        }
      })
    }), 60_000)
})
