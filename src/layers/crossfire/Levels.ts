// `Levels` computed from the stores at every asking. Nothing of a level is cached: what is stored is the truth.
import { Effect, Layer, Option, Schema, Stream } from "effect"
import { OpenWake, selects } from "../../domain/Decision.ts"
import { type AgentId, type FleetId, type RoomId, UserId } from "../../domain/Ids.ts"
import { Level, LevelRoom } from "../../domain/Level.ts"
import { RegisteredName } from "../../domain/Roster.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { Instance } from "../../services/Instance.ts"
import { LevelChanges } from "../../services/LevelChanges.ts"
import { Levels } from "../../services/Levels.ts"
import { Agents } from "../../services/store/Agents.ts"
import { Decisions, type OpenDecision } from "../../services/store/Decisions.ts"
import { Participations, type Standing, takesPart } from "../../services/store/Participations.ts"
import { Rooms } from "../../services/store/Rooms.ts"
import { type ReadingFailure, SweepPositions } from "../../services/store/SweepPositions.ts"
import { WakePolicies } from "../../services/WakePolicies.ts"
import * as Senders from "./Senders.ts"

/**
 * How many open wakes (mentions, then the oldest) and how many redactions (the newest) one level names. The wakes that are
 * left out follow when these are closed; no room's unread records depend on it.
 */
export const maxLevelWakes = 1_000
export const maxLevelRedactions = 1_000

const decodeAuthority = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  name: RegisteredName,
  user_id: UserId,
  authority_revision: Schema.Int,
  retired_at: Schema.NullOr(Schema.Int)
})))
const decodeAcknowledged = Schema.decodeUnknown(Schema.Array(Schema.Struct({ redaction_number: Schema.Int })))

const stoppedBy = (failure: ReadingFailure | undefined): LevelRoom["stopped"] =>
  failure === undefined ? null : { reason: failure.reason, eventId: failure.eventId }

export const make = Effect.gen(function*() {
  const { sql, transaction } = yield* CrossfireDb
  const agents = yield* Agents
  const decisions = yield* Decisions
  const participations = yield* Participations
  const rooms = yield* Rooms
  const positions = yield* SweepPositions
  const policies = yield* WakePolicies
  const changes = yield* LevelChanges
  const { incarnation } = yield* Instance
  const senders = yield* Senders.make

  /**
   * Open wakes in rooms where the agent takes part, without those whose sender is no longer selected. In a room that it has
   * left they wait for its return: they were accepted while it was there.
   */
  const standingWakes = (agentId: AgentId) =>
    Effect.gen(function*() {
      const open = yield* decisions.open(agentId, maxLevelWakes)
      const senderOf = yield* senders.among(open.map((wake) => wake.sender))
      const selections = new Map(
        yield* Effect.forEach(
          new Set(open.map((wake) => wake.roomId)),
          (roomId) => Effect.map(policies.inRoom(agentId, roomId), (policy) => [roomId, policy.selections] as const)
        )
      )
      const selected = (wake: OpenDecision) => selects(selections.get(wake.roomId) ?? [], senderOf(wake.sender))
      const narrowed = open.filter((wake) => !selected(wake)).map((wake) => wake.eventId)
      if (narrowed.length > 0) {
        yield* decisions.close(agentId, narrowed, "withdrawn")
        yield* changes.raise([agentId])
      }
      return open.filter(selected).map((wake) =>
        new OpenWake({ eventId: wake.eventId, roomId: wake.roomId, kind: wake.kind })
      )
    })

  /** By room: what stops the agent's own reader there, or the one that reads for it. */
  const stops = (user: UserId) =>
    Effect.gen(function*() {
      const found = new Map<RoomId, ReadingFailure>()
      for (const failure of yield* positions.failures) {
        const own = failure.reader === user
        const apart = !own && failure.reader === "" &&
          (yield* positions.of(failure.roomId)).some(({ reader }) => reader === user)
        if (own || (failure.reader === "" && !apart)) found.set(failure.roomId, failure)
      }
      return found
    })

  const levelRooms = (standings: ReadonlyArray<Standing>, stopped: ReadonlyMap<RoomId, ReadingFailure>) =>
    Effect.forEach(
      standings.filter(takesPart),
      (standing) =>
        Effect.map(rooms.get(standing.roomId), (room) =>
          standing.boundary === null ? [] : [
            new LevelRoom({
              roomId: standing.roomId,
              name: Option.match(room, { onNone: () => null, onSome: (known) => known.name }),
              isDirect: Option.exists(room, (known) => known.isDirect),
              boundary: standing.boundary,
              latest: standing.latest,
              stopped: stoppedBy(stopped.get(standing.roomId))
            })
          ])
    ).pipe(Effect.map((found) => found.flat()))

  const of = (agentId: AgentId) =>
    transaction(Effect.gen(function*() {
      const [agent] = yield* decodeAuthority(
        yield* sql`SELECT name, user_id, authority_revision, retired_at FROM agent WHERE agent_id = ${agentId}`
      )
      if (agent === undefined) return yield* Effect.dieMessage(`no agent ${agentId}`)
      const [acknowledged] = yield* decodeAcknowledged(
        yield* sql`SELECT redaction_number FROM level WHERE agent_id = ${agentId}`
      )
      const standings = yield* participations.ofAgent(agentId)
      const wakes = yield* standingWakes(agentId)
      return new Level({
        agentId,
        name: agent.name,
        standing: agent.retired_at === null ? "active" : "retired",
        incarnation,
        number: yield* changes.numberOf(agentId),
        authorityRevision: agent.authority_revision,
        wakes,
        rooms: yield* levelRooms(standings, yield* stops(agent.user_id)),
        redactions: yield* decisions.redactions(agentId, acknowledged?.redaction_number ?? 0, maxLevelRedactions)
      })
    }))

  const follow = (fleetId: FleetId) =>
    Stream.unwrapScoped(Effect.gen(function*() {
      const changed = yield* changes.follow
      const levelsOf = (wanted: (agentId: AgentId) => boolean) =>
        Effect.flatMap(agents.ofFleet(fleetId), (members) =>
          Effect.forEach(members.filter((agent) => wanted(agent.agentId)), (agent) => of(agent.agentId)))
      const later = Stream.repeatEffect(Effect.flatMap(changed, (which) =>
        levelsOf((agentId) => which.has(agentId))))
      return Stream.concat(Stream.fromEffect(levelsOf(() => true)), later).pipe(
        Stream.mapConcat((levels) => levels)
      )
    }))

  return Levels.of({ of, follow, changed: changes.raise })
})

export const layer = Layer.effect(Levels, make)
