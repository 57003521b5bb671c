// Inputs that are not Matrix: stored before their command is answered, delivered in order, told apart by operation ID.
import { Context, type Effect, type Option } from "effect"
import type { AgentId, ContextKey, DeliveryId, OperationId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export interface DirectInput {
  readonly operationId: OperationId
  readonly kind: "direct" | "schedule"
  readonly text: string
  readonly storedAtMillis: number
}

/** How far one is: not in any input yet, in an open one, or proven in the history under `entry`. */
export type DirectInputState =
  | { readonly _tag: "Waiting" }
  | { readonly _tag: "Open"; readonly deliveryId: DeliveryId; readonly state: "prepared" | "submitted" | "unknown" }
  | { readonly _tag: "Delivered"; readonly agentId: AgentId; readonly deliveryId: DeliveryId; readonly entry: string }

export interface ProvenDelivery {
  readonly deliveryId: DeliveryId
  readonly entry: string
  readonly confirmedAtMillis: number
}

export class DirectInputs extends Context.Tag("crossfire/services/DirectInputs")<
  DirectInputs,
  {
    /** The same operation again changes nothing. */
    readonly store: (input: {
      readonly operationId: OperationId
      readonly agentId: AgentId
      readonly context: ContextKey
      readonly kind: "direct" | "schedule"
      readonly text: string
    }) => Effect.Effect<void, StoreFailed>
    /** Undelivered ones in the order in which they were stored; at most `limit`. */
    readonly waiting: (
      agentId: AgentId,
      context: ContextKey,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DirectInput>, StoreFailed>
    readonly waitingCount: (agentId: AgentId, context: ContextKey) => Effect.Effect<number, StoreFailed>
    /** None: no such operation was stored. */
    readonly state: (operationId: OperationId) => Effect.Effect<Option.Option<DirectInputState>, StoreFailed>
    /** The context's newest confirmed delivery of any kind. */
    readonly lastDelivery: (
      agentId: AgentId,
      context: ContextKey
    ) => Effect.Effect<Option.Option<ProvenDelivery>, StoreFailed>
  }
>() {}
