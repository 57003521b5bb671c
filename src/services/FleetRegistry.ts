// fleetd's own record of its fleet: identity, agents with desired state, credentials, bindings, runs. One root folder each.
import { Context, type Effect, type Option, type Redacted } from "effect"
import type { SecretHash } from "../domain/api/Crossfire.ts"
import type { FleetAgent, FleetIdentity, IntroducedAgent } from "../domain/FleetAgent.ts"
import type { Binding, HistoryPosition } from "../domain/History.ts"
import type { AgentId, ContextKey, RunId } from "../domain/Ids.ts"
import type { Level } from "../domain/Level.ts"
import type { InstanceKey } from "../domain/Roster.ts"
import type { StoreFailed } from "./Database.ts"

/** What an introduction gave, together with the tokens that fleetd made for it. */
export interface NewFleet {
  readonly identity: Omit<FleetIdentity, "rootId">
  readonly token: Redacted.Redacted
  readonly agents: ReadonlyArray<{
    readonly agent: IntroducedAgent
    readonly token: Redacted.Redacted
  }>
  /** Of the claim that it was introduced by. */
  readonly claim?: SecretHash | undefined
}

/** The credentials that stand now, for an enrollment that is to keep them. */
export interface HeldCredentials {
  readonly fleetToken: Redacted.Redacted
  readonly agentTokens: ReadonlyMap<InstanceKey, Redacted.Redacted>
  /** The claim whose introduction was kept last; null for one of before this was recorded. */
  readonly claim: SecretHash | null
}

/** New credentials that crossfire was or is to be asked to take; which of them it knows is not known yet. */
export interface PendingCredentials {
  readonly fleetToken: Redacted.Redacted
  readonly agentTokens: ReadonlyMap<AgentId, Redacted.Redacted>
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
    /**
     * Stores the introduction; the same one again changes nothing but settings. Existing bindings and cursors stay.
     * Credentials that were pending are dropped: those of the introduction stand.
     */
    readonly introduce: (fleet: NewFleet) => Effect.Effect<void, StoreFailed>
    readonly agents: Effect.Effect<ReadonlyArray<FleetAgent>, StoreFailed>
    readonly agent: (agentId: AgentId) => Effect.Effect<FleetAgent, StoreFailed>
    readonly fleetToken: Effect.Effect<Redacted.Redacted, StoreFailed>
    readonly agentToken: (agentId: AgentId) => Effect.Effect<Redacted.Redacted, StoreFailed>
    /** None before enrollment. */
    readonly credentials: Effect.Effect<Option.Option<HeldCredentials>, StoreFailed>
    readonly pendingCredentials: Effect.Effect<Option.Option<PendingCredentials>, StoreFailed>
    /** Saves these as pending, unless others are: then those are answered and nothing is saved. */
    readonly prepareCredentials: (fresh: PendingCredentials) => Effect.Effect<PendingCredentials, StoreFailed>
    /** crossfire took the pending ones: they stand from now on, and nobody's credential is refused any more. */
    readonly promoteCredentials: Effect.Effect<void, StoreFailed>
    /** crossfire did not take the pending ones, and nothing that was sent can make it take them. */
    readonly dropCredentials: Effect.Effect<void, StoreFailed>
    /** False, and nothing is changed, where that is no longer the agent's credential, or another may be by now. */
    readonly setCredentialRefused: (agentId: AgentId, refused: Redacted.Redacted) => Effect.Effect<boolean, StoreFailed>
    /**
     * What crossfire says of the agent now. Of a retired one no message is sent any more. True where that was not known.
     */
    readonly setStanding: (
      agentId: AgentId,
      said: Pick<Level, "name" | "standing">
    ) => Effect.Effect<boolean, StoreFailed>
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
