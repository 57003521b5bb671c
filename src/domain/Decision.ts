// What one event means for one agent, and who decides it. Each check is separate: self or control, permission,
// membership, policy, freshness. Pure; crossfire stores the first outcome, and that one stands.
import { Schema } from "effect"
import type { UserId } from "./Ids.ts"
import { AgentId, EventId, RoomId } from "./Ids.ts"
import { isControl, isEdit, isRedacted, type MatrixEvent, mentionedUsers } from "./MatrixEvent.ts"

/** `wake` and `mention` start the agent; `context` travels with a later one; `own` and `control` are never given. */
export const DecisionKind = Schema.Literal("wake", "mention", "context", "own", "control")
export type DecisionKind = typeof DecisionKind.Type

/** One entry of a wake policy. A policy without entries wakes for nobody. */
export const WakeSelection = Schema.Union(
  Schema.Struct({ kind: Schema.Literal("person"), userId: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("person-and-agents"), userId: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("agent"), agentId: AgentId })
)
export type WakeSelection = typeof WakeSelection.Type

/** Who sent an event, as crossfire's own tables know it. Display names play no part. */
export type Sender =
  | {
    readonly kind: "person"
    readonly userId: UserId
    /** Not deactivated. Whoever is not known to the instance is as active as anybody. */
    readonly active: boolean
  }
  | {
    readonly kind: "agent"
    readonly userId: UserId
    readonly agentId: AgentId
    readonly owner: UserId
    readonly ownerActive: boolean
    readonly active: boolean
  }
  | { readonly kind: "crossfire"; readonly userId: UserId }

/** What is known of the agent when the event is decided. */
export interface DecisionInput {
  readonly event: MatrixEvent
  readonly sender: Sender
  readonly agent: { readonly agentId: AgentId; readonly userId: UserId }
  readonly permitted: boolean
  readonly joined: boolean
  readonly policy: ReadonlyArray<WakeSelection>
}

export const selects = (policy: ReadonlyArray<WakeSelection>, sender: Sender): boolean =>
  policy.some((entry) => {
    switch (entry.kind) {
      case "person":
        return sender.kind === "person" && sender.active && sender.userId === entry.userId
      case "person-and-agents":
        return (sender.kind === "person" && sender.active && sender.userId === entry.userId) ||
          (sender.kind === "agent" && sender.active && sender.ownerActive && sender.owner === entry.userId)
      case "agent":
        return sender.kind === "agent" && sender.active && sender.agentId === entry.agentId
    }
  })

/** Only a message can start an agent: state, reactions, edits, redactions and what was redacted are context at most. */
const canWake = (event: MatrixEvent): boolean =>
  event.type === "m.room.message" && event.state_key === undefined && !isEdit(event) && !isRedacted(event) &&
  event.content["msgtype"] !== "m.notice"

export const decide = (input: DecisionInput): DecisionKind => {
  const { event, sender, agent } = input
  if (sender.userId === agent.userId) return "own"
  if (isControl(event) && sender.kind === "crossfire") return "control"
  if (!input.permitted || !input.joined) return "context"
  if (!canWake(event) || !selects(input.policy, sender)) return "context"
  return mentionedUsers(event).includes(agent.userId) ? "mention" : "wake"
}

/** A decided event that has not been delivered yet and starts the agent. */
export class OpenWake extends Schema.Class<OpenWake>("OpenWake")({
  eventId: EventId,
  roomId: RoomId,
  kind: Schema.Literal("wake", "mention")
}) {}
