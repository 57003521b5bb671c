// `RoomPages`: a page read as the agent, its events annotated with what was decided. Undecided ones make the room be swept
// first: decisions are made there alone.
import { Duration, Effect, Layer, Option } from "effect"
import { HomeserverDown, NotAllowed, PageUnusable, ServerBusy } from "../../domain/api/CrossfireErrors.ts"
import type { DecisionKind } from "../../domain/Decision.ts"
import type { AgentId, RoomId, UserId } from "../../domain/Ids.ts"
import { isControl, type MatrixEvent, membership } from "../../domain/MatrixEvent.ts"
import { recordOf, type SenderInfo } from "../../domain/RoomRecords.ts"
import type { PageFailed, PageRequest } from "../../services/Matrix.ts"
import { RoomPages } from "../../services/RoomPages.ts"
import { RoomSweep } from "../../services/RoomSweep.ts"
import { type Agent, Agents } from "../../services/store/Agents.ts"
import { Decisions } from "../../services/store/Decisions.ts"
import { Participations, takesPart } from "../../services/store/Participations.ts"
import { isShared, Rooms } from "../../services/store/Rooms.ts"
import { SweepPositions } from "../../services/store/SweepPositions.ts"
import * as DisplayNames from "./DisplayNames.ts"
import * as NameDoubts from "./NameDoubts.ts"
import * as OwnerNotices from "./OwnerNotices.ts"
import * as PageReads from "./PageReads.ts"
import * as Senders from "./Senders.ts"

/** How long a page waits for the room's sweep before the caller is asked to come again. */
const sweepWaitSeconds = 20
const retryMillis = 2_000
/** How long the page itself may take, waiting for its turn included; fleetd waits 75 s for an answer. */
const readWaitSeconds = 70
/** Requests for pages that are worked on or wait, of all agents together. */
const maxRequests = 256
/** Failed places that are remembered until they fail again. */
const maxFailedPlaces = 1_000

type Asked = Omit<PageRequest, "maxBytes">

