// `RoomSweep`: one room up to one boundary, window by window. A page that shows a member leaving is not decided before
// that member reads apart, so that nobody's reading ends where another one was removed.
import { Effect, Layer, Option } from "effect"
import type { RoomId, StreamToken } from "../../domain/Ids.ts"
import { type MatrixEvent, membership } from "../../domain/MatrixEvent.ts"
import { botUser } from "../../domain/SystemUsers.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { Instance } from "../../services/Instance.ts"
import { LevelChanges } from "../../services/LevelChanges.ts"
import { Matrix, type PageFailed } from "../../services/Matrix.ts"
import { RoomSweep } from "../../services/RoomSweep.ts"
import { BotRooms } from "../../services/store/BotRooms.ts"
import { Participations, takesPart } from "../../services/store/Participations.ts"
import { Rooms } from "../../services/store/Rooms.ts"
import { type ReaderName, SweepPositions } from "../../services/store/SweepPositions.ts"
import * as BotMessages from "./BotMessages.ts"
import * as BoundedPage from "./BoundedPage.ts"
import * as KeyedLock from "./KeyedLock.ts"
import * as OwnerNotices from "./OwnerNotices.ts"
import * as PageDecisions from "./PageDecisions.ts"
import * as PageSlots from "./PageSlots.ts"
import * as RoomState from "./RoomState.ts"
import * as SweepWindows from "./SweepWindows.ts"

/** Events of one page; with each, the reader's place moves once. */
export const sweepPageEvents = 100
/** Pages that are read at the same time for all sweeps together, those that an agent's page waits for included. */
export const sweepPagesAtOnce = 4

const departure = (event: MatrixEvent): "left" | "banned" | null => {
  const becomes = membership(event)
  if (becomes === "leave") return "left"
  return becomes === "ban" ? "banned" : null
}

