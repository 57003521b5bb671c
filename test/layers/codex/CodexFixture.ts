// What the tests of the Codex adapter share: the real Codex against the scripted model, and a messaging tool that only
// records.
import { Effect, Schema, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import { join } from "node:path"
import * as CodexEngine from "../../../src/layers/codex/CodexEngine.ts"
import type { CodexConfig, CodexProvider } from "../../../src/layers/codex/CodexSettings.ts"
import { modelCatalog, scriptedModelId, scriptedProviderId } from "../../../src/layers/model/ModelCatalog.ts"
import type { Step } from "../../../src/layers/model/Script.ts"
import { type ScriptedModel, serve } from "../../../src/layers/model/ScriptedModel.ts"
import { steps } from "../../../src/layers/model/StepsScript.ts"
import {
  activationIn,
  bareEnvironment,
  enginePackages,
  type EngineTest,
  temporaryFolder
} from "../../support/EngineSession.ts"

export const codexBinary = join(
  enginePackages,
  "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
)

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

export interface CodexTest extends EngineTest {
  readonly folder: string
  readonly scripted: ScriptedModel
  readonly mcp: McpStandIn
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
      hostEnvironment: bareEnvironment(folder),
      provider,
      ...changes
    }
    const activation = activationIn(folder, workFolder, scriptedModelId)
    const tools = { ...activation.tools, mcpUrl: mcp.url, mcpToken: mcp.token }
    const engine = yield* CodexEngine.make(config)
    return { folder, engine, scripted, mcp, activation: { ...activation, tools }, config }
  })
