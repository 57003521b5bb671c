// The ways to the messaging tool, made for one activation and gone with its scope: a socket and a loopback MCP token.
import { Context, type Effect, Schema, type Scope } from "effect"
import type { AgentId, ContextKey, RunId } from "../domain/Ids.ts"
import type { ToolAccess as Access } from "./NativeEngine.ts"

/** The socket could not be made (folder, path, permissions): the activation must not start. */
export class ToolAccessFailed extends Schema.TaggedError<ToolAccessFailed>()("ToolAccessFailed", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `The agent's tool socket ${this.path} could not be made: ${this.reason}`
  }
}

export class ToolAccess extends Context.Tag("crossfire/services/ToolAccess")<
  ToolAccess,
  {
    /** Whoever comes by this socket or token is this agent in this context; closing the scope ends both at once. */
    readonly open: (
      agentId: AgentId,
      context: ContextKey,
      runId: RunId
    ) => Effect.Effect<Access, ToolAccessFailed, Scope.Scope>
  }
>() {}
