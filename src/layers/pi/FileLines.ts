// Reads complete lines of a file by byte offset, in bounded memory. What a line means is its readers' matter.
import { Effect, Schema } from "effect"
import type { FileHandle } from "node:fs/promises"

const chunkBytes = 256 * 1024

export class LineLimitPassed extends Schema.TaggedError<LineLimitPassed>()("LineLimitPassed", {
  offset: Schema.Int,
  limitBytes: Schema.Int
}) {
  override get message(): string {
    return `the line at byte ${this.offset} is longer than ${this.limitBytes} bytes`
  }
}

/** The system's code for why a file could not be read. */
export class FileFailed extends Schema.TaggedError<FileFailed>()("FileFailed", { code: Schema.String }) {}

export const fileFailed = (cause: unknown): FileFailed =>
  new FileFailed({
    code: cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "unknown"
  })

export interface FileLine {
  /** Where it starts, in bytes. */
  readonly offset: number
  /** Without its LF. Valid until the next line is read. */
  readonly bytes: Buffer
  /** False only for the last line of a file, when its LF is missing. */
  readonly complete: boolean
}

/** Fills the buffer from `at` on as far as the file goes; the bytes that were read. */
const readInto = (file: FileHandle, buffer: Buffer, at: number) =>
  Effect.tryPromise({
    try: async () => {
      let filled = 0
      while (filled < buffer.length) {
        const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, at + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return buffer.subarray(0, filled)
    },
    catch: fileFailed
  })

/** The bytes [start, end), fewer if the file ends before. */
export const readRange = (file: FileHandle, start: number, end: number) =>
  readInto(file, Buffer.alloc(Math.max(end - start, 0)), start)

/**
 * Folds the lines from `from` (which must be a line's start) to the end of the file as it is met. `step` returns the
 * next state and whether that was enough, or fails.
 */
export const foldLines = <S, E>(
  file: FileHandle,
  options: { readonly from: number; readonly limitBytes: number },
  initial: S,
  step: (state: S, line: FileLine) => Effect.Effect<{ readonly state: S; readonly done: boolean }, E>
): Effect.Effect<S, E | FileFailed | LineLimitPassed> =>
  Effect.gen(function*() {
    const buffer = Buffer.alloc(chunkBytes)
    let state = initial
    let lineStart = options.from
    let pending: Array<Buffer> = []
    let pendingBytes = 0
    for (let readAt = options.from;;) {
      const chunk = yield* readInto(file, buffer, readAt)
      readAt += chunk.length
      let rest = chunk
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        const last = rest.subarray(0, end)
        const bytes = pending.length === 0 ? last : Buffer.concat([...pending, last])
        const next = yield* step(state, { offset: lineStart, bytes, complete: true })
        if (next.done) return next.state
        state = next.state
        lineStart += bytes.length + 1
        pending = []
        pendingBytes = 0
        rest = rest.subarray(end + 1)
      }
      pending.push(Buffer.from(rest))
      pendingBytes += rest.length
      if (pendingBytes > options.limitBytes) {
        return yield* new LineLimitPassed({ offset: lineStart, limitBytes: options.limitBytes })
      }
      if (chunk.length < chunkBytes) break
    }
    if (pendingBytes === 0) return state
    const torn = yield* step(state, { offset: lineStart, bytes: Buffer.concat(pending), complete: false })
    return torn.state
  })
