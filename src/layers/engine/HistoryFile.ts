// Lines of a native history file by their byte offsets, in bounded memory: the file opened as the one that is bound, checked
// at the saved position, folded line by line, and made durable. What a line means is the adapters'.
//
// One rule for a last line without its LF, as a kill may leave it: both engines load it where its JSON is whole (tried on
// both), so for what it says it is an entry like any other; and it is no place to go on from, so every position stands
// behind an LF. The engine ends such a line before it writes on.
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, open as openFile } from "node:fs/promises"
import { dirname } from "node:path"
import {
  type Binding,
  type HistoryBroken,
  HistoryForeign,
  HistoryMissing,
  HistoryPosition,
  HistoryShorter,
  HistoryUnreadable
} from "../../domain/History.ts"
import { attempt, type FileFailed, syncFolder } from "../files/FileCall.ts"

const chunkBytes = 1024 * 1024
const maxHeaderBytes = 16 * 1024 * 1024
const lineFeed = 10

export interface HistoryFile {
  readonly path: string
  readonly handle: FileHandle
  /** As it was at opening: what is appended later is not looked at. */
  readonly sizeBytes: number
}

export interface HistoryLine {
  readonly start: number
  /** Right after its LF, or the end of the file where that is missing. */
  readonly end: number
  /** Without the LF. Valid until the next line is read. */
  readonly bytes: Buffer
  /** False only for a last line without its LF. */
  readonly complete: boolean
}

export const unreadable = (path: string, reason: string) => new HistoryUnreadable({ path, reason })

const asUnreadable = ({ path, reason }: FileFailed) => unreadable(path, reason)

const reading = <A>(path: string, call: () => Promise<A>) => Effect.mapError(attempt(path, call), asUnreadable)

