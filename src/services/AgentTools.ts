// What an agent can do through its tool: deliberate messages to a room that it names. Whoever calls has established which
// agent it is; this port never guesses a destination.
import { Context, type Effect } from "effect"
import type { SendOutcome, ToolRefused, ToolUnavailable } from "../domain/api/AgentSocket.ts"
import type { AgentId, OperationId } from "../domain/Ids.ts"

export class AgentTools extends Context.Tag("crossfire/services/AgentTools")<
  AgentTools,
  {
    /**
     * Stores the message before it answers, then tries to send it for a bounded time. `queued` is a promise: it is sent
     * later, in order, without the agent. The same operation again changes nothing and tells how it went.
     */
    readonly send: (agentId: AgentId, message: {
      readonly operationId: OperationId
      /** As the agent gave them: checked here, so that the refusal says what to change. */
      readonly room: string
      readonly text: string
      readonly replyTo: string | null
      readonly mentions: ReadonlyArray<string>
    }) => Effect.Effect<SendOutcome, ToolRefused | ToolUnavailable>
  }
>() {}
