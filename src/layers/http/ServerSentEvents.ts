// Reads server-sent events: the data of each event, from lines. Names, IDs and retry hints are passed over.
import { Effect, Option, Stream } from "effect"
import { lines, LineTooLong } from "../process/LineReader.ts"

/** The data of the event being read: its lines so far and their length. */
interface Pending {
  readonly data: ReadonlyArray<string>
  readonly units: number
}
const nothing: Pending = { data: [], units: 0 }

/**
 * One string per event, its `data:` lines joined by a line feed; at most `limitBytes` a line and as many UTF-16 units an
 * event. A comment (a heartbeat) is no event; an event cut off by the end of the stream is dropped.
 */
export const eventData = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  limitBytes: number
): Stream.Stream<string, E | LineTooLong> => {
  const step = (pending: Pending, line: string) => {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line
    if (text === "") {
      const event = pending.data.length === 0 ? Option.none<string>() : Option.some(pending.data.join("\n"))
      return Effect.succeed([nothing, event] as const)
    }
    if (!text.startsWith("data:")) return Effect.succeed([pending, Option.none<string>()] as const)
    const data = text.slice(text.startsWith("data: ") ? 6 : 5)
    const units = pending.units + data.length + 1
    return units > limitBytes
      ? Effect.fail(new LineTooLong({ limitBytes }))
      : Effect.succeed([{ data: [...pending.data, data], units }, Option.none<string>()] as const)
  }
  return lines(bytes, limitBytes).pipe(Stream.mapAccumEffect(nothing, step), Stream.filterMap((event) => event))
}
