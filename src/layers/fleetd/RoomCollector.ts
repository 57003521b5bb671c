// `Collector` over crossfire's pages: one boundary for the collection, then every dirty room on from its own cursor.
// Progress is only proposed here (`moves`); it is written with the receipt.
import { Effect, Layer, Option } from "effect"
import type { StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import type { Cursor } from "../../domain/Cursor.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { StreamToken } from "../../domain/Ids.ts"
import type { Level, LevelRoom, RoomRecord } from "../../domain/Level.ts"
import { firstShare, nextShare, snapshotRecords, usualLimits } from "../../domain/Quota.ts"
import { type Collected, Collector } from "../../services/Collector.ts"
import {
  type CredentialRefused,
  CrossfireClient,
  type CrossfireUnavailable,
  type LeaseStamp,
  type ReadRefused,
  type RoomPageFailed
} from "../../services/CrossfireClient.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { ReadState, type RoomCursor } from "../../services/ReadState.ts"
import * as RoomReading from "./RoomReading.ts"

/** Rooms read at the same time for one agent. */
const roomConcurrency = 4
/** Rooms that gave no usable answer before the others are not asked any more: then it is no matter of a room. */
const maxUnavailableRooms = 3

interface Room {
  readonly reading: RoomReading.RoomReading
  readonly readOn: (share: number) => Effect.Effect<void, PageFailure>
  /** It is not read on in this collection; what was read before stands. */
  failed: boolean
}

type RoundFailure = CredentialRefused | StaleGeneration | StoreFailed
type PageFailure = RoundFailure | CrossfireUnavailable | ReadRefused | RoomPageFailed

/** Unequal rather than above: a crossfire restored from a backup counts from lower again. */
const isDirty = (room: LevelRoom, known: RoomCursor | undefined): boolean =>
  known === undefined || known.cursor.to !== null || room.latest !== known.seenLatest

/** What an agent is never given: its own events and crossfire's notices. */
const isGiven = (record: RoomRecord): boolean => record.kind !== "own" && record.kind !== "control"

export const make = Effect.gen(function*() {
  const client = yield* CrossfireClient
  const readState = yield* ReadState

  const unseen = (agent: FleetAgent, records: ReadonlyArray<RoomRecord>) =>
    Effect.map(
      readState.deliveredAmong(agent.agentId, records.map((record) => record.eventId)),
      (delivered) => records.filter((record) => isGiven(record) && !delivered.has(record.eventId))
    )

  /** Recent history before the room's first boundary, oldest first. It wakes nobody: crossfire marked it as context. */
  const snapshot = (stamp: LeaseStamp, agent: FleetAgent, room: LevelRoom) =>
    client.page(stamp, agent.agentId, {
      roomId: room.roomId,
      from: room.boundary,
      to: null,
      direction: "backward",
      limit: snapshotRecords
    }).pipe(Effect.map((page) => page.records.toReversed()))

  const begin = (
    stamp: LeaseStamp,
    agent: FleetAgent,
    room: LevelRoom,
    known: Cursor | null,
    boundary: StreamToken
  ): Effect.Effect<Room, PageFailure> =>
    Effect.gen(function*() {
      const recent = known === null ? yield* unseen(agent, yield* snapshot(stamp, agent, room)) : []
      const { reading, readOn } = RoomReading.make<PageFailure>({
        room,
        known,
        boundary,
        snapshot: recent,
        page: (wanted) => client.page(stamp, agent.agentId, { roomId: room.roomId, direction: "forward", ...wanted }),
        unseen: (records) => unseen(agent, records)
      })
      return { reading, readOn, failed: false }
    })

  /**
   * Whether what was read holds a waking message, or leads to one. Otherwise the one that waits stands in a room that
   * cannot be read now, or on no page (yet), and the records of other people must not start the agent in its place.
   */
  const isDue = (agent: FleetAgent, level: Level, read: ReadonlyArray<RoomReading.RoomReading>) =>
    Effect.gen(function*() {
      if (read.some((room) => room.records().some(({ kind }) => kind === "wake" || kind === "mention"))) return true
      const unfinished = new Set(read.filter((room) => room.move().next.to !== null).map(({ room }) => room.roomId))
      const ahead = level.wakes.filter((wake) => unfinished.has(wake.roomId)).map((wake) => wake.eventId)
      const delivered = yield* readState.deliveredAmong(agent.agentId, ahead)
      return ahead.some((eventId) => !delivered.has(eventId))
    })

  /** The rooms in rounds: each room that is still open gets the same again, until the target is reached. */
  const inRounds = (
    rooms: ReadonlyArray<Room>,
    read: (room: Room, share: number) => Effect.Effect<void, RoundFailure>
  ) =>
    Effect.gen(function*() {
      let share = firstShare(rooms.length, usualLimits)
      while (share > 0) {
        const open = rooms.filter((room) => !room.failed && room.reading.open())
        yield* Effect.forEach(open, (room) => read(room, share), { concurrency: roomConcurrency, discard: true })
        const given = rooms.reduce((sum, { reading }) => sum + reading.taken(), 0)
        const left = open.filter((room) => !room.failed && room.reading.open())
        share = nextShare(given, left.length, usualLimits)
      }
    })

  return Collector.of({
    collect: (stamp, agent, level) =>
      Effect.gen(function*() {
        const cursors = new Map((yield* readState.cursors(agent.agentId)).map((known) => [known.roomId, known]))
        const dirty = level.rooms.filter((room) => isDirty(room, cursors.get(room.roomId)))
        const boundary = yield* client.boundary(stamp)
        const unavailable: Array<CrossfireUnavailable> = []
        const failedRooms: Array<{ readonly roomId: string; readonly reason: string }> = []

        /** A failure of one room's is noted and ends that room alone; the others go on. */
        const within = <A>(roomId: string, effect: Effect.Effect<A, PageFailure>) => {
          const note = (reason: string) =>
            Effect.sync(() => {
              failedRooms.push({ roomId, reason })
              return Option.none<A>()
            })
          return Effect.suspend(() =>
            unavailable.length < maxUnavailableRooms
              ? Effect.asSome(effect)
              : note("other rooms gave no answer")
          ).pipe(Effect.catchTags({
            RoomPageFailed: ({ reason }) => note(reason),
            ReadRefused: ({ reason }) => note(reason),
            CrossfireUnavailable: (error) => {
              unavailable.push(error)
              return note(error.message)
            }
          }))
        }
        const begun = yield* Effect.forEach(
          dirty,
          (room) => within(room.roomId, begin(stamp, agent, room, cursors.get(room.roomId)?.cursor ?? null, boundary)),
          { concurrency: roomConcurrency }
        )
        const rooms = begun.flatMap((room) => Option.toArray(room))
        yield* inRounds(rooms, (room, share) =>
          Effect.map(within(room.reading.room.roomId, room.readOn(share)), (read) => {
            if (Option.isNone(read)) {
              room.failed = true
            }
          }))
        const read = rooms.map(({ reading }) =>
          reading
        ).filter((reading) => reading.began())
        const due = yield* isDue(agent, level, read)
        const [error] = unavailable
        if (!due && error !== undefined) return yield* error
        const given = due ? read : []
        const collected: Collected = {
          records: given.flatMap((reading) => reading.records()),
          rooms: given.map(({ room }) => room),
          moves: given.map((reading) => reading.move()),
          failedRooms
        }
        return collected
      })
  })
})

export const layer = Layer.effect(Collector, make)
