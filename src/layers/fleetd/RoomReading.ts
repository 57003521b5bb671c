// One room within one collection: read on from its cursor, page by page, as far as its share allows, and as often as a
// share is given. What was read of whole pages stands, also when a later page fails.
import { Effect } from "effect"
import { advanced, type Cursor, cursorAt, finished, windowOf } from "../../domain/Cursor.ts"
import type { EventId, StreamToken } from "../../domain/Ids.ts"
import type { LevelRoom, RoomRecord } from "../../domain/Level.ts"
import { CursorMove } from "../../domain/Publication.ts"
import { targetRecords } from "../../domain/Quota.ts"

/** Pages of one room in one collection: empty ones (filtered out by the homeserver) count too. */
const maxPages = 50
/** The same while none of them held anything to give: what an empty collection read is not stored, so it must get past it. */
const maxEmptyPages = 1_000

export interface RoomPage {
  /** In the order of the room, as the homeserver gave them. */
  readonly records: ReadonlyArray<RoomRecord>
  readonly end: StreamToken | null
}

export interface PageWanted {
  readonly from: StreamToken
  readonly to: StreamToken
  readonly limit: number
}

export interface RoomReading {
  readonly room: LevelRoom
  /** Records read so far, the snapshot included. */
  readonly records: () => ReadonlyArray<RoomRecord>
  /** Of these, what counts against the share: the snapshot of a new room does not. */
  readonly taken: () => number
  /** Whether there may be more for a further share. */
  readonly open: () => boolean
  /** Whether any page was read: what the move stands for is more than nothing. */
  readonly began: () => boolean
  readonly move: () => CursorMove
}

interface Parts<E> {
  readonly room: LevelRoom
  readonly known: Cursor | null
  readonly boundary: StreamToken
  /** Recent history of a room that was never read, oldest first. */
  readonly snapshot: ReadonlyArray<RoomRecord>
  readonly page: (wanted: PageWanted) => Effect.Effect<RoomPage, E>
  /** Without what was given before and what is never given. */
  readonly unseen: (records: ReadonlyArray<RoomRecord>) => Effect.Effect<ReadonlyArray<RoomRecord>, E>
}

export const make = <E>({ boundary, known, page, room, snapshot, unseen }: Parts<E>) => {
  const records: Array<RoomRecord> = [...snapshot]
  const seen = new Set<EventId>(snapshot.map((record) => record.eventId))
  let cursor = known ?? cursorAt(room.boundary)
  let { from, to } = windowOf(cursor, boundary)
  let last: EventId | null = null
  let reachedBoundary = false
  let pages = 0
  const taken = () => records.length - snapshot.length
  const open = () => !reachedBoundary && pages < (taken() === 0 ? maxEmptyPages : maxPages)

  const reading: RoomReading = {
    room,
    records: () => records,
    taken,
    open,
    began: () => pages > 0 || snapshot.length > 0,
    move: () =>
      new CursorMove({
        roomId: room.roomId,
        base: known,
        next: cursor,
        seenLatest: reachedBoundary ? room.latest : null
      })
  }

  /** At most `share` records more. A failed page leaves what was read before it. */
  const readOn = (share: number): Effect.Effect<void, E> =>
    Effect.gen(function*() {
      let left = share
      let wide = false
      while (left > 0 && open()) {
        const limit: number = wide ? Math.max(left, targetRecords) : left
        const read: RoomPage = yield* page({ from, to, limit })
        pages += 1
        const fresh: ReadonlyArray<RoomRecord> = (yield* unseen(read.records)).filter((record) =>
          !seen.has(record.eventId)
        )
        if (wide && fresh.length > left) {
          // It came out of what is left out into what is given: asked again within the share.
          wide = false
          continue
        }
        // A small share must not make a long way through what is left out anyway.
        wide = fresh.length === 0
        for (const record of fresh) seen.add(record.eventId)
        records.push(...fresh)
        left -= fresh.length
        last = read.records.at(-1)?.eventId ?? last
        if (read.end !== null) {
          cursor = advanced(cursor, to, read.end, last)
          from = read.end
          continue
        }
        cursor = finished(cursor, to, last)
        // A window that an earlier collection opened ends below what is known now, maybe with nothing more to give: the
        // next one follows at once, or an empty rest, which is stored by nobody, would stand before it for ever.
        reachedBoundary = to === boundary
        from = to
        to = boundary
      }
    })

  return { reading, readOn }
}