/** As much of the buffer as the file has from there on. */
const readAt = ({ handle, path }: HistoryFile, buffer: Buffer, at: number) =>
  reading(path, async () => {
    let filled = 0
    while (filled < buffer.length) {
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, at + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.subarray(0, filled)
  })

/** Opens a regular file that is not empty. A link in its place is refused, and a pipe cannot block here. */
const open = (path: string): Effect.Effect<HistoryFile, HistoryMissing | HistoryUnreadable, Scope.Scope> =>
  Effect.gen(function*() {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    const handle = yield* Effect.acquireRelease(
      Effect.mapError(attempt(path, () => openFile(path, flags)), (error) => {
        if (error.code === "ENOENT" || error.code === "ENOTDIR") return new HistoryMissing({ path })
        return error.code === "ELOOP" ? unreadable(path, "a link lies in its place") : asUnreadable(error)
      }),
      (opened) => Effect.ignore(Effect.tryPromise(() => opened.close()))
    )
    const stat = yield* reading(path, () => handle.stat())
    if (!stat.isFile()) return yield* unreadable(path, "it is no file")
    if (stat.size === 0) return yield* unreadable(path, "it is empty")
    return { path, handle, sizeBytes: stat.size }
  })

const hashOf = (line: Uint8Array) => createHash("sha256").update(line).digest("hex")

/** Right behind a complete line, which its engine calls `entry`. */
export const positionBehind = ({ bytes, end, start }: HistoryLine, entry: string): HistoryPosition =>
  new HistoryPosition({ offset: end, lineOffset: start, entry, lineHash: hashOf(bytes) })

/** The first line, `null` where it is torn or longer than `maxHeaderBytes`. */
const firstLine = (file: HistoryFile) =>
  Effect.gen(function*() {
    const parts: Array<Buffer> = []
    for (let at = 0; at < Math.min(file.sizeBytes, maxHeaderBytes); at += chunkBytes) {
      const bytes = yield* readAt(file, Buffer.allocUnsafe(chunkBytes), at)
      const end = bytes.indexOf(lineFeed)
      parts.push(end === -1 ? bytes : bytes.subarray(0, end))
      if (end !== -1) return { start: 0, end: at + end + 1, bytes: Buffer.concat(parts), complete: true }
      if (bytes.length < chunkBytes) break
    }
    return null
  })

/** SHA-256 (hex) of [start, end), whatever its length; `null` where the file ends before. */
const hashOfRange = (file: HistoryFile, start: number, end: number) =>
  Effect.gen(function*() {
    const hash = createHash("sha256")
    const buffer = Buffer.allocUnsafe(chunkBytes)
    for (let at = start; at < end;) {
      const bytes = yield* readAt(file, buffer.subarray(0, Math.min(chunkBytes, end - at)), at)
      if (bytes.length === 0) return null
      hash.update(bytes)
      at += bytes.length
    }
    return hash.digest("hex")
  })

const isLineFeed = (file: HistoryFile, at: number) =>
  Effect.map(readAt(file, Buffer.allocUnsafe(1), at), (bytes) => bytes[0] === lineFeed)

/** Fails unless the position's line still stands where and as it was. */
const checkPosition = (file: HistoryFile, known: HistoryPosition) =>
  Effect.gen(function*() {
    const { path, sizeBytes } = file
    const { lineHash, lineOffset, offset } = known
    if (sizeBytes < offset) return yield* new HistoryShorter({ path, expectedBytes: offset, foundBytes: sizeBytes })
    const stands = lineOffset < offset
      && (yield* isLineFeed(file, offset - 1))
      && (lineOffset === 0 || (yield* isLineFeed(file, lineOffset - 1)))
      && (yield* hashOfRange(file, lineOffset, offset - 1)) === lineHash
    if (!stands) return yield* unreadable(path, `the line at byte ${lineOffset} is not the one that was there before`)
  })

/** What an adapter makes of a session's first line; `null` where it is none. */
export type ReadHeader<H> = (line: string) => H | null

/**
 * Opens the binding's own file: its header carries the bound ID, and the saved position's line stands. Anything else says
 * what is broken. The header's line is handed out with it.
 */
export const openBound = <H extends { readonly id: string }>(
  binding: Binding,
  known: HistoryPosition | null,
  readHeader: ReadHeader<H>
): Effect.Effect<
  { readonly file: HistoryFile; readonly header: H; readonly headerLine: HistoryLine },
  HistoryBroken,
  Scope.Scope
> =>
  Effect.gen(function*() {
    const { nativeId, path } = binding
    const file = yield* open(path)
    const headerLine = yield* firstLine(file)
    const header = headerLine === null ? null : readHeader(headerLine.bytes.toString("utf8"))
    if (headerLine === null || header === null) return yield* unreadable(path, "its first line is no session header")
    if (header.id !== nativeId) return yield* new HistoryForeign({ path, expected: nativeId, found: header.id })
    if (known !== null) yield* checkPosition(file, known)
    return { file, header, headerLine }
  })

/** Makes the entries of a history's folders durable. */
export const syncFolders = (folders: ReadonlyArray<string>): Effect.Effect<void, HistoryUnreadable> =>
  Effect.mapError(Effect.forEach(folders, syncFolder, { discard: true }), asUnreadable)

/** Makes what was read of it durable, the file and its name in the folder: no engine does. */
export const sync = (file: HistoryFile): Effect.Effect<void, HistoryUnreadable> =>
  Effect.zipRight(reading(file.path, () => file.handle.sync()), syncFolders([dirname(file.path)]))

/** The offset of the last LF before `end`, -1 where there is none. */
const lineFeedBefore = (file: HistoryFile, end: number) =>
  Effect.gen(function*() {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    for (let before = end; before > 0;) {
      const start = Math.max(0, before - chunkBytes)
      const bytes = yield* readAt(file, buffer.subarray(0, before - start), start)
      const at = bytes.lastIndexOf(lineFeed)
      if (at !== -1) return start + at
      before = start
    }
    return -1
  })

/** Right behind the last complete line. Its name is read from its first `headBytes`. */
export const lastPosition = (
  file: HistoryFile,
  name: { readonly headBytes: number; readonly of: (head: Buffer) => string }
): Effect.Effect<HistoryPosition, HistoryUnreadable> =>
  Effect.gen(function*() {
    const end = yield* lineFeedBefore(file, file.sizeBytes)
    if (end === -1) return yield* unreadable(file.path, "it has no complete line")
    const lineOffset = (yield* lineFeedBefore(file, end)) + 1
    const head = yield* readAt(file, Buffer.allocUnsafe(Math.min(name.headBytes, end - lineOffset)), lineOffset)
    const lineHash = yield* hashOfRange(file, lineOffset, end)
    if (lineHash === null) return yield* unreadable(file.path, "it became shorter while it was read")
    return new HistoryPosition({ offset: end + 1, lineOffset, entry: name.of(head), lineHash })
  })

export interface FoldOptions {
  /** A line's start. */
  readonly from: number
  readonly maxLineBytes: number
  /** What a line above that is: of no interest, or the end of what can be said of the file. */
  readonly overlong: "passed-over" | "broken"
  /** Only lines that hold one of these are looked at: text as it stands in the file. */
  readonly holding?: ReadonlyArray<string>
}

export interface Fold<S> {
  readonly state: S
  readonly done: boolean
}

/** Folds the lines from `from` on, a last one without its LF included, until `step` says that it is done, or fails. */
export const fold = <S, E>(
  file: HistoryFile,
  { from, holding, maxLineBytes, overlong }: FoldOptions,
  initial: S,
  step: (state: S, line: HistoryLine) => Effect.Effect<Fold<S>, E>
): Effect.Effect<S, E | HistoryUnreadable> =>
  Effect.gen(function*() {
    const needles = holding?.map((needle) => Buffer.from(needle, "utf8"))
    const isMeant = (bytes: Buffer) => needles === undefined || needles.some((needle) => bytes.includes(needle))
    const buffer = Buffer.allocUnsafe(chunkBytes)
    let state = initial
    let start = from
    let pending: Array<Buffer> = []
    let pendingBytes = 0

    /** The line that ends with these bytes, `null` where it is not to be looked at. */
    const lineOf = (last: Buffer, complete: boolean) =>
      Effect.suspend(() => {
        const sizeBytes = pendingBytes + last.length
        if (sizeBytes > maxLineBytes) {
          return overlong === "passed-over"
            ? Effect.succeed(null)
            : unreadable(file.path, `the line at byte ${start} is longer than ${maxLineBytes} bytes`)
        }
        const bytes = pendingBytes === 0 ? last : Buffer.concat([...pending, last])
        const line: HistoryLine = { start, end: start + sizeBytes + (complete ? 1 : 0), bytes, complete }
        return Effect.succeed(isMeant(bytes) ? line : null)
      })

    for (let at = from; at < file.sizeBytes;) {
      const bytes = yield* readAt(file, buffer.subarray(0, Math.min(chunkBytes, file.sizeBytes - at)), at)
      if (bytes.length === 0) break
      at += bytes.length
      let rest = bytes
      for (let feed = rest.indexOf(lineFeed); feed !== -1; feed = rest.indexOf(lineFeed)) {
        const last = rest.subarray(0, feed)
        const line = yield* lineOf(last, true)
        if (line !== null) {
          const next = yield* step(state, line)
          if (next.done) return next.state
          state = next.state
        }
        start += pendingBytes + last.length + 1
        pending = []
        pendingBytes = 0
        rest = rest.subarray(feed + 1)
      }
      pendingBytes += rest.length
      // Copied, since the buffer is used again; and let go of once the line is too long to be looked at.
      if (pendingBytes <= maxLineBytes) pending.push(Buffer.from(rest))
      else pending = []
    }
    const torn = pendingBytes === 0 ? null : yield* lineOf(Buffer.alloc(0), false)
    return torn === null ? state : (yield* step(state, torn)).state
  })
