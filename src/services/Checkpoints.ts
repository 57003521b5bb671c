// How each context's last confirmed input went on: what unfinished work is told by.
import { Context, type Effect, type Option } from "effect"
import type { Checkpoint } from "../domain/Checkpoint.ts"
import type { AgentId, ContextKey, TurnId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export class Checkpoints extends Context.Tag("crossfire/services/Checkpoints")<
  Checkpoints,
  {
    readonly get: (agentId: AgentId, context: ContextKey) => Effect.Effect<Option.Option<Checkpoint>, StoreFailed>
    /** Only if the checkpoint is still about that turn. */
    readonly turnEnded: (
      agentId: AgentId,
      context: ContextKey,
      turnId: TurnId,
      end: "completed" | "interrupted" | "failed"
    ) => Effect.Effect<void, StoreFailed>
    /** The history told that this checkpoint's turn had ended regularly. Only if it is still the context's checkpoint. */
    readonly settleEnd: (checkpoint: Checkpoint) => Effect.Effect<void, StoreFailed>
  }
>() {}
