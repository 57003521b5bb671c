// Splits a byte stream into lines at LF only, with a bound on a line's length. JSON lines of both engines come through it.
import { Chunk, Effect, Schema, Stream } from "effect"

export class LineTooLong extends Schema.TaggedError<LineTooLong>()("LineTooLong", { limitBytes: Schema.Int }) {
  override get message(): string {
    return `a line is longer than ${this.limitBytes} bytes`
  }
}

/**
 * Complete lines without their LF, decoded as UTF-8 (invalid bytes become U+FFFD). A last line without LF is not handed
 * out: it is torn. U+2028 and lone CR do not end a line, since both engines write them inside JSON strings.
 */
export const lines = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  limitBytes: number
): Stream.Stream<string, E | LineTooLong> =>
  Stream.suspend(() => {
    const pending: Array<Buffer> = []
    let pendingBytes = 0
    return bytes.pipe(
      Stream.mapChunksEffect((chunks) =>
        Effect.gen(function*() {
          const complete: Array<string> = []
          for (const chunk of chunks) {
            let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
            for (let at = rest.indexOf(10); at !== -1; at = rest.indexOf(10)) {
              pending.push(rest.subarray(0, at))
              complete.push(Buffer.concat(pending).toString("utf8"))
              pending.length = 0
              pendingBytes = 0
              rest = rest.subarray(at + 1)
            }
            pending.push(Buffer.from(rest))
            pendingBytes += rest.length
            if (pendingBytes > limitBytes) return yield* new LineTooLong({ limitBytes })
          }
          return Chunk.unsafeFromArray(complete)
        })
      )
    )
  })
