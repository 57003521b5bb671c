// Reads Pi's session files as the proof of delivery, and makes the header of a new one. It never writes to an existing file.
import { Clock, DateTime, Effect, Option } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { type FileHandle, mkdir, open } from "node:fs/promises"
import { dirname, join } from "node:path"
import { deliveryIdOfFirstLine } from "../../domain/DeliveryHeader.ts"
import {
  Binding,
  type HistoryBroken,
  HistoryForeign,
  HistoryMissing,
  HistoryPosition,
  HistoryShorter,
  HistoryUnreadable,
  Receipt
} from "../../domain/History.ts"
import type { NativeHistory } from "../../services/NativeEngine.ts"
import { type FileFailed, fileFailed, type FileLine, foldLines, type LineLimitPassed, readRange } from "./FileLines.ts"
import { decodeEntry, decodeHeader, encodeHeader, messageOf, PiHeader, sessionVersion, userText } from "./PiEntries.ts"
import { turnIdOf } from "./PiTurn.ts"

/** Longer than any line that Pi's output limit lets through, since an entry may be written before its event is refused. */
const lineLimitBytes = 128 * 1024 * 1024
const headerLimitBytes = 64 * 1024

const hashOf = (line: Uint8Array) => createHash("sha256").update(line).digest("hex")

const unreadable = (path: string, reason: string) => new HistoryUnreadable({ path, reason })

const syncFolder = (path: string) =>
  Effect.acquireUseRelease(
    Effect.tryPromise({ try: () => open(path, "r"), catch: fileFailed }),
    (folder) => Effect.tryPromise({ try: () => folder.sync(), catch: fileFailed }),
    (folder) => Effect.promise(() => folder.close())
  )

const broken = (path: string) => (error: FileFailed | LineLimitPassed | HistoryBroken): HistoryBroken => {
  if (error._tag === "LineLimitPassed") return unreadable(path, error.message)
  if (error._tag !== "FileFailed") return error
  return error.code === "ENOENT" ? new HistoryMissing({ path }) : unreadable(path, `the system says ${error.code}`)
}

/** Runs `use` on the open file; every failure comes out as what it means for the binding. */
const withFile = <A>(
  binding: Binding,
  use: (file: FileHandle, size: number) => Effect.Effect<A, FileFailed | LineLimitPassed | HistoryBroken>
): Effect.Effect<A, HistoryBroken> =>
  Effect.acquireUseRelease(
    Effect.tryPromise({ try: () => open(binding.path, "r"), catch: fileFailed }),
    (file) =>
      Effect.tryPromise({ try: () => file.stat(), catch: fileFailed }).pipe(
        Effect.filterOrFail((stat) => stat.isFile(), () => unreadable(binding.path, "it is no file")),
        Effect.filterOrFail((stat) => stat.size > 0, () => unreadable(binding.path, "it is empty")),
        Effect.flatMap((stat) => use(file, stat.size))
      ),
    (file) => Effect.promise(() => file.close())
  ).pipe(Effect.mapError(broken(binding.path)))

/** The position right after the header line, once the header is this binding's. */
const afterHeader = (binding: Binding, file: FileHandle) =>
  Effect.gen(function*() {
    const start = yield* readRange(file, 0, headerLimitBytes)
    const end = start.indexOf(10)
    const line = start.subarray(0, Math.max(end, 0))
    const header = decodeHeader(line.toString("utf8"))
    if (end === -1 || header === null) return yield* unreadable(binding.path, "its first line is no session header")
    if (header.id !== binding.nativeId) {
      return yield* new HistoryForeign({ path: binding.path, expected: binding.nativeId, found: header.id })
    }
    const position = new HistoryPosition({ offset: end + 1, lineOffset: 0, entry: header.id, lineHash: hashOf(line) })
    return { header, position }
  })

/** Fails unless the saved position's line still stands where and as it did. */
const checkPosition = (binding: Binding, file: FileHandle, size: number, known: HistoryPosition) =>
  Effect.gen(function*() {
    const { path } = binding
    if (size < known.offset) {
      return yield* new HistoryShorter({ path, expectedBytes: known.offset, foundBytes: size })
    }
    const start = Math.max(known.lineOffset - 1, 0)
    const bytes = yield* readRange(file, start, known.offset)
    const line = bytes.subarray(known.lineOffset - start, -1)
    const whole = bytes.at(-1) === 10 && (known.lineOffset === 0 || bytes[0] === 10)
    if (!whole || hashOf(line) !== known.lineHash) {
      return yield* unreadable(path, `the line at byte ${known.lineOffset} is not the one that was there before`)
    }
  })

