// Bytes and lines of a history file, read from any offset in bounded memory. What a line means is CodexHistory's.
import { Effect, Predicate, type Scope } from "effect"
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, open as openFile } from "node:fs/promises"
import { dirname } from "node:path"
import { HistoryMissing, HistoryPosition, HistoryUnreadable } from "../../domain/History.ts"

const chunkBytes = 1024 * 1024

/**
 * Lines above this are passed over unread: no input, however escaped, makes one (the input limit is 1,048,576 characters
 * of at most six bytes), and no other line is a proof.
 */
export const maxReadLineBytes = 16 * 1024 * 1024

/** Where the line's ordinal stands; the engine writes it right behind the time. */
const headBytes = 200
const ordinal = /^\{"timestamp":"[^"]*","ordinal":(\d{1,15}),/u

const lineFeed = 10

export interface RolloutFile {
  readonly path: string
  readonly handle: FileHandle
  /** As it was at opening: what is appended later is not looked at. */
  readonly sizeBytes: number
}

/** A complete line. `end` is the offset right after its LF, which `bytes` does not hold. */
export interface RolloutLine {
  readonly start: number
  readonly end: number
  readonly bytes: Buffer
}

export const unreadable = (path: string, reason: string) => new HistoryUnreadable({ path, reason })

const codeOf = (cause: unknown) =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : "unknown error"

const reading = <A>(path: string, run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => unreadable(path, codeOf(cause)) })

const readAt = (file: RolloutFile, buffer: Buffer, at: number) =>
  reading(file.path, async () => {
    let filled = 0
    while (filled < buffer.length) {
      const { bytesRead } = await file.handle.read(buffer, filled, buffer.length - filled, at + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.subarray(0, filled)
  })

/** Opens a regular file that is not empty. A link in its place is refused, and a pipe cannot block here. */
export const open = (
  path: string
): Effect.Effect<RolloutFile, HistoryMissing | HistoryUnreadable, Scope.Scope> =>
  Effect.gen(function*() {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    const handle = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => openFile(path, flags),
        catch: (cause) => {
          const code = codeOf(cause)
          if (code === "ENOENT" || code === "ENOTDIR") return new HistoryMissing({ path })
          return unreadable(path, code === "ELOOP" ? "a link lies in its place" : code)
        }
      }),
      (opened) => Effect.ignore(Effect.tryPromise(() => opened.close()))
    )
    const stat = yield* reading(path, () => handle.stat())
    if (!stat.isFile()) return yield* unreadable(path, "it is not a regular file")
    if (stat.size === 0) return yield* unreadable(path, "it is empty")
    return { path, handle, sizeBytes: stat.size }
  })

/** Makes a folder's entries durable. */
export const syncFolder = (folder: string) =>
  Effect.acquireUseRelease(
    reading(folder, () => openFile(folder, constants.O_RDONLY)),
    (handle) => reading(folder, () => handle.sync()),
    (handle) => Effect.ignore(Effect.tryPromise(() => handle.close()))
  )

/** Makes what was read of it durable: the file and its name in the folder. Codex itself never does. */
export const sync = (file: RolloutFile) =>
  Effect.zipRight(reading(file.path, () => file.handle.sync()), syncFolder(dirname(file.path)))

/** The first line without its LF, `null` where it is torn or longer than `maxReadLineBytes`. */
export const firstLine = (file: RolloutFile) =>
  Effect.gen(function*() {
    const parts: Array<Buffer> = []
    for (let at = 0; at < Math.min(file.sizeBytes, maxReadLineBytes); at += chunkBytes) {
      const bytes = yield* readAt(file, Buffer.allocUnsafe(chunkBytes), at)
      const end = bytes.indexOf(lineFeed)
      parts.push(end === -1 ? bytes : bytes.subarray(0, end))
      if (end !== -1) return Buffer.concat(parts)
      if (bytes.length < chunkBytes) break
    }
    return null
  })

/** The offset of the last LF before `end`, -1 where there is none. */
const lineFeedBefore = (file: RolloutFile, end: number) =>
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

