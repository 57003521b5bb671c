// The messaging tool over MCP on loopback: stateless, one tool, one bearer token per activation. It answers nobody who
// comes by another host name, from a web page, or without a token that is open now.
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { Effect, FiberSet, type Scope } from "effect"
import { createHash, randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { maxToolBodyBytes } from "../../domain/api/AgentSocket.ts"
import { type ListenFailed, serve } from "../http/ScopedHttpServer.ts"
import { outcomeInWords, readRoomSend, roomSendDescription, roomSendInput, roomSendName } from "./RoomSendTool.ts"
import type { ToolCaller } from "./ToolCaller.ts"

const path = "/mcp"

export interface McpServer {
  readonly url: string
  /** A token under which this caller's tool can be used until the scope closes; calls that still run end with it. */
  readonly admit: (caller: ToolCaller) => Effect.Effect<string, never, Scope.Scope>
}

/** A tool call of an admitted activation; it runs in the activation's scope. */
type Call = (callId: string | null, given: unknown) => Promise<CallToolResult>

const keyOf = (token: string): string => createHash("sha256").update(token).digest("hex")

const refuse = (response: ServerResponse, status: number, reason: string) => {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`${reason}\n`)
}

/** The bearer token, whatever the case of the scheme's name. */
const bearerOf = (request: IncomingMessage): string | null =>
  /^Bearer +([A-Za-z0-9_-]{43})$/iu.exec(request.headers.authorization ?? "")?.[1] ?? null

/** Codex names every call; the turn belongs to the name, since some providers count their calls anew in each turn. */
const callIdOf = (meta: Readonly<Record<string, unknown>> | undefined): string | null => {
  const callId = meta?.["callId"]
  if (typeof callId !== "string" || callId === "") return null
  const turn = meta?.["x-codex-turn-metadata"]
  const turnId = typeof turn === "object" && turn !== null && "turn_id" in turn ? turn.turn_id : null
  return typeof turnId === "string" ? `${turnId} ${callId}` : callId
}

/** One exchange: the protocol's server lives as long as its HTTP response. */
const exchange = async (call: Call, request: IncomingMessage, response: ServerResponse) => {
  const server = new Server({ name: "fleet", version: "1" }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{
      name: roomSendName,
      description: roomSendDescription,
      inputSchema: roomSendInput,
      // Without them Codex asks the owner for each call, or refuses it.
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false }
    }]
  }))
  server.setRequestHandler(
    CallToolRequestSchema,
    ({ params }) =>
      params.name === roomSendName
        ? call(callIdOf(params._meta), params.arguments)
        : { isError: true, content: [{ type: "text", text: `There is no tool of this name; ${roomSendName} is.` }] }
  )
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse: true,
    maxRequestBodySize: maxToolBodyBytes
  })
  response.once("close", () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response)
}

export const make: Effect.Effect<McpServer, ListenFailed, Scope.Scope> = Effect.gen(function*() {
  const admitted = new Map<string, Call>()
  let host = ""

  const handle = (request: IncomingMessage, response: ServerResponse) => {
    // A page in a browser of this machine can reach loopback: it shows by its Origin, or by the name it came by.
    if (request.headers.host !== host) return refuse(response, 421, "This is not the host you asked for.")
    if (request.headers.origin !== undefined) return refuse(response, 403, "Requests from web pages are not answered.")
    if (request.url !== path) return refuse(response, 404, "There is nothing here.")
    const token = bearerOf(request)
    const call = token === null ? undefined : admitted.get(keyOf(token))
    if (call === undefined) return refuse(response, 401, "The token is not one of a running activation.")
    if (request.method !== "POST") {
      response.setHeader("allow", "POST")
      return refuse(response, 405, "Only POST is answered: there are no sessions.")
    }
    exchange(call, request, response).catch(() => response.headersSent ? response.destroy() : refuse(response, 500, ""))
  }

  const port = yield* serve({ port: 0 }, handle)
  host = `127.0.0.1:${port}`

  const admit: McpServer["admit"] = (caller) =>
    Effect.gen(function*() {
      const run = yield* FiberSet.makeRuntimePromise<never, CallToolResult, never>()
      const answer = (text: string, isError: boolean): CallToolResult => ({
        isError,
        content: [{ type: "text", text }]
      })
      // Whoever asked may hang up meanwhile: a message that is on its way is sent to its end, in bounded time.
      const call: Call = (callId, given) =>
        run(
          Effect.flatMap(readRoomSend(given), (message) => caller.send(callId, message)).pipe(
            Effect.match({
              onSuccess: (outcome) => answer(outcomeInWords(outcome), false),
              onFailure: (error) => answer(error.message, true)
            })
          )
        )
      const token = yield* Effect.sync(() => randomBytes(32).toString("base64url"))
      const key = keyOf(token)
      yield* Effect.acquireRelease(
        Effect.sync(() => admitted.set(key, call)),
        () => Effect.sync(() => admitted.delete(key))
      )
      return token
    })
  return { url: `http://${host}${path}`, admit }
})
