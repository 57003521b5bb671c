// `Participation`: what an agent's invitations and rooms are on the homeserver, brought in line with what is stored. The
// boundary is stored before the join, so that nothing said after the join is missed and a crash in between goes on.
import { Effect, Layer, Option } from "effect"
import type { RoomId, UserId } from "../../domain/Ids.ts"
import { botUser } from "../../domain/SystemUsers.ts"
import { CrossfireDb, type StoreFailed } from "../../services/Database.ts"
import { Instance } from "../../services/Instance.ts"
import { LevelChanges } from "../../services/LevelChanges.ts"
import { type Invitation, Matrix, type MatrixError, type PageFailed } from "../../services/Matrix.ts"
import { Participation } from "../../services/Participation.ts"
import { type Agent, Agents } from "../../services/store/Agents.ts"
import { Decisions } from "../../services/store/Decisions.ts"
import { Participations, type Standing } from "../../services/store/Participations.ts"
import { Rooms } from "../../services/store/Rooms.ts"
import { SweepPositions } from "../../services/store/SweepPositions.ts"
import { SweepQueue } from "../../services/SweepQueue.ts"
import * as BotParticipation from "./BotParticipation.ts"
import * as BoundedPage from "./BoundedPage.ts"
import * as KeyedLock from "./KeyedLock.ts"
import * as OwnerNotices from "./OwnerNotices.ts"
import * as PageDecisions from "./PageDecisions.ts"
import * as RoomState from "./RoomState.ts"
import * as SweepWindows from "./SweepWindows.ts"

/**
 * How many events right before an agent's boundary are stored as known. Reading on inside of a window can bring again what
 * stands just before its start; the newest of it is what can come.
 */
export const snapshotEvents = 100