/** SHA-256 (hex) of [start, end), whatever its length; `null` where the file ends before. */
const hashOf = (file: RolloutFile, start: number, end: number) =>
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

/** What the engine calls a line. Garbage has no name, and is a place in the file all the same. */
export const entryOf = (head: Buffer): string => ordinal.exec(head.subarray(0, headBytes).toString("latin1"))?.[1] ?? ""

export const positionOfLine = ({ bytes, end, start }: RolloutLine): HistoryPosition =>
  new HistoryPosition({
    offset: end,
    lineOffset: start,
    entry: entryOf(bytes),
    lineHash: createHash("sha256").update(bytes).digest("hex")
  })

/** Right after the last complete line: what is torn behind it does not count. */
export const lastPosition = (file: RolloutFile) =>
  Effect.gen(function*() {
    const end = yield* lineFeedBefore(file, file.sizeBytes)
    if (end === -1) return yield* unreadable(file.path, "it has no complete line")
    const lineOffset = (yield* lineFeedBefore(file, end)) + 1
    const head = yield* readAt(file, Buffer.allocUnsafe(Math.min(headBytes, end - lineOffset)), lineOffset)
    const lineHash = yield* hashOf(file, lineOffset, end)
    if (lineHash === null) return yield* unreadable(file.path, "it became shorter while it was read")
    return new HistoryPosition({ offset: end + 1, lineOffset, entry: entryOf(head), lineHash })
  })

/** Whether the position's line still stands where and as it was. */
export const stands = (file: RolloutFile, { lineHash, lineOffset, offset }: HistoryPosition) =>
  Effect.gen(function*() {
    if (lineOffset >= offset || offset > file.sizeBytes) return false
    const end = yield* readAt(file, Buffer.allocUnsafe(1), offset - 1)
    return end[0] === lineFeed && (yield* hashOf(file, lineOffset, offset - 1)) === lineHash
  })

/**
 * Folds the complete lines behind `from` that hold one of the needles (bytes as they stand in the file), in order, until
 * `step` says that it is done. Lines longer than `maxReadLineBytes` are passed over.
 */
export const scan = <S>(
  file: RolloutFile,
  options: { readonly from: number; readonly needles: ReadonlyArray<string> },
  initial: S,
  step: (state: S, line: RolloutLine) => { readonly state: S; readonly done: boolean }
): Effect.Effect<S, HistoryUnreadable> =>
  Effect.gen(function*() {
    const needles = options.needles.map((needle) => Buffer.from(needle, "utf8"))
    const holdsOne = (bytes: Buffer) => needles.some((needle) => bytes.includes(needle))
    const buffer = Buffer.allocUnsafe(chunkBytes)
    let state = initial
    let start = options.from
    let pending: Array<Buffer> = []
    let pendingBytes = 0
    for (let at = options.from; at < file.sizeBytes;) {
      const bytes = yield* readAt(file, buffer.subarray(0, Math.min(chunkBytes, file.sizeBytes - at)), at)
      if (bytes.length === 0) break
      at += bytes.length
      let rest = bytes
      for (let feed = rest.indexOf(lineFeed); feed !== -1; feed = rest.indexOf(lineFeed)) {
        const part = rest.subarray(0, feed)
        const end = start + pendingBytes + part.length + 1
        if (pendingBytes + part.length <= maxReadLineBytes) {
          const line = pendingBytes === 0 ? part : Buffer.concat([...pending, part])
          if (holdsOne(line)) {
            const next = step(state, { start, end, bytes: line })
            if (next.done) return next.state
            state = next.state
          }
        }
        pending = []
        pendingBytes = 0
        start = end
        rest = rest.subarray(feed + 1)
      }
      pendingBytes += rest.length
      // Copied, since the buffer is used again; and let go of once the line is too long to be read.
      if (pendingBytes <= maxReadLineBytes) pending.push(Buffer.from(rest))
      else pending = []
    }
    return state
  })
