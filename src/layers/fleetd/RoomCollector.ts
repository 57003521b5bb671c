// `Collector` over crossfire's pages: one boundary for the collection, then every dirty room on from its own cursor.
// Progress is only proposed here (`moves`); it is written with the receipt.
import { Effect, Layer } from "effect"
import { advanced, type Cursor, cursorAt, finished, windowOf } from "../../domain/Cursor.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { EventId, StreamToken } from "../../domain/Ids.ts"
import type { Level, LevelRoom, RoomRecord } from "../../domain/Level.ts"
import { CursorMove } from "../../domain/Publication.ts"
import { roomQuota, snapshotRecords, targetRecords } from "../../domain/Quota.ts"
import { type Collected, Collector } from "../../services/Collector.ts"
import { CrossfireClient, type CrossfireUnavailable, type LeaseStamp } from "../../services/CrossfireClient.ts"
import { ReadState, type RoomCursor } from "../../services/ReadState.ts"

/** Rooms read at the same time for one agent. */
const roomConcurrency = 4
/** Pages of one room in one collection: empty ones (filtered out by the homeserver) count too. */
const maxPagesPerRoom = 50
/** The same while none of them held anything to give: what an empty collection read is not stored, so it must get past it. */
const maxEmptyPagesPerRoom = 1_000
/** Rooms that gave no usable answer before the others are not asked any more: then it is no matter of a room. */
const maxUnavailableRooms = 3

interface RoomResult {
  readonly room: LevelRoom
  readonly records: ReadonlyArray<RoomRecord>
  readonly move: CursorMove
}

type Outcome =
  | { readonly _tag: "Read"; readonly result: RoomResult }
  | { readonly _tag: "Failed"; readonly roomId: string; readonly reason: string }

const failure = (room: LevelRoom, reason: string): Outcome => ({ _tag: "Failed", roomId: room.roomId, reason })

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

  const readRoom = (
    stamp: LeaseStamp,
    agent: FleetAgent,
    room: LevelRoom,
    known: Cursor | null,
    boundary: StreamToken,
    quota: number
  ) =>
    Effect.gen(function*() {
      const records: Array<RoomRecord> = []
      if (known === null) records.push(...(yield* unseen(agent, yield* snapshot(stamp, agent, room))))
      const snapshotSize = records.length
      let cursor = known ?? cursorAt(room.boundary)
      const window = windowOf(cursor, boundary)
      const seen = new Set<EventId>(records.map((record) => record.eventId))
      let from = window.from
      let last: EventId | null = null
      let open = true
      for (let pages = 0; open; pages++) {
        const taken = records.length - snapshotSize
        const left = quota - taken
        if (left <= 0 || pages >= (taken === 0 ? maxEmptyPagesPerRoom : maxPagesPerRoom)) break
        const page = yield* client.page(stamp, agent.agentId, {
          roomId: room.roomId,
          from,
          to: window.to,
          direction: "forward",
          // A small share must not make a long way through what is left out anyway.
          limit: taken === 0 && pages > 0 ? targetRecords : left
        })
        const fresh = (yield* unseen(agent, page.records)).filter((record) => !seen.has(record.eventId))
        for (const record of fresh) seen.add(record.eventId)
        records.push(...fresh)
        last = page.records.at(-1)?.eventId ?? last
        if (page.end === null) {
          cursor = finished(cursor, window.to, last)
          open = false
        } else {
          cursor = advanced(cursor, window.to, page.end, last)
          from = page.end
        }
      }
      // A window of before this collection may end below what is known now: only one opened by it reaches this boundary.
      const reachedBoundary = !open && window.to === boundary
      const move = new CursorMove({
        roomId: room.roomId,
        base: known,
        next: cursor,
        seenLatest: reachedBoundary ? room.latest : null
      })
      const result: RoomResult = { room, records, move }
      return result
    })

  /**
   * Whether what was read holds a waking message, or leads to one. Otherwise the one that waits stands in a room that
   * cannot be read now, or on no page (yet), and the records of other people must not start the agent in its place.
   */
  const isDue = (agent: FleetAgent, level: Level, read: ReadonlyArray<RoomResult>) =>
    Effect.gen(function*() {
      if (read.some(({ records }) => records.some(({ kind }) => kind === "wake" || kind === "mention"))) return true
      const unfinished = new Set(read.filter(({ move }) => move.next.to !== null).map(({ room }) => room.roomId))
      const ahead = level.wakes.filter((wake) => unfinished.has(wake.roomId)).map((wake) => wake.eventId)
      const delivered = yield* readState.deliveredAmong(agent.agentId, ahead)
      return ahead.some((eventId) => !delivered.has(eventId))
    })

  return Collector.of({
    collect: (stamp, agent, level) =>
      Effect.gen(function*() {
        const cursors = new Map((yield* readState.cursors(agent.agentId)).map((known) => [known.roomId, known]))
        const dirty = level.rooms.filter((room) => isDirty(room, cursors.get(room.roomId)))
        const boundary = yield* client.boundary(stamp)
        const quota = roomQuota(dirty.length)
        const unavailable: Array<CrossfireUnavailable> = []
        const outcomeOf = (room: LevelRoom) =>
          readRoom(stamp, agent, room, cursors.get(room.roomId)?.cursor ?? null, boundary, quota).pipe(
            Effect.map((result): Outcome => ({ _tag: "Read", result })),
            Effect.catchTags({
              RoomPageFailed: ({ reason }) => Effect.succeed(failure(room, reason)),
              ReadRefused: ({ reason }) => Effect.succeed(failure(room, reason)),
              CrossfireUnavailable: (error) =>
                Effect.sync(() => {
                  unavailable.push(error)
                  return failure(room, error.message)
                })
            })
          )
        const outcomes = yield* Effect.forEach(
          dirty,
          (room) =>
            Effect.suspend(() =>
              unavailable.length < maxUnavailableRooms
                ? outcomeOf(room)
                : Effect.succeed(failure(room, "other rooms gave no answer"))
            ),
          { concurrency: roomConcurrency }
        )
        const read = outcomes.flatMap((outcome) => outcome._tag === "Read" ? [outcome.result] : [])
        const due = yield* isDue(agent, level, read)
        const [error] = unavailable
        if (!due && error !== undefined) return yield* error
        const given = due ? read : []
        const collected: Collected = {
          records: given.flatMap((result) => result.records),
          rooms: given.map((result) => result.room),
          moves: given.map((result) => result.move),
          failedRooms: outcomes.flatMap((outcome) => outcome._tag === "Failed" ? [outcome] : [])
        }
        return collected
      })
  })
})

export const layer = Layer.effect(Collector, make)