/** How many invitations of strangers that wait at the same time an owner is told of, for one agent. */
const maxHeldTold = 20
const isHeld = (standing: Standing): boolean =>
  standing.membership === "invited" && standing.problem === "inviter-not-allowed"

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  const { transaction } = yield* CrossfireDb
  const agents = yield* Agents
  const decisions = yield* Decisions
  const participations = yield* Participations
  const positions = yield* SweepPositions
  const rooms = yield* Rooms
  const changes = yield* LevelChanges
  const queue = yield* SweepQueue
  const notices = yield* OwnerNotices.make
  const pageDecisions = yield* PageDecisions.make(yield* SweepWindows.make)
  const bot = botUser((yield* Instance).serverName)
  const botParticipation = yield* BotParticipation.make
  const lock = KeyedLock.make<UserId>()

  const end = (
    agent: Agent,
    roomId: RoomId,
    membership: "none" | "left",
    problem: Standing["problem"]
  ) =>
    transaction(Effect.gen(function*() {
      // Where the others read on without it, its own place stays for a return.
      if (membership === "left") yield* positions.split(roomId, agent.userId, null)
      yield* participations.ended(agent.agentId, roomId, membership, problem)
      yield* changes.raise([agent.agentId])
    }))

  /** What is known of the room and of the events before the boundary, read now that the agent is in it. */
  const arrive = (agent: Agent, roomId: RoomId) =>
    Effect.gen(function*() {
      const standing = Option.getOrNull(yield* participations.get(agent.agentId, roomId))
      const boundary = standing?.boundary ?? standing?.wantedBoundary ?? null
      if (standing === null || boundary === null) return yield* Effect.dieMessage("a join without its boundary")
      const room = yield* RoomState.read(agent.userId, roomId).pipe(Effect.provideService(Matrix, matrix))
      if (room.encrypted) {
        yield* matrix.leave(agent.userId, roomId)
        yield* end(agent, roomId, "none", "encrypted")
        return yield* notices.encrypted(agent, roomId)
      }
      const before = standing.boundary === null
        ? yield* BoundedPage.read({
          as: agent.userId,
          roomId,
          from: boundary,
          to: null,
          direction: "backward",
          limit: snapshotEvents
        }).pipe(Effect.provideService(Matrix, matrix))
        : null
      yield* transaction(Effect.gen(function*() {
        const isDirect = Option.exists(yield* rooms.get(roomId), (known) => known.isDirect)
        yield* rooms.learn(roomId, { ...room, isDirect })
        if (before !== null) {
          yield* pageDecisions.snapshot(roomId, { agent, standing }, before.events.toReversed())
          yield* positions.put(roomId, { reader: agent.userId, position: boundary, windowTo: null }, null)
        }
        yield* participations.joined(agent.agentId, roomId)
        yield* changes.raise([agent.agentId])
      }))
      yield* queue.rooms([roomId])
    })

  /** Joins and arrives. A join that the homeserver refuses is over: another invitation begins anew. */
  const join = (agent: Agent, roomId: RoomId) =>
    matrix.join(agent.userId, roomId).pipe(
      Effect.as(true),
      Effect.catchTag("MatrixRefused", () => Effect.as(end(agent, roomId, "none", "join-refused"), false)),
      Effect.flatMap((joined) => joined ? arrive(agent, roomId) : Effect.void)
    )

  const isAllowed = (agent: Agent, inviter: UserId) =>
    inviter === agent.owner
      ? Effect.map(agents.deactivatedAmong([inviter]), (found) => !found.has(inviter))
      : Effect.map(agents.administratorsAmong([inviter]), (found) => found.has(inviter))

  const answer = (agent: Agent, invitation: Invitation): Effect.Effect<void, MatrixError | PageFailed | StoreFailed> =>
    Effect.gen(function*() {
      const { inviter, roomId } = invitation
      if (!(yield* isAllowed(agent, inviter))) {
        return yield* transaction(Effect.gen(function*() {
          yield* participations.held(agent.agentId, roomId, inviter, "inviter-not-allowed")
          const standings = yield* participations.ofAgent(agent.agentId)
          // Whoever opens room after room fills nobody's chat with it.
          if (standings.filter(isHeld).length <= maxHeldTold) yield* notices.held(agent, roomId, inviter)
        }))
      }
      if (invitation.encrypted) {
        yield* matrix.leave(agent.userId, roomId)
        return yield* transaction(Effect.gen(function*() {
          yield* participations.held(agent.agentId, roomId, inviter, "encrypted")
          yield* participations.ended(agent.agentId, roomId, "none", "encrypted")
          yield* notices.encrypted(agent, roomId)
        }))
      }
      const wanted = yield* matrix.boundary
      const begun = yield* transaction(Effect.gen(function*() {
        // Retired or no longer allowed while the homeserver answered: the one is looked at again by itself.
        if ((yield* agents.byUsers([agent.userId])).get(agent.userId)?.retired !== false) return "over" as const
        if (!(yield* isAllowed(agent, inviter))) return "refused" as const
        // Removed and invited again before anyone saw it leave: what it missed is read by itself, from here on.
        yield* positions.split(roomId, agent.userId, null).pipe(
          Effect.whenEffect(
            Effect.map(participations.get(agent.agentId, roomId), Option.exists((known) => known.boundary !== null))
          )
        )
        if (Option.isNone(yield* rooms.get(roomId))) {
          yield* rooms.learn(roomId, {
            name: null,
            visibility: "shared",
            encrypted: false,
            isDirect: invitation.isDirect
          })
        }
        yield* participations.joining(agent.agentId, roomId, inviter, wanted)
        yield* changes.raise([agent.agentId])
        return "joining" as const
      }))
      if (begun === "over") return
      if (begun === "refused") return yield* answer(agent, invitation)
      yield* join(agent, roomId)
    })

  /** What is stored of rooms where nothing waits for an answer. */
  const settle = (agent: Agent, standing: Standing, invited: ReadonlySet<RoomId>, joined: ReadonlySet<RoomId>) => {
    const { membership, roomId } = standing
    if (invited.has(roomId)) return Effect.void
    if (membership === "joined" && !joined.has(roomId)) return end(agent, roomId, "left", null)
    if (membership === "invited") return end(agent, roomId, "none", standing.problem)
    if (membership !== "joining") return Effect.void
    if (!joined.has(roomId)) return end(agent, roomId, "none", "join-refused")
    return join(agent, roomId)
  }

  /** Declines and leaves, whatever was stored. One room that the homeserver keeps it in holds up no other. */
  const depart = (agent: Agent) =>
    Effect.gen(function*() {
      const invitations = yield* matrix.invitations(agent.userId)
      const joined = yield* matrix.joinedRooms(agent.userId)
      const rooms = new Set([...invitations.map((invitation) => invitation.roomId), ...joined])
      const [[failure]] = yield* Effect.partition(rooms, (roomId) => matrix.leave(agent.userId, roomId))
      if (failure !== undefined) return yield* failure
      for (const { membership, roomId } of yield* participations.ofAgent(agent.agentId)) {
        if (membership === "none" || membership === "left" || membership === "banned") continue
        yield* transaction(Effect.gen(function*() {
          yield* positions.remove(roomId, agent.userId)
          yield* participations.ended(agent.agentId, roomId, membership === "joined" ? "left" : "none", null)
          yield* changes.raise([agent.agentId])
        }))
      }
    })

  const lookAt = (agent: Agent) =>
    Effect.gen(function*() {
      if (agent.retired) return yield* depart(agent)
      const invitations = yield* matrix.invitations(agent.userId)
      const joined = new Set(yield* matrix.joinedRooms(agent.userId))
      const invited = new Set(invitations.map((invitation) => invitation.roomId))
      for (const standing of yield* participations.ofAgent(agent.agentId)) {
        yield* settle(agent, standing, invited, joined)
      }
      for (const invitation of invitations) yield* answer(agent, invitation)
    })

  return Participation.of({
    look: (user) =>
      lock.withLock(user)(Effect.gen(function*() {
        if (user === bot) {
          const encrypted = yield* botParticipation.look
          return yield* Effect.forEach(encrypted, notices.encryptedChat, { discard: true })
        }
        const agent = (yield* agents.byUsers([user])).get(user)
        if (agent !== undefined) yield* lookAt(agent)
      })),
    withdraw: (agentId, roomId) =>
      transaction(Effect.gen(function*() {
        yield* participations.withdrawn(agentId, roomId)
        yield* decisions.closeRoom(agentId, roomId, "withdrawn")
        yield* changes.raise([agentId])
      }))
  })
})

export const layer = Layer.effect(Participation, make)
