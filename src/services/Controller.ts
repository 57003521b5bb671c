// What the owner's commands can ask of the running fleet. Names are resolved before they come here; the desired state is
// saved before it is acted on.
import { Context, type Effect, type Option } from "effect"
import type { AgentStatus, DeliveryState, LeaseStatus } from "../domain/api/FleetSocket.ts"
import type { AgentId, OperationId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

export class Controller extends Context.Tag("crossfire/services/Controller")<
  Controller,
  {
    readonly status: Effect.Effect<
      { readonly lease: typeof LeaseStatus.Type; readonly agents: ReadonlyArray<AgentStatus> },
      StoreFailed
    >
    /** Saves that the agent is wanted, frees it where it was held, and lets waiting input start it. True: it was not. */
    readonly start: (agentId: AgentId) => Effect.Effect<boolean, StoreFailed>
    /** Saves that it is not wanted, and answers when its native processes are gone. True: it was wanted. */
    readonly stop: (agentId: AgentId) => Effect.Effect<boolean, StoreFailed>
    /** Stores a direct input; the same operation again changes nothing. A stopped agent keeps it until it is started. */
    readonly send: (item: {
      readonly agentId: AgentId
      readonly text: string
      readonly operationId: OperationId
    }) => Effect.Effect<void, StoreFailed>
    /** None: no such operation was stored. */
    readonly delivery: (operationId: OperationId) => Effect.Effect<Option.Option<DeliveryState>, StoreFailed>
  }
>() {}
