// Decides one page of a room for the agents of its reader and moves the reader, in one transaction. The only place where
// decisions are made.
import { Effect, Schema } from "effect"
import { decide } from "../../domain/Decision.ts"
import { type AgentId, EventId, type RoomId } from "../../domain/Ids.ts"
import { type MatrixEvent, redactedEvent } from "../../domain/MatrixEvent.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { LevelChanges } from "../../services/LevelChanges.ts"
import { Decisions, type NewDecision } from "../../services/store/Decisions.ts"
import { Participations, type RoomMember } from "../../services/store/Participations.ts"
import { type RoomInfo, Rooms } from "../../services/store/Rooms.ts"
import { SweepPositions, type SweepReader } from "../../services/store/SweepPositions.ts"
import { WakePolicies } from "../../services/WakePolicies.ts"
import * as Senders from "./Senders.ts"
import type { SweepWindows } from "./SweepWindows.ts"

const isEventId = Schema.is(EventId)

export interface DecidedPage {
  readonly roomId: RoomId
  /** In the order of the room. */
  readonly events: ReadonlyArray<MatrixEvent>
  /** Where the reader stands after this page. */
  readonly reader: SweepReader
  /** The room's state as read after an event that may have changed it. */
  readonly room: Partial<RoomInfo> | null
  /** The reader itself is no longer in the room. */
  readonly departed: "left" | "banned" | null
}

export const make = (windows: SweepWindows) =>
  Effect.gen(function*() {
    const { transaction } = yield* CrossfireDb
    const decisions = yield* Decisions
    const participations = yield* Participations
    const positions = yield* SweepPositions
    const rooms = yield* Rooms
    const policies = yield* WakePolicies
    const changes = yield* LevelChanges
    const senders = yield* Senders.make

    /** What the events mean for these members. `standing: false` is for events before the boundary: nothing wakes. */
    const outcomes = (
      roomId: RoomId,
      events: ReadonlyArray<MatrixEvent>,
      members: ReadonlyArray<RoomMember>,
      afterBoundary: boolean
    ) =>
      Effect.gen(function*() {
        const senderOfEvent = yield* senders.among(events.map((event) => event.sender))
        const judged = yield* Effect.forEach(
          members,
          (member) => Effect.map(policies.inRoom(member.agent.agentId, roomId), (policy) => ({ member, policy }))
        )
        return events.flatMap((event) =>
          judged.map(({ member, policy }): NewDecision => ({
            agentId: member.agent.agentId,
            roomId,
            eventId: event.event_id,
            sender: event.sender,
            kind: decide({
              event,
              sender: senderOfEvent(event.sender),
              agent: member.agent,
              permitted: member.standing.permitted,
              joined: afterBoundary,
              policy: policy.selections
            }),
            policyRevision: policy.revision
          }))
        )
      })

    /** Raises what each agent may be given; answers whose level that changed. */
    const raise = (roomId: RoomId, recorded: Effect.Effect.Success<ReturnType<typeof decisions.record>>) =>
      Effect.gen(function*() {
        const latest = new Map<AgentId, number>()
        for (const { agentId, kind, sequence } of recorded) {
          if (kind !== "own" && kind !== "control") {
            latest.set(agentId, sequence)
          }
        }
        for (const [agentId, sequence] of latest) {
          yield* participations.raise(agentId, roomId, sequence)
        }
        return [...latest.keys()]
      })

    const redact = (roomId: RoomId, events: ReadonlyArray<MatrixEvent>) =>
      Effect.map(
        Effect.forEach(events, (event) => {
          const target = redactedEvent(event)
          return isEventId(target) ? decisions.redact(roomId, target) : Effect.succeed([])
        }),
        (found) => found.flat()
      )

    const page = (decided: DecidedPage) =>
      transaction(Effect.gen(function*() {
        const { departed, events, reader, roomId } = decided
        const members = yield* windows.covered(roomId, reader)
        const recorded = yield* decisions.record(yield* outcomes(roomId, events, members, true))
        const touched = new Set(yield* raise(roomId, recorded))
        for (const agentId of yield* redact(roomId, events)) touched.add(agentId)
        if (decided.room !== null) {
          yield* rooms.amend(roomId, decided.room)
          for (const member of members) touched.add(member.agent.agentId)
        }
        yield* positions.put(roomId, reader, events.at(-1)?.event_id ?? null)
        if (departed !== null) {
          for (const { agent } of members) {
            yield* participations.ended(agent.agentId, roomId, departed, null)
            touched.add(agent.agentId)
          }
        }
        yield* changes.raise([...touched])
      }))

    /** Events at or before an agent's boundary: known, so that whatever brings them again wakes nobody. */
    const snapshot = (roomId: RoomId, member: RoomMember, events: ReadonlyArray<MatrixEvent>) =>
      Effect.flatMap(outcomes(roomId, events, [member], false), decisions.record)

    return { page, snapshot }
  })

export type PageDecisions = Effect.Effect.Success<ReturnType<typeof make>>
