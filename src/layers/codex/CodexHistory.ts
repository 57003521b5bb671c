// Reads Codex's rollout files as the proof of delivery, without the engine and without writing to them.
// It knows the few line forms that prove something; every other line, and garbage, is passed over.
import { Effect, Option, Schema } from "effect"
import { deliveryIdOfFirstLine } from "../../domain/DeliveryHeader.ts"
import {
  type Binding,
  type HistoryBroken,
  HistoryForeign,
  type HistoryPosition,
  HistoryShorter,
  Receipt
} from "../../domain/History.ts"
import { type DeliveryId, TurnId } from "../../domain/Ids.ts"
import type { NativeHistory } from "../../services/NativeEngine.ts"
import * as RolloutFile from "./RolloutFile.ts"

const SessionMeta = Schema.Struct({
  type: Schema.Literal("session_meta"),
  payload: Schema.Struct({ id: Schema.String })
})

/** The receipt: written right after the text that the model will see. */
const UserEntry = Schema.Struct({
  type: Schema.Literal("event_msg"),
  payload: Schema.Struct({
    type: Schema.Literal("item_completed"),
    turn_id: Schema.optional(Schema.NullOr(TurnId)),
    item: Schema.Struct({ type: Schema.Literal("UserMessage"), client_id: Schema.NullOr(Schema.String) })
  })
})

/** The text that the model will see. It carries no client ID. */
const UserText = Schema.Struct({
  type: Schema.Literal("response_item"),
  payload: Schema.Struct({
    type: Schema.Literal("message"),
    role: Schema.Literal("user"),
    content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optional(Schema.String) })),
    internal_chat_message_metadata_passthrough: Schema.optional(
      Schema.NullOr(Schema.Struct({ turn_id: Schema.optional(Schema.NullOr(TurnId)) }))
    )
  })
})

/** A failed turn ends as `task_complete` too, with its error. */
const TurnEnd = Schema.Struct({
  type: Schema.Literal("event_msg"),
  payload: Schema.Struct({
    type: Schema.Literal("task_complete", "turn_aborted"),
    turn_id: Schema.NullOr(Schema.String),
    error: Schema.optional(Schema.Unknown)
  })
})

const decodeMeta = Schema.decodeOption(Schema.parseJson(SessionMeta))
const decodeProof = Schema.decodeOption(Schema.parseJson(Schema.Union(UserEntry, UserText)))
const decodeTurnEnd = Schema.decodeOption(Schema.parseJson(TurnEnd))

/** Opens the binding's own file, whole up to the saved position; anything else says what is broken. */
const openBound = (binding: Binding, known: HistoryPosition | null) =>
  Effect.gen(function*() {
    const { path } = binding
    const file = yield* RolloutFile.open(path)
    const first = yield* RolloutFile.firstLine(file)
    if (first === null) return yield* RolloutFile.unreadable(path, "its first line is not complete")
    const meta = decodeMeta(first.toString("utf8"))
    if (Option.isNone(meta)) return yield* RolloutFile.unreadable(path, "it does not begin with a session's metadata")
    const found = meta.value.payload.id
    if (found !== binding.nativeId) return yield* new HistoryForeign({ path, expected: binding.nativeId, found })
    if (known === null) return file
    if (file.sizeBytes < known.offset) {
      return yield* new HistoryShorter({ path, expectedBytes: known.offset, foundBytes: file.sizeBytes })
    }
    if (!(yield* RolloutFile.stands(file, known))) {
      return yield* RolloutFile.unreadable(path, "the line before the saved position is not the one that was saved")
    }
    return file
  })

const guard: NativeHistory["guard"] = (binding, known) =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* openBound(binding, known)
    yield* RolloutFile.sync(file)
    return yield* RolloutFile.lastPosition(file)
  }))

/** What one line proves about this delivery, `null` for nothing. */
const receiptIn = (line: RolloutFile.RolloutLine, deliveryId: DeliveryId): Receipt | null => {
  const proof = decodeProof(line.bytes.toString("utf8"))
  if (Option.isNone(proof)) return null
  const { payload } = proof.value
  const receipt = (form: Receipt["form"], turnId: TurnId | null) => {
    const position = RolloutFile.positionOfLine(line)
    return new Receipt({ entry: position.entry, form, turnId, position })
  }
  if (payload.type === "item_completed") {
    return payload.item.client_id === deliveryId ? receipt("entry", payload.turn_id ?? null) : null
  }
  const text = payload.content[0]?.text ?? ""
  return deliveryIdOfFirstLine(text) === deliveryId
    ? receipt("text-only", payload.internal_chat_message_metadata_passthrough?.turn_id ?? null)
    : null
}

const findReceipt: NativeHistory["findReceipt"] = (binding, after, deliveryId) =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* openBound(binding, after)
    const found = yield* RolloutFile.scan<Receipt | null>(
      file,
      { from: after.offset, needles: [deliveryId] },
      null,
      (before, line) => {
        const receipt = receiptIn(line, deliveryId)
        return { state: receipt?.form === "entry" ? receipt : before ?? receipt, done: receipt?.form === "entry" }
      }
    )
    // What a power cut could still take back is no proof yet.
    if (found !== null) yield* RolloutFile.sync(file)
    return Option.fromNullable(found)
  }))

/** The line that ends this turn, if it is there: then it is on disk as well. */
const endOf = (binding: Binding, after: HistoryPosition, turnId: TurnId) =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* openBound(binding, after)
    const found = yield* RolloutFile.scan<(typeof TurnEnd.Type)["payload"] | null>(
      file,
      { from: after.offset, needles: [`"task_complete"`, `"turn_aborted"`] },
      null,
      (before, line) => {
        const end = decodeTurnEnd(line.bytes.toString("utf8"))
        return Option.isSome(end) && end.value.payload.turn_id === turnId
          ? { state: end.value.payload, done: true }
          : { state: before, done: false }
      }
    )
    if (found !== null) yield* RolloutFile.sync(file)
    return Option.fromNullable(found)
  }))

const turnEnd: NativeHistory["turnEnd"] = (binding, after, turnId) =>
  endOf(binding, after, turnId).pipe(
    Effect.map(Option.map((end) => end.type === "task_complete" ? "completed" : "aborted"))
  )

const finished: NativeHistory["finished"] = (binding, receipt, turnId) =>
  turnId === null ? Effect.succeed(false) : endOf(binding, receipt, turnId).pipe(
    Effect.map(Option.exists((end) => end.type === "task_complete" && end.error == null))
  )

export const history: NativeHistory = { guard, findReceipt, turnEnd, finished }

/** The end of a file that the engine has just made, after its folders up to `top` were synced with it. */
export const guardNew = (
  binding: Binding,
  folders: ReadonlyArray<string>
): Effect.Effect<HistoryPosition, HistoryBroken> =>
  Effect.zipLeft(guard(binding, null), Effect.forEach(folders, RolloutFile.syncFolder, { discard: true }))
