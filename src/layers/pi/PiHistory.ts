// Reads Pi's session files as the proof of delivery, and makes the header of a new one. It never writes to an existing file.
import { Clock, DateTime, Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { deliveryIdOfFirstLine } from "../../domain/DeliveryHeader.ts"
import { Binding, type HistoryBroken, type HistoryPosition, Receipt } from "../../domain/History.ts"
import type { NativeHistory } from "../../services/NativeEngine.ts"
import * as HistoryFile from "../engine/HistoryFile.ts"
import type { FileFailed } from "../files/FileCall.ts"
import * as PrivateFile from "../files/PrivateFile.ts"
import { decodeEntry, decodeHeader, encodeHeader, messageOf, PiHeader, sessionVersion, userText } from "./PiEntries.ts"
import { turnIdOf } from "./PiTurn.ts"

/** Longer than any line that Pi's output limit lets through, since an entry may be written before its event is refused. */
const maxLineBytes = 128 * 1024 * 1024

const openBound = (binding: Binding, known: HistoryPosition | null) =>
  HistoryFile.openBound(binding, known, decodeHeader)

/** The next position, after checking that the line carries the chain on. Lines that Pi does not load carry nothing. */
const follow = (binding: Binding, from: HistoryPosition, line: HistoryFile.HistoryLine) =>
  Effect.gen(function*() {
    const entry = decodeEntry(line.bytes.toString("utf8"))
    const at = `the line at byte ${line.start}`
    if (entry === "foreign") return yield* HistoryFile.unreadable(binding.path, `${at} is no session entry`)
    // One writer and no branching: each entry's parent is the one before it. Anything else hides older context from Pi.
    const parent = from.entry === binding.nativeId ? null : from.entry
    if (entry !== "blank" && entry.parentId !== parent) {
      const reason = `${at} does not follow the entry before it: a line is missing or foreign`
      return yield* HistoryFile.unreadable(binding.path, reason)
    }
    const name = entry === "blank" ? from.entry : entry.id
    return {
      entry: entry === "blank" ? null : entry,
      position: line.complete ? HistoryFile.positionBehind(line, name) : from
    }
  })

/** Folds the entries behind a position, as far as their chain is whole. */
const foldEntries = <S extends { readonly position: HistoryPosition }>(
  binding: Binding,
  file: HistoryFile.HistoryFile,
  initial: S,
  step: (state: S, next: Effect.Effect.Success<ReturnType<typeof follow>>) => HistoryFile.Fold<S>
) =>
  HistoryFile.fold<S, HistoryBroken>(
    file,
    { from: initial.position.offset, maxLineBytes, overlong: "broken" },
    initial,
    (state, line) => Effect.map(follow(binding, state.position, line), (next) => step(state, next))
  )

const guard: NativeHistory["guard"] = (binding, known) =>
  Effect.scoped(Effect.gen(function*() {
    const { file, header, headerLine } = yield* openBound(binding, known)
    yield* HistoryFile.sync(file)
    const position = known ?? HistoryFile.positionBehind(headerLine, header.id)
    // A last line without its LF must not break the chain either: Pi is going to end it.
    const end = yield* foldEntries(binding, file, { position }, (_, next) => ({
      state: { position: next.position },
      done: false
    }))
    return end.position
  }))

const findReceipt: NativeHistory["findReceipt"] = (binding, after, deliveryId) =>
  Effect.scoped(Effect.gen(function*() {
    const { file } = yield* openBound(binding, after)
    const start: { readonly position: HistoryPosition; readonly found: Receipt | null } = {
      position: after,
      found: null
    }
    const { found } = yield* foldEntries(binding, file, start, (_, { entry, position }) => {
      const text = entry === null ? null : userText(entry)
      if (entry === null || text === null || deliveryIdOfFirstLine(text) !== deliveryId) {
        return { state: { position, found: null }, done: false }
      }
      const receipt = new Receipt({ entry: entry.id, form: "entry", turnId: turnIdOf(deliveryId), position })
      return { state: { position, found: receipt }, done: true }
    })
    // What a power cut could still take back is no proof yet.
    if (found !== null) yield* HistoryFile.sync(file)
    return Option.fromNullable(found)
  }))

const finished: NativeHistory["finished"] = (binding, receipt) =>
  Effect.scoped(Effect.gen(function*() {
    const { file } = yield* openBound(binding, receipt)
    const start = { position: receipt, stopped: false }
    const end = yield* foldEntries(binding, file, start, (state, { entry, position }) => {
      const message = entry === null ? null : messageOf(entry)
      const stopped = message === null
        ? state.stopped
        : message.role === "assistant" && message.stopReason === "stop"
      return { state: { position, stopped }, done: false }
    })
    return end.stopped
  }))

export const history: NativeHistory = { guard, findReceipt, turnEnd: () => Effect.succeedNone, finished }

/** The folder that a binding's session works in: Pi takes it from the header, whatever folder it is started in. */
export const workFolderOf = (binding: Binding): Effect.Effect<string, HistoryBroken> =>
  Effect.scoped(Effect.map(openBound(binding, null), ({ header }) => header.cwd))

/**
 * A new session file with its header line alone, on disk before it is handed out. Pi would choose another ID for a
 * missing or empty file without a word, so the header is never left to it.
 */
export const create = (sessionFolder: string, workFolder: string): Effect.Effect<Binding, FileFailed> =>
  Effect.gen(function*() {
    const id = yield* Effect.sync(() => randomUUID())
    const path = join(sessionFolder, `${id}.jsonl`)
    const now = DateTime.unsafeMake(yield* Clock.currentTimeMillis)
    const line = encodeHeader(
      new PiHeader({
        type: "session",
        version: sessionVersion,
        id,
        timestamp: DateTime.formatIso(now),
        cwd: workFolder
      })
    )
    yield* PrivateFile.folder(sessionFolder)
    yield* PrivateFile.write(path, line)
    return new Binding({ engine: "pi", nativeId: id, path })
  })
