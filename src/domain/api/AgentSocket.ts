// The contract of an agent's own Unix socket: the socket is the identity, so no payload names an agent or a context.
// The `agent` command and Pi's extension speak it. Declarations only.
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { Schema } from "effect"
import { AgentId, ContextKey, EventId, UserId } from "../Ids.ts"
import { RegisteredName } from "../Roster.ts"

/** `sent`: it stands in the room. `queued`: stored by fleetd and sent as soon as crossfire takes it; do not repeat it. */
export const SendOutcome = Schema.Struct({
  status: Schema.Literal("sent", "queued"),
  eventId: Schema.NullOr(EventId)
})
export type SendOutcome = typeof SendOutcome.Type

/** The message will not be sent as it is. The reason says what to change. */
export class ToolRefused extends Schema.TaggedError<ToolRefused>()(
  "ToolRefused",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 422 })
) {
  override get message(): string {
    return this.reason
  }
}

/** Nothing was stored; the same call can be made again. */
export class ToolUnavailable extends Schema.TaggedError<ToolUnavailable>()(
  "ToolUnavailable",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 503 })
) {
  override get message(): string {
    return this.reason
  }
}

/** Checked by the handler rather than here, so that the agent reads what to change instead of a schema's complaint. */
export const SendRequest = Schema.Struct({
  /** Names the call within this activation: made again with it, the message is not sent twice. */
  toolCallId: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.maxLength(200)))),
  room: Schema.String,
  text: Schema.String,
  replyTo: Schema.optional(Schema.NullOr(Schema.String)),
  mentions: Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))
})
export type SendRequest = typeof SendRequest.Type

export const WhoAmI = Schema.Struct({
  agentId: AgentId,
  name: RegisteredName,
  userId: UserId,
  owner: UserId,
  context: ContextKey
})
export type WhoAmI = typeof WhoAmI.Type

const tools = HttpApiGroup.make("tools", { topLevel: true })
  .add(
    HttpApiEndpoint.post("send", "/v1/send")
      .setPayload(SendRequest)
      .addSuccess(SendOutcome)
      .addError(ToolRefused).addError(ToolUnavailable)
  )
  .add(
    HttpApiEndpoint.get("whoami", "/v1/whoami")
      .addSuccess(WhoAmI)
      .addError(ToolUnavailable)
  )

export class AgentSocketApi extends HttpApi.make("agent-socket").add(tools) {}

/** The longest request body: a message of `maxSendBytes` with every character escaped, and its frame. */
export const maxToolBodyBytes = 8 * 1024 * 1024
