// Drops the lines of Pi's output that nobody reads, on bytes, before they are collected, decoded or counted.
// It knows lines by the kind that stands first in them, and nothing else of their content.
import { Chunk, Stream } from "effect"
import { unreadKinds } from "./PiRecords.ts"

const lineFeed = 10
const prefixes = unreadKinds.map((kind) => Buffer.from(`{"type":"${kind}"`))
const prefixBytes = Math.max(...prefixes.map((prefix) => prefix.length))

const isUnread = (start: Buffer) =>
  prefixes.some((prefix) => start.length >= prefix.length && start.subarray(0, prefix.length).equals(prefix))

/** The same bytes without the unread lines. At most `prefixBytes` of an undecided line are held back. */
export const withoutUnread = <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<Uint8Array, E> =>
  Stream.suspend(() => {
    let start = Buffer.alloc(0)
    let line: "undecided" | "kept" | "dropped" = "undecided"
    const filter = (chunk: Uint8Array): ReadonlyArray<Uint8Array> => {
      const kept: Array<Uint8Array> = []
      let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      while (rest.length > 0) {
        const end = rest.indexOf(lineFeed)
        const whole = end !== -1
        const part = whole ? rest.subarray(0, end + 1) : rest
        rest = rest.subarray(part.length)
        if (line === "undecided") {
          start = Buffer.concat([start, part])
          if (whole || start.length >= prefixBytes) {
            line = isUnread(start) ? "dropped" : "kept"
            if (line === "kept") kept.push(start)
            start = Buffer.alloc(0)
          }
        } else if (line === "kept") kept.push(part)
        if (whole) line = "undecided"
      }
      return kept
    }
    return Stream.mapChunks(bytes, (chunks) => Chunk.flatMap(chunks, (chunk) => Chunk.fromIterable(filter(chunk))))
  })
