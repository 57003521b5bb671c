// One input for one context on its way into the native history: its states, what proves what, and which input comes next.
// Pure. The definition that this follows is docs/delivery.md.
import { Schema } from "effect"
import { Cursor } from "./Cursor.ts"
import { HistoryPosition } from "./History.ts"
import { AgentId, ContextKey, DeliveryId, EventId, OperationId, RoomId, RunId, TurnId } from "./Ids.ts"

/**
 * `prepared`: stored, not yet given to the engine. `submitted`: given, receipt not yet seen. `unknown`: neither receipt
 * nor absence can be proven; its notice stands for it. `confirmed`: the user entry stands in the history.
 * `discarded`: was never submitted, or proven absent and no longer fits.
 */
export const PublicationState = Schema.Literal("prepared", "submitted", "unknown", "confirmed", "discarded")
export type PublicationState = typeof PublicationState.Type

/** `notice` stands for an unknown input (with the reminder in it where both are due); `reminder` and `continue` move nothing. */
export const PublicationKind = Schema.Literal("batch", "notice", "reminder", "continue")
export type PublicationKind = typeof PublicationKind.Type

export class CursorMove extends Schema.Class<CursorMove>("CursorMove")({
  roomId: RoomId,
  /** What the stored cursor must still be; null: the room had none. */
  base: Schema.NullOr(Cursor),
  next: Cursor,
  /** The room's `latest` that was known before the boundary was taken; null while the window is not finished. */
  seenLatest: Schema.NullOr(Schema.Int)
}) {}

export class CoveredEvent extends Schema.Class<CoveredEvent>("CoveredEvent")({
  roomId: RoomId,
  eventId: EventId
}) {}

export class Publication extends Schema.Class<Publication>("Publication")({
  deliveryId: DeliveryId,
  agentId: AgentId,
  context: ContextKey,
  kind: PublicationKind,
  state: PublicationState,
  text: Schema.String,
  authorityRevision: Schema.Int,
  position: HistoryPosition,
  runId: Schema.NullOr(RunId),
  bootId: Schema.NullOr(Schema.String),
  turnId: Schema.NullOr(TurnId),
  /** How often absence was proven or the engine refused it. */
  failures: Schema.Int,
  /** For a notice: the unknown publication whose moves, events and items it takes over. */
  inherits: Schema.NullOr(DeliveryId),
  /** The newest redaction that was known before it was made: a later one of what it covers discards it. */
  redactionsKnown: Schema.optionalWith(Schema.Int, { default: () => 0 }),
  moves: Schema.Array(CursorMove),
  events: Schema.Array(CoveredEvent),
  items: Schema.Array(OperationId)
}) {}

/** How often an input may be proven absent or refused before its context is held and the owner told. */
export const maxFailures = 3

/** What is known about a submitted input. `receipt` has been looked for after everything else was established. */
export interface Evidence {
  readonly receipt: boolean
  /** The process that could write the entry is gone and what it left was swept. */
  readonly writerDead: boolean
  /** The history itself says that this input's turn ended (Codex only). */
  readonly turnEnded: boolean
  /** The machine went down since the submit, so written bytes may be gone. */
  readonly uncleanBoot: boolean
}

export type Verdict = "confirmed" | "absent" | "unknown" | "wait"

/** A receipt proves; absence needs proof too, and a time-out is none. */
export const verdict = (evidence: Evidence): Verdict => {
  if (evidence.receipt) return "confirmed"
  if (!evidence.writerDead && !evidence.turnEnded) return "wait"
  return evidence.uncleanBoot ? "unknown" : "absent"
}

/** What a context holds when the next input is chosen. */
export interface ContextSituation {
  /** An unknown input that no confirmed notice stands for yet. */
  readonly unknown: boolean
  /** The process was started anew over unfinished work and was not reminded yet. */
  readonly reminderDue: boolean
  /** The last turn failed or was cut, no restart since, and the bound on `continue` inputs is not reached. */
  readonly continueDue: boolean
  /** Open wakes that no open or confirmed publication covers, or stored items. */
  readonly inputWaits: boolean
}

export type NextInput = "notice" | "reminder" | "batch" | "continue" | "none"

/** The order in a context: notice, reminder, ordinary input; `continue` falls away where any input waits. */
export const nextInput = (situation: ContextSituation): NextInput => {
  if (situation.unknown) return "notice"
  if (situation.reminderDue) return "reminder"
  if (situation.inputWaits) return "batch"
  return situation.continueDue ? "continue" : "none"
}

/** How often a failed turn is continued before the owner has to act. */
export const maxContinues = 3
