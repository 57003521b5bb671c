// ToolAccess on this machine: a socket in the root's own `run` folder and a token at the one MCP server of the daemon.
import { Effect, Layer } from "effect"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { AgentTools } from "../../services/AgentTools.ts"
import type { FleetRegistry } from "../../services/FleetRegistry.ts"
import { ToolAccess, ToolAccessFailed } from "../../services/ToolAccess.ts"
import { attempt } from "../files/FileCall.ts"
import * as PrivateFile from "../files/PrivateFile.ts"
import * as AgentSocketServer from "./AgentSocketServer.ts"
import * as McpServer from "./McpServer.ts"
import * as ToolCaller from "./ToolCaller.ts"

/** The folder of the agents' sockets. Names are short: a socket's path has little room. */
export const socketFolder = (root: string): string => join(root, "run")
/** Enough of a run ID to tell the runs of one daemon apart. */
const nameDigits = 12
export const agentSocketPath = (root: string, runId: string): string =>
  join(socketFolder(root), `${runId.replaceAll("-", "").slice(0, nameDigits)}.sock`)

/** Under the root lock: whatever stands there belongs to a daemon that is gone. */
const emptySocketFolder = (folder: string) =>
  PrivateFile.privateFolder(folder).pipe(
    Effect.zipRight(attempt(folder, async () => {
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
    })),
    Effect.mapError(() => new ToolAccessFailed({ path: folder, reason: "its folder cannot be prepared" }))
  )

export const make = (root: string) =>
  Effect.gen(function*() {
    const folder = socketFolder(root)
    yield* emptySocketFolder(folder)
    const services = yield* Effect.context<AgentTools | FleetRegistry>()
    const mcp = yield* McpServer.make.pipe(
      Effect.mapError((failed) => new ToolAccessFailed({ path: "127.0.0.1", reason: failed.reason }))
    )
    return ToolAccess.of({
      open: (agentId, context, runId) =>
        Effect.gen(function*() {
          const caller = yield* Effect.provide(ToolCaller.make(agentId, context, runId), services)
          const socketPath = agentSocketPath(root, runId)
          const failed = (reason: string) => new ToolAccessFailed({ path: socketPath, reason })
          // The same run opened again before: its socket's file would stand in the way.
          yield* Effect.tryPromise({
            try: () => rm(socketPath, { force: true }),
            catch: () => failed("the old socket's file cannot be removed")
          })
          yield* Effect.mapError(AgentSocketServer.open(socketPath, caller), ({ reason }) => failed(reason))
          const mcpToken = yield* mcp.admit(caller)
          return { mcpUrl: mcp.url, mcpToken, socketPath }
        })
    })
  })

export const layer = (root: string): Layer.Layer<ToolAccess, ToolAccessFailed, AgentTools | FleetRegistry> =>
  Layer.scoped(ToolAccess, make(root))
