// Which part of a room is read next, by whom and for whom. One member reads for all where they see the same; whoever is
// new, was away, or sees another history reads alone, until both stand at the same token. It reads no room itself.
import { Effect, Option } from "effect"
import type { RoomId, StreamToken, UserId } from "../../domain/Ids.ts"
import { botUser } from "../../domain/SystemUsers.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { Instance } from "../../services/Instance.ts"
import { BotRooms } from "../../services/store/BotRooms.ts"
import { Participations, type RoomMember } from "../../services/store/Participations.ts"
import { isShared, Rooms } from "../../services/store/Rooms.ts"
import { type ReaderName, SweepPositions, type SweepReader } from "../../services/store/SweepPositions.ts"

export interface SweepWindow {
  readonly reader: SweepReader
  /** The member who reads. */
  readonly as: UserId
  readonly to: StreamToken
}

/** Joined, with a boundary: its rows are written. Permission is asked for by the decision. */
const isReading = ({ standing }: RoomMember): boolean => standing.membership === "joined" && standing.boundary !== null

const standsAt = (reader: SweepReader, token: StreamToken): boolean =>
  reader.windowTo === null && reader.position === token

export const make = Effect.gen(function*() {
  const { transaction } = yield* CrossfireDb
  const positions = yield* SweepPositions
  const participations = yield* Participations
  const rooms = yield* Rooms
  const botRooms = yield* BotRooms
  const bot = botUser((yield* Instance).serverName)

  const readingMembers = (roomId: RoomId) =>
    Effect.map(participations.inRoom(roomId), (members) => members.filter(isReading))

  /** The members for whom this reader reads. */
  const covered = (roomId: RoomId, reader: SweepReader) =>
    Effect.gen(function*() {
      const members = yield* readingMembers(roomId)
      if (reader.reader !== "") return members.filter(({ agent }) => agent.userId === reader.reader)
      const apart = new Set((yield* positions.of(roomId)).map((other) => other.reader))
      return members.filter(({ agent }) => !apart.has(agent.userId))
    })

  /** Every joined member is covered: what has neither an own reader nor a shared one starts at its boundary. */
  const heal = (roomId: RoomId) =>
    Effect.gen(function*() {
      for (const { agent, standing } of yield* readingMembers(roomId)) {
        yield* positions.split(roomId, agent.userId, standing.boundary).pipe(
          Effect.unlessEffect(
            Effect.map(positions.of(roomId), (readers) => readers.some((reader) => reader.reader === ""))
          )
        )
      }
    })

  /**
   * The next window of these readers before the boundary, or nothing when each stands there or cannot read. Only readers
   * from before the boundary was taken: one that came since may stand beyond it, and would be moved back.
   */
  const next = (roomId: RoomId, boundary: StreamToken, readers: ReadonlySet<ReaderName>) =>
    transaction(Effect.gen(function*() {
      for (const reader of yield* positions.of(roomId)) {
        if (!readers.has(reader.reader) || standsAt(reader, boundary)) continue
        const window = { reader, to: reader.windowTo ?? boundary }
        if (reader.reader === bot) {
          const room = yield* botRooms.get(roomId)
          if (Option.exists(room, ({ state }) => state === "joined")) {
            return Option.some<SweepWindow>({ ...window, as: bot })
          }
          continue
        }
        const [first] = yield* covered(roomId, reader)
        if (first !== undefined) return Option.some<SweepWindow>({ ...window, as: first.agent.userId })
        // Nobody is left for whom the shared reader would read; departed members keep places of their own.
        if (reader.reader === "") yield* positions.remove(roomId, "")
      }
      return Option.none<SweepWindow>()
    }))

  /**
   * Before a sweep and its boundary: where history is not shared, every member reads alone, from where the shared reader
   * stood. Answers the readers that there are.
   */
  const begin = (roomId: RoomId) =>
    transaction(Effect.gen(function*() {
      yield* heal(roomId)
      if (!Option.exists(yield* rooms.get(roomId), isShared)) {
        for (const { agent } of yield* readingMembers(roomId)) yield* positions.split(roomId, agent.userId, null)
        yield* positions.remove(roomId, "")
      }
      return new Set((yield* positions.of(roomId)).map((reader) => reader.reader))
    }))

  /** After a sweep: whoever stands at the boundary joins the shared reader there, where history is shared. */
  const merge = (roomId: RoomId, boundary: StreamToken) =>
    transaction(Effect.gen(function*() {
      const room = yield* rooms.get(roomId)
      if (!Option.exists(room, isShared)) return
      const readers = yield* positions.of(roomId)
      const shared = readers.find((reader) => reader.reader === "")
      if (shared !== undefined && !standsAt(shared, boundary)) return
      const members = yield* readingMembers(roomId)
      const arrived = readers.filter((reader) =>
        standsAt(reader, boundary) && members.some(({ agent }) => agent.userId === reader.reader)
      )
      if (arrived.length === 0) return
      yield* positions.put(roomId, { reader: "", position: boundary, windowTo: null }, null)
      yield* Effect.forEach(arrived, (reader) => positions.remove(roomId, reader.reader), { discard: true })
    }))

  return { begin, covered, merge, next }
})

export type SweepWindows = Effect.Effect.Success<typeof make>
