// One activation as its tools know it: which agent and context calls, and under which operation a call is made.
import { Effect, Option } from "effect"
import { createHash } from "node:crypto"
import { type SendOutcome, type ToolRefused, ToolUnavailable, type WhoAmI } from "../../domain/api/AgentSocket.ts"
import { type AgentId, type ContextKey, OperationId, type RunId } from "../../domain/Ids.ts"
import { AgentTools } from "../../services/AgentTools.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { nextUuid, uuidOf } from "./Uuids.ts"

/** A message as a tool call asks for it, with nothing checked yet. */
export interface ToolMessage {
  readonly room: string
  readonly text: string
  readonly replyTo: string | null
  readonly mentions: ReadonlyArray<string>
}

export interface ToolCaller {
  /** `callId` names the call within the activation: the same call again is the same operation. Null: every call is new. */
  readonly send: (
    callId: string | null,
    message: ToolMessage
  ) => Effect.Effect<SendOutcome, ToolRefused | ToolUnavailable>
  readonly whoAmI: Effect.Effect<WhoAmI, ToolUnavailable>
}

/**
 * The operation of a named call. The message is part of it: some model providers give the same ID to a later call, and
 * another message must never pass for the one that was sent.
 */
const operationOf = (runId: RunId, callId: string, message: ToolMessage): OperationId => {
  const hash = createHash("sha256")
  for (const part of [runId, callId, message.room, message.text, message.replyTo ?? "", ...message.mentions]) {
    hash.update(`${Buffer.byteLength(part)}:`).update(part)
  }
  return OperationId.make(uuidOf(hash.digest(), 8))
}

export const make = (agentId: AgentId, context: ContextKey, runId: RunId) =>
  Effect.gen(function*() {
    const tools = yield* AgentTools
    const registry = yield* FleetRegistry
    const caller: ToolCaller = {
      send: (callId, message) =>
        Effect.gen(function*() {
          const operationId = callId === null
            ? OperationId.make(yield* nextUuid)
            : operationOf(runId, callId, message)
          return yield* tools.send(agentId, { ...message, operationId })
        }),
      whoAmI: Effect.gen(function*() {
        const { name, userId } = yield* registry.agent(agentId)
        const identity = yield* registry.identity
        if (Option.isNone(identity)) return yield* Effect.dieMessage("an agent runs in a root without a fleet")
        return { agentId, name, userId, owner: identity.value.owner, context }
      }).pipe(
        Effect.catchTag("StoreFailed", (failed) => Effect.fail(new ToolUnavailable({ reason: failed.message })))
      )
    }
    return caller
  })
