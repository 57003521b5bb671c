// The port to a native coding agent: its process, its turns, and its history file as the only proof of delivery.
// It decides nothing about what to send or when; one input at a time per session is the caller's duty.
import { Context, type Effect, type Option, Schema, type Scope, type Stream } from "effect"
import { EngineKind, type ModelNotOffered, type ModelOffer } from "../domain/Engine.ts"
import type { Binding, HistoryBroken, HistoryPosition, Receipt } from "../domain/History.ts"
import type { AgentId, ContextKey, DeliveryId, RunId, TurnId } from "../domain/Ids.ts"

/** The engine is not installed, has an unsupported version, or its login is missing: nothing was started. */
export class EngineUnavailable extends Schema.TaggedError<EngineUnavailable>()("EngineUnavailable", {
  engine: EngineKind,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.engine} cannot be started: ${this.reason}`
  }
}

/** The native process ended or stopped answering. What it had taken is told by its history alone. */
export class EngineGone extends Schema.TaggedError<EngineGone>()("EngineGone", {
  engine: EngineKind,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.engine} is gone: ${this.reason}`
  }
}

/** The engine answered that it will not take this input (too large, no key, busy). It is in no history. */
export class InputRefused extends Schema.TaggedError<InputRefused>()("InputRefused", {
  engine: EngineKind,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.engine} refused the input: ${this.reason}`
  }
}

/** How the messaging tool reaches this activation. `mcpUrl` is loopback HTTP; the token is a secret. */
export interface ToolAccess {
  readonly mcpUrl: string
  readonly mcpToken: string
  readonly socketPath: string
}

export interface Activation {
  readonly agentId: AgentId
  readonly context: ContextKey
  readonly runId: RunId
  /** Private folder (0700) of this agent for the engine's own state; absolute. */
  readonly home: string
  /** Where the agent works; absolute, exists. */
  readonly workFolder: string
  readonly model: string
  readonly effort: string | null
  /** Standing instructions for the agent, Markdown. */
  readonly instructions: string
  readonly tools: ToolAccess
  /** `null` only where no binding was ever saved for this context. */
  readonly binding: Binding | null
}

export type EngineEvent =
  | { readonly _tag: "TurnStarted"; readonly turnId: TurnId }
  /** A hint to look into the history file; no proof. */
  | { readonly _tag: "UserEntrySeen" }
  /** Visible text of the agent, never reasoning. */
  | { readonly _tag: "Output"; readonly turnId: TurnId; readonly text: string }
  | {
    readonly _tag: "TurnEnded"
    readonly turnId: TurnId
    readonly status: "completed" | "interrupted" | "failed"
    readonly error: string | null
  }
  /** Always the last one. */
  | { readonly _tag: "Exited"; readonly reason: string }

export type InterruptOutcome = "requested" | "not-running" | "other-turn"

export interface NativeSession {
  /** Stands on disk before this session is handed out; the caller saves it before the first input. */
  readonly binding: Binding
  readonly processId: number
  /** Sends one input. Success says that the engine answered, and proves nothing. */
  readonly submit: (input: {
    readonly deliveryId: DeliveryId
    readonly text: string
  }) => Effect.Effect<{ readonly turnId: TurnId | null }, InputRefused | EngineGone>
  /** Stops that turn or none: a turn that is not the named one goes on. */
  readonly interrupt: (turnId: TurnId) => Effect.Effect<InterruptOutcome, EngineGone>
  /** One consumer; ends after `Exited`. Bounded: a consumer that stops reading ends the session, not the daemon. */
  readonly events: Stream.Stream<EngineEvent>
}

/** Reads history files, without the engine and without writing to them. Memory stays bounded whatever the file's size. */
export interface NativeHistory {
  /**
   * The end of the file, after checking header ID, the saved position's line, and (Pi) the parent chain behind it.
   * `known` is the last saved position, `null` for a binding that was just made. Syncs the file and its folder first.
   */
  readonly guard: (binding: Binding, known: HistoryPosition | null) => Effect.Effect<HistoryPosition, HistoryBroken>
  /** The user entry with this delivery ID behind `after`, looked for only where the ID belongs. */
  readonly findReceipt: (
    binding: Binding,
    after: HistoryPosition,
    deliveryId: DeliveryId
  ) => Effect.Effect<Option.Option<Receipt>, HistoryBroken>
  /** Whether the history itself says that this turn ended. Pi says nothing of the kind: always `none`. */
  readonly turnEnd: (
    binding: Binding,
    after: HistoryPosition,
    turnId: TurnId
  ) => Effect.Effect<Option.Option<"completed" | "aborted">, HistoryBroken>
  /**
   * Whether the work that the user entry at `receipt` started has its regular end in the history (Codex: the turn's
   * `task_complete`; Pi: the newest message is the assistant's with stop reason `stop`). Used after a crash alone, to
   * tell finished work from unfinished; it proves no absence.
   */
  readonly finished: (
    binding: Binding,
    receipt: HistoryPosition,
    turnId: TurnId | null
  ) => Effect.Effect<boolean, HistoryBroken>
}

export interface NativeEngine {
  readonly kind: EngineKind
  readonly history: NativeHistory
  /** What can be chosen, as the installed engine says. Starts nothing that outlives the call. */
  readonly models: (home: string) => Effect.Effect<ReadonlyArray<ModelOffer>, EngineUnavailable>
  /**
   * Starts the process for one activation; it lives in the scope (stdin close, TERM, KILL, then a sweep by run ID).
   * Refuses a model or effort that is not offered before anything runs. With a binding, resumes exactly that history.
   */
  readonly activate: (
    activation: Activation
  ) => Effect.Effect<NativeSession, EngineUnavailable | ModelNotOffered | EngineGone, Scope.Scope>
}

/** The engines of this daemon, by kind. */
export class NativeEngines extends Context.Tag("crossfire/services/NativeEngine/NativeEngines")<
  NativeEngines,
  { readonly get: (kind: EngineKind) => NativeEngine }
>() {}
