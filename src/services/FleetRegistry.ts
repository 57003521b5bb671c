// fleetd's own record of its fleet: identity, agents with desired state, credentials, bindings, runs. One root folder each.
import { Context, type Effect, type Option, type Redacted } from "effect"
import type { FleetAgent, FleetIdentity } from "../domain/FleetAgent.ts"
import type { Binding, HistoryPosition } from "../domain/History.ts"
import type { AgentId, ContextKey, RunId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

/** What an introduction gave, together with the tokens that fleetd made for it. */
export interface NewFleet {
  readonly identity: Omit<FleetIdentity, "rootId">
  readonly token: Redacted.Redacted
  readonly agents: ReadonlyArray<{
    readonly agent: Omit<FleetAgent, "enabled" | "paused" | "problem">
    readonly token: Redacted.Redacted
  }>
}

export interface KnownBinding {
  readonly binding: Binding
  readonly position: HistoryPosition
}

/** A native process's life as it was recorded before the process was started. */
export interface EngineRun {
  readonly runId: RunId
  readonly agentId: AgentId
  readonly context: ContextKey
  readonly bootId: string
}

export class FleetRegistry extends Context.Tag("crossfire/services/FleetRegistry")<
  FleetRegistry,
  {
    /** None before enrollment. */
    readonly identity: Effect.Effect<Option.Option<FleetIdentity>, StoreFailed>
    /** Stores the introduction; the same one again changes nothing but settings. Existing bindings and cursors stay. */
    readonly introduce: (fleet: NewFleet) => Effect.Effect<void, StoreFailed>
    readonly agents: Effect.Effect<ReadonlyArray<FleetAgent>, StoreFailed>
    readonly agent: (agentId: AgentId) => Effect.Effect<FleetAgent, StoreFailed>
    readonly fleetToken: Effect.Effect<Redacted.Redacted, StoreFailed>
    readonly agentToken: (agentId: AgentId) => Effect.Effect<Redacted.Redacted, StoreFailed>
    readonly setEnabled: (agentId: AgentId, enabled: boolean) => Effect.Effect<void, StoreFailed>
    readonly setPaused: (agentId: AgentId, paused: boolean) => Effect.Effect<void, StoreFailed>
    readonly setProblem: (agentId: AgentId, problem: string | null) => Effect.Effect<void, StoreFailed>
    /** The context's current binding. It was made in this root, or the daemon would not have started. */
    readonly binding: (
      agentId: AgentId,
      context: ContextKey
    ) => Effect.Effect<Option.Option<KnownBinding>, StoreFailed>
    /** Saves a binding that was just made, before its first input. */
    readonly bind: (
      agentId: AgentId,
      context: ContextKey,
      binding: Binding,
      position: HistoryPosition
    ) => Effect.Effect<void, StoreFailed>
    /** Recorded before the process starts, so that a sweep finds whatever a crash leaves. */
    readonly runStarted: (run: EngineRun) => Effect.Effect<void, StoreFailed>
    /** The process is gone and swept. `slept`: it was closed while idle, so the next one is no restart. */
    readonly runEnded: (runId: RunId, slept: boolean) => Effect.Effect<void, StoreFailed>
    /** Runs without an end: what a sweep at start looks for. */
    readonly openRuns: Effect.Effect<ReadonlyArray<EngineRun>, StoreFailed>
  }
>() {}