export const make = Effect.gen(function*() {
  const senders = yield* Senders.make
  const agents = yield* Agents
  const decisions = yield* Decisions
  const participations = yield* Participations
  const rooms = yield* Rooms
  const positions = yield* SweepPositions
  const reads = yield* PageReads.make
  const notices = yield* OwnerNotices.make
  const sweep = yield* RoomSweep
  const displayNames = yield* DisplayNames.make
  const nameDoubts = yield* NameDoubts.make

  const reader = (agentId: AgentId, roomId: RoomId) =>
    Effect.gen(function*() {
      const agent = yield* agents.byId(agentId)
      const standing = yield* participations.get(agentId, roomId)
      return Option.isSome(agent) && Option.exists(standing, takesPart)
        ? agent.value
        : yield* new NotAllowed({ reason: `The agent takes no part in the room ${roomId}` })
    })

  const decided = (agentId: AgentId, events: ReadonlyArray<MatrixEvent>) =>
    decisions.among(agentId, events.map((event) => event.event_id))

  /** What was decided of each event; undecided ones are decided by a sweep. Older than the boundary stays undecided. */
  const decisionsOf = (agentId: AgentId, roomId: RoomId, events: ReadonlyArray<MatrixEvent>) =>
    Effect.gen(function*() {
      const known = yield* decided(agentId, events)
      if (known.size === new Set(events.map((event) => event.event_id)).size) return known
      yield* sweep.room(roomId).pipe(
        Effect.timeoutFail({
          duration: Duration.seconds(sweepWaitSeconds),
          onTimeout: () => new HomeserverDown({ retryAfterMillis: retryMillis })
        })
      )
      return yield* decided(agentId, events)
    })

  const kindOf = (
    stored: { readonly kind: DecisionKind; readonly open: boolean } | undefined,
    event: MatrixEvent,
    reading: Agent,
    role: SenderInfo["role"]
  ): DecisionKind => {
    // From before the boundary, or decided so long ago that the row is gone. What is never given stays that.
    if (stored === undefined) {
      if (event.sender === reading.userId) return "own"
      return isControl(event) && role === "crossfire" ? "control" : "context"
    }
    // A wake that is closed has done its work, or was withdrawn: what it says is context now.
    return (stored.kind === "wake" || stored.kind === "mention") && !stored.open ? "context" : stored.kind
  }

  const sendersOf = (reading: Agent, roomId: RoomId, events: ReadonlyArray<MatrixEvent>) =>
    Effect.gen(function*() {
      const users = [...new Set(events.map((event) => event.sender))]
      const known = yield* agents.byUsers(users)
      const administrators = yield* agents.administratorsAmong(users)
      const names = yield* displayNames.of(reading.userId, roomId, [...new Set([...users, reading.owner])])
      const doubts = yield* nameDoubts.among(reading, names)
      const senderOf = yield* senders.among(users)
      const role = (user: UserId): SenderInfo["role"] => {
        const sender = senderOf(user)
        if (sender.kind !== "person") return sender.kind
        if (!sender.active) return "person"
        if (user === reading.owner) return "owner"
        return administrators.has(user) ? "administrator" : "person"
      }
      return (user: UserId): SenderInfo => {
        const agent = known.get(user)
        return {
          role: role(user),
          agent: agent === undefined ? null : { name: agent.name, owner: agent.owner },
          displayName: names.get(user) ?? null,
          nameDoubt: doubts.get(user) ?? null
        }
      }
    })

  const within = <A, E>(read: Effect.Effect<A, E>) =>
    Effect.timeoutFail(read, {
      duration: Duration.seconds(readWaitSeconds),
      onTimeout: () => new HomeserverDown({ retryAfterMillis: retryMillis })
    })

  /** Whether every member sees the same of the room, this agent included: it is no newcomer and was not away. */
  const seesTheSame = (agent: Agent, { direction, roomId }: Asked) =>
    Effect.gen(function*() {
      if (direction === "backward") return false
      const room = yield* rooms.get(roomId)
      if (!Option.exists(room, (known) => known.alwaysShared && isShared(known))) return false
      return !(yield* positions.of(roomId)).some((own) => own.reader === agent.userId)
    })

  const decidedPage = (agent: Agent, asked: Asked) =>
    Effect.gen(function*() {
      const shared = yield* seesTheSame(agent, asked)
      const read = yield* within(
        shared ? reads.together(asked) : Effect.map(reads.alone(asked), (page) => ({ page, borrowed: false }))
      )
      const known = yield* decisionsOf(agent.agentId, asked.roomId, read.page.events)
      // What is decided is known by now: whether visibility or this agent's membership changed in between.
      const own = read.page.events.some((event) => membership(event) !== null && event.state_key === agent.userId)
      if (!read.borrowed || (!own && (yield* seesTheSame(agent, asked)))) return { known, page: read.page }
      const page = yield* within(reads.alone(asked))
      return { known: yield* decisionsOf(agent.agentId, asked.roomId, page.events), page }
    })

  /**
   * The sweep may never come here: to what stands before the boundary, or where it has been. The owner hears of an event
   * over the bound at once, of the rest when the same place fails again.
   */
  const failedPlaces = new Set<string>()
  const stopped = (agent: Agent, { direction, from, roomId }: Asked, failed: PageFailed) =>
    Effect.suspend(() => {
      const place = `${direction} ${from}`
      const key = `${agent.agentId} ${roomId} ${place}`
      const again = failedPlaces.delete(key)
      failedPlaces.add(key)
      for (const oldest of failedPlaces) {
        if (failedPlaces.size <= maxFailedPlaces) break
        failedPlaces.delete(oldest)
      }
      return again || failed.reason === "too-large" ? notices.stopped([agent], roomId, failed, place) : Effect.void
    })

  let requests = 0
  const admitted = <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.suspend(() => {
        if (requests >= maxRequests) {
          return Effect.fail(
            new ServerBusy({ reason: `More than ${maxRequests} pages are asked for at the same time` })
          )
        }
        requests += 1
        return Effect.void
      }),
      () => work,
      () => Effect.sync(() => requests -= 1)
    )

  const down = (retryAfterMillis: number) => Effect.fail(new HomeserverDown({ retryAfterMillis }))

  return RoomPages.of({
    read: ({ agentId, direction, from, limit, roomId, to }) =>
      Effect.gen(function*() {
        const agent = yield* reader(agentId, roomId)
        const asked = { as: agent.userId, roomId, from, to, direction, limit }
        const { known, page } = yield* decidedPage(agent, asked).pipe(
          Effect.tapErrorTag("PageFailed", (failed) => stopped(agent, asked, failed))
        )
        const senderInfo = yield* sendersOf(agent, roomId, page.events)
        // Between reading and answering the agent may have been removed.
        yield* reader(agentId, roomId)
        return {
          records: page.events.map((event) => {
            const sender = senderInfo(event.sender)
            return recordOf(event, roomId, kindOf(known.get(event.event_id), event, agent, sender.role), sender)
          }),
          end: page.end
        }
      }).pipe(
        Effect.catchTags({
          HomeserverUnavailable: () => down(retryMillis),
          HomeserverBusy: (busy) => down(busy.retryAfterMillis),
          PageFailed: (failed) => Effect.fail(new PageUnusable({ reason: failed.reason, eventId: failed.eventId })),
          MatrixRefused: (refused) =>
            Effect.fail(new NotAllowed({ reason: `The homeserver refused the page: ${refused.errcode}` }))
        }),
        admitted
      )
  })
})

export const layer = Layer.scoped(RoomPages, make)
