// `Collector` over crossfire's pages: one boundary for the collection, then every dirty room on from its own cursor.
// Progress is only proposed here (`moves`); it is written with the receipt.
import { Effect, Layer } from "effect"
import { advanced, type Cursor, cursorAt, finished, windowOf } from "../../domain/Cursor.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { EventId, StreamToken } from "../../domain/Ids.ts"
import type { LevelRoom, RoomRecord } from "../../domain/Level.ts"
import { CursorMove } from "../../domain/Publication.ts"
import { roomQuota, snapshotRecords } from "../../domain/Quota.ts"
import { type Collected, Collector } from "../../services/Collector.ts"
import { CrossfireClient, type LeaseStamp } from "../../services/CrossfireClient.ts"
import { ReadState, type RoomCursor } from "../../services/ReadState.ts"

/** Rooms read at the same time for one agent. */
const roomConcurrency = 4
/** Pages of one room in one collection: empty ones (filtered out by the homeserver) count too. */
const maxPagesPerRoom = 50

interface RoomResult {
  readonly room: LevelRoom
  readonly records: ReadonlyArray<RoomRecord>
  readonly move: CursorMove
}

type Outcome =
  | { readonly _tag: "Read"; readonly result: RoomResult }
  | { readonly _tag: "Failed"; readonly roomId: string; readonly reason: string }

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
      for (let pages = 0; open && pages < maxPagesPerRoom; pages++) {
        const left = quota - (records.length - snapshotSize)
        if (left <= 0) break
        const page = yield* client.page(stamp, agent.agentId, {
          roomId: room.roomId,
          from,
          to: window.to,
          direction: "forward",
          limit: left
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

  return Collector.of({
    collect: (stamp, agent, level) =>
      Effect.gen(function*() {
        const cursors = new Map((yield* readState.cursors(agent.agentId)).map((known) => [known.roomId, known]))
        const dirty = level.rooms.filter((room) => isDirty(room, cursors.get(room.roomId)))
        const boundary = yield* client.boundary(stamp)
        const quota = roomQuota(dirty.length)
        const outcomes = yield* Effect.forEach(
          dirty,
          (room) =>
            readRoom(stamp, agent, room, cursors.get(room.roomId)?.cursor ?? null, boundary, quota).pipe(
              Effect.map((result): Outcome => ({ _tag: "Read", result })),
              Effect.catchTag(
                "RoomPageFailed",
                "ReadRefused",
                (failed) => Effect.succeed<Outcome>({ _tag: "Failed", roomId: room.roomId, reason: failed.reason })
              )
            ),
          { concurrency: roomConcurrency }
        )
        const read = outcomes.flatMap((outcome) => outcome._tag === "Read" ? [outcome.result] : [])
        const collected: Collected = {
          records: read.flatMap((result) => result.records),
          rooms: read.map((result) => result.room),
          moves: read.map((result) => result.move),
          failedRooms: outcomes.flatMap((outcome) => outcome._tag === "Failed" ? [outcome] : [])
        }
        return collected
      })
  })
})

export const layer = Layer.effect(Collector, make)
