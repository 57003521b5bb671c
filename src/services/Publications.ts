// The record of inputs on their way: every transition is one transaction, and progress is written only with its proof.
// It decides nothing; docs/delivery.md defines the states.
import { Context, type Effect, type Option, Schema } from "effect"
import type { Checkpoint } from "../domain/Checkpoint.ts"
import type { HistoryPosition, Receipt } from "../domain/History.ts"
import type { AgentId, ContextKey, DeliveryId, RunId, TurnId } from "../domain/Ids.ts"
import type { Publication } from "../domain/Publication.ts"
import type { StoreFailed } from "./Database.ts"

/** What the input was made from no longer stands (a cursor moved, an event was removed): it is discarded and made again. */
export class BaseChanged extends Schema.TaggedError<BaseChanged>()("BaseChanged", { deliveryId: Schema.String }) {}

export class Publications extends Context.Tag("crossfire/services/Publications")<
  Publications,
  {
    /** The one that is prepared or submitted in this context. */
    readonly open: (agentId: AgentId, context: ContextKey) => Effect.Effect<Option.Option<Publication>, StoreFailed>
    /** The unknown one that no confirmed notice stands for. */
    readonly unknown: (agentId: AgentId, context: ContextKey) => Effect.Effect<Option.Option<Publication>, StoreFailed>
    readonly prepare: (publication: Publication) => Effect.Effect<void, StoreFailed>
    /** Needs the bases of its moves to be the stored cursors, and nothing of it removed since it was made. From here it is never discarded unless proven absent. */
    readonly submitted: (
      deliveryId: DeliveryId,
      run: { readonly runId: RunId; readonly bootId: string }
    ) => Effect.Effect<void, StoreFailed | BaseChanged>
    readonly turnKnown: (deliveryId: DeliveryId, turnId: TurnId) => Effect.Effect<void, StoreFailed>
    /**
     * The receipt, and all that follows from it, in one transaction: cursors, delivered IDs, items, the binding's
     * position, the checkpoint, the acknowledgment; for a notice also what the unknown one would have written.
     */
    readonly confirmed: (
      deliveryId: DeliveryId,
      receipt: Receipt,
      checkpoint: Checkpoint
    ) => Effect.Effect<void, StoreFailed>
    /** Proven absent or refused: prepared again under the same ID, one failure more. */
    readonly absent: (deliveryId: DeliveryId, position: HistoryPosition) => Effect.Effect<void, StoreFailed>
    readonly discarded: (deliveryId: DeliveryId) => Effect.Effect<void, StoreFailed>
    /** Neither proof: kept whole, and told to the agent by its notice. */
    readonly becameUnknown: (deliveryId: DeliveryId) => Effect.Effect<void, StoreFailed>
  }
>() {}
