// Reads Codex's rollout files as the proof of delivery, without the engine and without writing to them.
// It knows the few line forms that prove something; every other line, and garbage, is passed over.
import { Effect, Option, Schema } from "effect"
import { deliveryIdOfFirstLine } from "../../domain/DeliveryHeader.ts"
import { type Binding, type HistoryBroken, type HistoryPosition, Receipt } from "../../domain/History.ts"
import { type DeliveryId, TurnId } from "../../domain/Ids.ts"
import type { NativeHistory } from "../../services/NativeEngine.ts"
import * as HistoryFile from "../engine/HistoryFile.ts"

/**
 * Lines above this are passed over: no input, however escaped, makes one (the input limit is 1,048,576 characters of at
 * most six bytes), and no other line is a proof.
 */
const maxLineBytes = 16 * 1024 * 1024

/** Where the line's ordinal stands; the engine writes it right behind the time. */
const headBytes = 200
const ordinal = /^\{"timestamp":"[^"]*","ordinal":(\d{1,15}),/u

/** What the engine calls a line. Garbage has no name, and is a place in the file all the same. */
const entryOf = (head: Buffer): string => ordinal.exec(head.subarray(0, headBytes).toString("latin1"))?.[1] ?? ""

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

const openBound = (binding: Binding, known: HistoryPosition | null) =>
  Effect.map(
    HistoryFile.openBound(binding, known, (line) =>
      Option.getOrNull(Option.map(decodeMeta(line), (meta) =>
        meta.payload))),
    ({ file }) =>
      file
  )

const lastPosition = (file: HistoryFile.HistoryFile) => HistoryFile.lastPosition(file, { headBytes, of: entryOf })

const guard: NativeHistory["guard"] = (binding, known) =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* openBound(binding, known)
    yield* HistoryFile.sync(file)
    return yield* lastPosition(file)
  }))

interface Proof {
  readonly form: Receipt["form"]
  readonly turnId: TurnId | null
}

/** What one line proves about this delivery, `null` for nothing. */
const proofIn = (line: HistoryFile.HistoryLine, deliveryId: DeliveryId): Proof | null => {
  const proof = decodeProof(line.bytes.toString("utf8"))
  if (Option.isNone(proof)) return null
  const { payload } = proof.value
  if (payload.type === "item_completed") {
    return payload.item.client_id === deliveryId ? { form: "entry", turnId: payload.turn_id ?? null } : null
  }
  const text = payload.content[0]?.text ?? ""
  return deliveryIdOfFirstLine(text) === deliveryId
    ? { form: "text-only", turnId: payload.internal_chat_message_metadata_passthrough?.turn_id ?? null }
    : null
}

const findReceipt: NativeHistory["findReceipt"] = (binding, after, deliveryId) =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* openBound(binding, after)
    const receiptIn = (line: HistoryFile.HistoryLine) =>
      Effect.gen(function*() {
        const proof = proofIn(line, deliveryId)
        if (proof === null) return null
        const entry = entryOf(line.bytes)
        const position = line.complete ? HistoryFile.positionBehind(line, entry) : yield* lastPosition(file)
        return new Receipt({ entry, ...proof, position })
      })
    const found = yield* HistoryFile.fold<Receipt | null, HistoryBroken>(
      file,
      { from: after.offset, maxLineBytes, overlong: "passed-over", holding: [deliveryId] },
      null,
      (before, line) =>
        Effect.map(receiptIn(line), (receipt) => ({
          state: receipt?.form === "entry" ? receipt : before ?? receipt,
          done: receipt?.form === "entry"
        }))
    )
    // What a power cut could still take back is no proof yet.
    if (found !== null) yield* HistoryFile.sync(file)
    return Option.fromNullable(found)
  }))

/** The line that ends this turn, if it is there: then it is on disk as well. */
const endOf = (binding: Binding, after: HistoryPosition, turnId: TurnId) =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* openBound(binding, after)
    const holding = [`"task_complete"`, `"turn_aborted"`]
    const found = yield* HistoryFile.fold<(typeof TurnEnd.Type)["payload"] | null, never>(
      file,
      { from: after.offset, maxLineBytes, overlong: "passed-over", holding },
      null,
      (before, line) => {
        const end = decodeTurnEnd(line.bytes.toString("utf8"))
        return Effect.succeed(
          Option.isSome(end) && end.value.payload.turn_id === turnId
            ? { state: end.value.payload, done: true }
            : { state: before, done: false }
        )
      }
    )
    if (found !== null) yield* HistoryFile.sync(file)
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
  Effect.zipLeft(guard(binding, null), HistoryFile.syncFolders(folders))