/** The next position, after checking that the line carries the chain on. Lines that Pi does not load carry nothing. */
const follow = (binding: Binding, from: HistoryPosition, line: FileLine) =>
  Effect.gen(function*() {
    const entry = decodeEntry(line.bytes.toString("utf8"))
    const at = `the line at byte ${line.offset}`
    if (entry === "foreign") return yield* unreadable(binding.path, `${at} is no session entry`)
    // One writer and no branching: each entry's parent is the one before it. Anything else hides older context from Pi.
    const parent = from.entry === binding.nativeId ? null : from.entry
    if (entry !== "blank" && entry.parentId !== parent) {
      return yield* unreadable(binding.path, `${at} does not follow the entry before it: a line is missing or foreign`)
    }
    return {
      entry: entry === "blank" ? null : entry,
      position: new HistoryPosition({
        offset: line.offset + line.bytes.length + 1,
        lineOffset: line.offset,
        entry: entry === "blank" ? from.entry : entry.id,
        lineHash: hashOf(line.bytes)
      })
    }
  })

const guard: NativeHistory["guard"] = (binding, known) =>
  withFile(binding, (file, size) =>
    Effect.gen(function*() {
      yield* Effect.tryPromise({ try: () => file.sync(), catch: fileFailed })
      yield* syncFolder(dirname(binding.path))
      const header = yield* afterHeader(binding, file)
      if (known !== null) yield* checkPosition(binding, file, size, known)
      const from = known ?? header.position
      return yield* foldLines(file, { from: from.offset, limitBytes: lineLimitBytes }, from, (position, line) =>
        // A torn last line counts for nothing yet, except that it must not break the chain once Pi ends it.
        follow(binding, position, line).pipe(
          Effect.map((next) => ({ state: line.complete ? next.position : position, done: false }))
        ))
    }))

const findReceipt: NativeHistory["findReceipt"] = (binding, after, deliveryId) =>
  withFile(binding, (file, size) =>
    Effect.gen(function*() {
      yield* checkPosition(binding, file, size, after)
      const start: { readonly position: HistoryPosition; readonly found: Receipt | null } = {
        position: after,
        found: null
      }
      const end = yield* foldLines(file, { from: after.offset, limitBytes: lineLimitBytes }, start, (state, line) =>
        Effect.gen(function*() {
          const { entry, position } = yield* follow(binding, state.position, line)
          const text = entry === null ? null : userText(entry)
          if (entry === null || text === null || deliveryIdOfFirstLine(text) !== deliveryId) {
            return { state: { ...state, position }, done: false }
          }
          const found = new Receipt({
            entry: entry.id,
            form: "entry",
            turnId: turnIdOf(deliveryId),
            // An entry whose LF is still missing is loaded by Pi all the same, and is no place to go on from.
            position: line.complete ? position : state.position
          })
          return { state: { ...state, found }, done: true }
        }))
      if (end.found !== null) {
        yield* Effect.tryPromise({
          try: () =>
            file.sync(),
          catch: fileFailed
        })
      }
      return Option.fromNullable(end.found)
    }))

const finished: NativeHistory["finished"] = (binding, receipt) =>
  withFile(binding, (file, size) =>
    Effect.gen(function*() {
      yield* checkPosition(binding, file, size, receipt)
      const start = { position: receipt, stopped: false }
      const end = yield* foldLines(file, { from: receipt.offset, limitBytes: lineLimitBytes }, start, (state, line) =>
        Effect.map(follow(binding, state.position, line), ({ entry, position }) => {
          const message = entry === null ? null : messageOf(entry)
          const stopped = message === null
            ? state.stopped
            : message.role === "assistant" && message.stopReason === "stop"
          return { state: { position, stopped }, done: false }
        }))
      return end.stopped
    }))

export const history: NativeHistory = { guard, findReceipt, turnEnd: () => Effect.succeedNone, finished }

/** The folder that a binding's session works in: Pi takes it from the header, whatever folder it is started in. */
export const workFolderOf = (binding: Binding) =>
  withFile(binding, (file) => Effect.map(afterHeader(binding, file), ({ header }) => header.cwd))

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
    yield* Effect.tryPromise({ try: () => mkdir(sessionFolder, { recursive: true, mode: 0o700 }), catch: fileFailed })
    yield* Effect.acquireUseRelease(
      Effect.tryPromise({ try: () => open(path, "wx", 0o600), catch: fileFailed }),
      (file) => Effect.tryPromise({ try: () => file.writeFile(line).then(() => file.sync()), catch: fileFailed }),
      (file) => Effect.promise(() => file.close())
    )
    yield* syncFolder(sessionFolder)
    yield* syncFolder(dirname(sessionFolder))
    return new Binding({ engine: "pi", nativeId: id, path })
  })
