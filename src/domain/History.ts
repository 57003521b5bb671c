// What is known of a native history file: which one a context is bound to, how far it was seen, and what proves receipt.
import { Schema } from "effect"
import { EngineKind } from "./Engine.ts"
import { TurnId } from "./Ids.ts"

/**
 * A place in a history file, right after a complete line.
 * `offset` counts bytes from the start; `entry` names the line before it as its engine does (Codex: ordinal, Pi: entry
 * ID); `lineHash` is the SHA-256 (hex) of that line without its line feed, so a rewritten file is noticed.
 */
export class HistoryPosition extends Schema.Class<HistoryPosition>("HistoryPosition")({
  offset: Schema.Int.pipe(Schema.nonNegative()),
  lineOffset: Schema.Int.pipe(Schema.nonNegative()),
  entry: Schema.String,
  lineHash: Schema.String
}) {}

/** The history that a context is bound to. `path` is absolute. `nativeId` is the engine's own session or thread ID. */
export class Binding extends Schema.Class<Binding>("Binding")({
  engine: EngineKind,
  nativeId: Schema.NonEmptyString,
  path: Schema.NonEmptyString
}) {}

/** The user entry that proves a delivery. `text-only`: Codex was killed between its two lines; the model has the text. */
export class Receipt extends Schema.Class<Receipt>("Receipt")({
  entry: Schema.String,
  form: Schema.Literal("entry", "text-only"),
  turnId: Schema.NullOr(TurnId),
  position: HistoryPosition
}) {}

export class HistoryMissing extends Schema.TaggedError<HistoryMissing>()("HistoryMissing", {
  path: Schema.String
}) {
  override get message(): string {
    return `The established history is missing: ${this.path}. Put the file back, then start the agent again: nothing fresh is made in its place`
  }
}

export class HistoryForeign extends Schema.TaggedError<HistoryForeign>()("HistoryForeign", {
  path: Schema.String,
  expected: Schema.String,
  found: Schema.String
}) {
  override get message(): string {
    return `The history ${this.path} is another one: expected ${this.expected}, found ${this.found}`
  }
}

export class HistoryShorter extends Schema.TaggedError<HistoryShorter>()("HistoryShorter", {
  path: Schema.String,
  expectedBytes: Schema.Int,
  foundBytes: Schema.Int
}) {
  override get message(): string {
    return `The history ${this.path} has ${this.foundBytes} bytes, and ${this.expectedBytes} were there before`
  }
}

export class HistoryUnreadable extends Schema.TaggedError<HistoryUnreadable>()("HistoryUnreadable", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `The history ${this.path} cannot be used: ${this.reason}`
  }
}

/** Why a binding is broken. Nothing fresh is made in its place: only a repair or an explicit reset goes on. */
export type HistoryBroken = HistoryMissing | HistoryForeign | HistoryShorter | HistoryUnreadable
