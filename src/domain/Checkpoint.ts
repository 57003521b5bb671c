// What a context's last confirmed input started, and whether that work is finished. Pure.
import { Schema } from "effect"
import { AgentId, ContextKey, DeliveryId, RunId, TurnId } from "./Ids.ts"

export class Checkpoint extends Schema.Class<Checkpoint>("Checkpoint")({
  agentId: AgentId,
  context: ContextKey,
  nativeId: Schema.String,
  deliveryId: DeliveryId,
  /** The native process that took the input. */
  runId: RunId,
  turnId: Schema.NullOr(TurnId),
  /** Null: the turn has no known end. */
  turnEnd: Schema.NullOr(Schema.Literal("completed", "interrupted", "failed")),
  /** `continue` inputs since the last other one. */
  continues: Schema.Int
}) {}

/** Work that a restarted process must be reminded of. A turn that its interrupt ended has nothing left to continue. */
export const isUnfinished = (checkpoint: Checkpoint): boolean =>
  checkpoint.turnEnd === null || checkpoint.turnEnd === "failed"
