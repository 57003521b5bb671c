// `RoomPages`: a page read as the agent, its events annotated with what was decided. Undecided ones make the room be swept
// first: decisions are made there alone.
import { Duration, Effect, Layer, Option } from "effect"
import { HomeserverDown, NotAllowed, PageUnusable } from "../../domain/api/CrossfireErrors.ts"
import type { DecisionKind } from "../../domain/Decision.ts"
import type { AgentId, RoomId, UserId } from "../../domain/Ids.ts"
import { isControl, type MatrixEvent } from "../../domain/MatrixEvent.ts"
import { recordOf, type SenderInfo } from "../../domain/RoomRecords.ts"
import { Matrix } from "../../services/Matrix.ts"
import { RoomPages } from "../../services/RoomPages.ts"
import { RoomSweep } from "../../services/RoomSweep.ts"
import { type Agent, Agents } from "../../services/store/Agents.ts"
import { Decisions } from "../../services/store/Decisions.ts"
import { Participations, takesPart } from "../../services/store/Participations.ts"
import * as BoundedPage from "./BoundedPage.ts"
import * as DisplayNames from "./DisplayNames.ts"
import * as NameDoubts from "./NameDoubts.ts"
import * as Senders from "./Senders.ts"

/** How long a page waits for the room's sweep before the caller is asked to come again. */
const sweepWaitSeconds = 20
const retryMillis = 2_000

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  const senders = yield* Senders.make
  const agents = yield* Agents
  const decisions = yield* Decisions
  const participations = yield* Participations
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

  const down = (retryAfterMillis: number) => Effect.fail(new HomeserverDown({ retryAfterMillis }))

  return RoomPages.of({
    read: ({ agentId, direction, from, limit, roomId, to }) =>
      Effect.gen(function*() {
        const agent = yield* reader(agentId, roomId)
        const page = yield* BoundedPage.read({ as: agent.userId, roomId, from, to, direction, limit }).pipe(
          Effect.provideService(Matrix, matrix)
        )
        const known = yield* decisionsOf(agentId, roomId, page.events)
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
          PageFailed: (failed) => Effect.fail(new PageUnusable({ reason: failed.reason })),
          MatrixRefused: (refused) =>
            Effect.fail(new NotAllowed({ reason: `The homeserver refused the page: ${refused.errcode}` }))
        })
      )
  })
})

export const layer = Layer.effect(RoomPages, make)