const advanced = ({ reader, to }: SweepWindows.SweepWindow, end: StreamToken | null) =>
  end === null
    ? { reader: reader.reader, position: to, windowTo: null }
    : { reader: reader.reader, position: end, windowTo: to }

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  const { transaction } = yield* CrossfireDb
  const positions = yield* SweepPositions
  const participations = yield* Participations
  const rooms = yield* Rooms
  const botRooms = yield* BotRooms
  const changes = yield* LevelChanges
  const notices = yield* OwnerNotices.make
  const windows = yield* SweepWindows.make
  const decisions = yield* PageDecisions.make(windows)
  const botMessages = yield* BotMessages.make
  const bot = botUser((yield* Instance).serverName)
  const lock = KeyedLock.make<RoomId>()
  const slots = PageSlots.make(sweepPagesAtOnce)

  /** The reader was refused: is it still in the room? If not, that is noted and the others read on without it. */
  const gone = (roomId: RoomId, window: SweepWindows.SweepWindow) =>
    Effect.gen(function*() {
      if ((yield* matrix.joinedRooms(window.as)).includes(roomId)) return false
      yield* transaction(Effect.gen(function*() {
        if (window.as === bot) {
          yield* botRooms.remove(roomId)
          yield* positions.remove(roomId, bot)
          return
        }
        yield* positions.split(roomId, window.as, null)
        const member = (yield* participations.inRoom(roomId)).find(({ agent }) => agent.userId === window.as)
        if (member === undefined) return
        yield* participations.ended(member.agent.agentId, roomId, "left", null)
        yield* changes.raise([member.agent.agentId])
      }))
      return true
    })

  /** Members of the shared reader who leave on this page get readers of their own, which begin where it begins. */
  const setApart = (roomId: RoomId, window: SweepWindows.SweepWindow, events: ReadonlyArray<MatrixEvent>) =>
    transaction(Effect.gen(function*() {
      if (window.reader.reader !== "") return []
      const leaving = new Set(events.filter((event) => departure(event) !== null).map((event) => event.state_key))
      const members = (yield* windows.covered(roomId, window.reader)).filter(({ agent }) => leaving.has(agent.userId))
      yield* Effect.forEach(members, ({ agent }) => positions.split(roomId, agent.userId, null), { discard: true })
      return members.map(({ agent }) => agent.userId)
    }))

  /** Where the reader itself left on this page and has not come back: how, and the events until then. */
  const departedReader = (roomId: RoomId, window: SweepWindows.SweepWindow, events: ReadonlyArray<MatrixEvent>) =>
    Effect.gen(function*() {
      const at = events.findLastIndex((event) => event.state_key === window.as && departure(event) !== null)
      const last = events[at]
      if (last === undefined || window.reader.reader === "" || window.as === bot) return null
      // Removed and back again since: it reads on.
      if ((yield* matrix.joinedRooms(window.as)).includes(roomId)) return null
      return { membership: departure(last) ?? "left", events: events.slice(0, at + 1) }
    })

  const roomState = (roomId: RoomId, window: SweepWindows.SweepWindow, events: ReadonlyArray<MatrixEvent>) =>
    events.some(RoomState.changesRoom)
      ? RoomState.read(window.as, roomId).pipe(
        Effect.provideService(Matrix, matrix),
        // Whoever was removed meanwhile cannot say what the room is now.
        Effect.catchTag("MatrixRefused", () => Effect.succeed(null))
      )
      : Effect.succeed(null)

  /**
   * Kept with the reader's place, for the levels. The owners hear of an event over the bound at once, of the rest when it
   * comes again: an answer may be spoilt on its way.
   */
  const stopped = (roomId: RoomId, window: SweepWindows.SweepWindow, failed: PageFailed) =>
    Effect.gen(function*() {
      const { again } = yield* positions.fail(roomId, window.reader, failed)
      if (window.as === bot) return
      const members = (yield* windows.covered(roomId, window.reader)).filter(({ standing }) => takesPart(standing))
        .map(({ agent }) => agent)
      if (!again) yield* changes.raise(members.map(({ agentId }) => agentId))
      if (again || failed.reason === "too-large") {
        yield* notices.stopped(members, roomId, failed, `forward ${window.reader.position}`)
      }
    })

  /** Reads and decides one page; answers who has to read apart first, in which case it decided nothing, and the limit. */
  const readPage = (roomId: RoomId, window: SweepWindows.SweepWindow, limit: number) =>
    Effect.gen(function*() {
      const page = yield* slots.within(
        BoundedPage.read({
          as: window.as,
          roomId,
          from: window.reader.position,
          to: window.to,
          direction: "forward",
          limit
        }).pipe(Effect.provideService(Matrix, matrix))
      )
      const apart = yield* setApart(roomId, window, page.events)
      if (apart.length > 0) return { apart, limit }
      const room = yield* roomState(roomId, window, page.events)
      // Before anything on the page is decided: whoever shares a page looks at this afterwards.
      if (page.events.some(RoomState.changesVisibility)) yield* rooms.notAlwaysShared(roomId)
      const wasStopped = (yield* positions.failures).some((failure) =>
        failure.roomId === roomId && failure.reader === window.reader.reader
      )
      if (window.as === bot) yield* botMessages.handle(roomId, page.events)
      const departed = yield* departedReader(roomId, window, page.events)
      yield* decisions.page(
        departed === null
          ? { roomId, events: page.events, reader: advanced(window, page.end), room, departed: null }
          // What came afterwards is read when it returns: some homeservers show it even to those who left.
          : { roomId, events: departed.events, reader: window.reader, room, departed: departed.membership }
      )
      if (wasStopped) {
        const members = yield* windows.covered(roomId, window.reader)
        yield* changes.raise(members.map(({ agent }) => agent.agentId))
      }
      if (room?.encrypted === true) yield* notices.encryptedLater(roomId)
      if (page.events.some(RoomState.replacesRoom)) yield* notices.upgraded(roomId)
      return { apart, limit: page.limit }
    })

  const sweep = (roomId: RoomId) =>
    Effect.gen(function*() {
      const room = yield* rooms.get(roomId)
      if (Option.isNone(room)) return
      const readers: Set<ReaderName> = yield* windows.begin(roomId)
      // Taken after the readers were listed, so it stands at or after each of their places.
      const boundary = yield* matrix.boundary
      let limit = sweepPageEvents
      for (;;) {
        const window = yield* windows.next(roomId, boundary, readers)
        if (Option.isNone(window)) break
        const read = yield* readPage(roomId, window.value, limit).pipe(
          Effect.catchTag("MatrixRefused", (refused) =>
            Effect.flatMap(gone(roomId, window.value), (left) =>
              left ? Effect.succeed({ apart: [], limit }) : Effect.fail(refused))),
          Effect.tapErrorTag("PageFailed", (failed) =>
            stopped(roomId, window.value, failed))
        )
        for (const user of read.apart) {
          readers.add(user)
        }
        // Where pages had to be smaller, the next one begins near that: most of what is too large is read for nothing.
        limit = Math.min(sweepPageEvents, read.limit * 2)
      }
      yield* windows.merge(roomId, boundary)
      if (room.value.dirty > 0) {
        yield* rooms.swept(roomId, room.value.dirty)
      }
    })

  return RoomSweep.of({ room: (roomId) => lock.withLock(roomId)(sweep(roomId)) })
})

export const layer = Layer.effect(RoomSweep, make)
