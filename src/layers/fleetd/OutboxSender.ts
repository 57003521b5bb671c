// Sends what fleetd owes to crossfire, in order, while the lease is held: acknowledgments first, then notices, then
// messages. What is not accepted stays. Nobody calls it: a scoped feature.
import { Clock, Effect, Layer, Schedule } from "effect"
import type { Acknowledgment } from "../../domain/api/Crossfire.ts"
import { StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import type { AgentId } from "../../domain/Ids.ts"
import { AgentLevels } from "../../services/AgentLevels.ts"
import { CrossfireClient, type LeaseStamp } from "../../services/CrossfireClient.ts"
import { FleetOutbox, type OutgoingMessage } from "../../services/FleetOutbox.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { Lease } from "../../services/Lease.ts"
import { Signals } from "../../services/Signals.ts"
import * as AgentIncidents from "./AgentIncidents.ts"
import * as CredentialWatch from "./CredentialWatch.ts"

const perRound = 50
/** Of the messages, shared evenly by the rooms that they go to; and how many rooms are sent to at the same time. */
const messagesPerRound = 200
const laneConcurrency = 8
/** Without a signal: what is still there is tried again. */
const lookAgain = "5 seconds"
const refusedWaitNanos = 60_000_000_000n
/** A queued message is asked about again: crossfire answers how it went. */
const requeueAfter = "2 seconds"

interface Waiting {
  readonly agentId: AgentId
  readonly message: OutgoingMessage
}

export const make = Effect.gen(function*() {
  const client = yield* CrossfireClient
  const lease = yield* Lease
  const levels = yield* AgentLevels
  const credentials = yield* CredentialWatch.make
  const incidents = yield* AgentIncidents.make
  const outbox = yield* FleetOutbox
  const registry = yield* FleetRegistry
  const signals = yield* Signals

  /** What crossfire refused as it is, by agent: not asked again before this time, and what stands behind it waits. */
  const refusedUntil = new Map<AgentId, bigint>()

  /** One agent's revoked credential, or acknowledgment that is not taken, holds up nobody else. */
  const acknowledge = (stamp: LeaseStamp, agentId: AgentId, acknowledgment: Acknowledgment) =>
    client.acknowledge(stamp, agentId, acknowledgment).pipe(
      Effect.tap(() => outbox.acknowledged(acknowledgment)),
      Effect.tap((number) => levels.acknowledged(agentId, number)),
      Effect.tap(() => refusedUntil.delete(agentId) ? incidents.acknowledged(agentId) : Effect.void),
      Effect.as(true),
      Effect.catchTags({
        CredentialRefused: () => Effect.as(credentials.refused(stamp, agentId), false),
        AcknowledgmentRefused: ({ reason }) =>
          Effect.gen(function*() {
            refusedUntil.set(agentId, (yield* Clock.currentTimeNanos) + refusedWaitNanos)
            yield* incidents.acknowledgmentRefused(yield* registry.agent(agentId), acknowledgment.deliveryId, reason)
            return false
          })
      })
    )

  const acknowledgments = (stamp: LeaseStamp) =>
    Effect.gen(function*() {
      const waiting = yield* outbox.waitingAcknowledgments(perRound, stamp.incarnation)
      const now = yield* Clock.currentTimeNanos
      const heldBack = new Set([...refusedUntil].flatMap(([agentId, until]) => until > now ? [agentId] : []))
      let accepted = 0
      for (const { acknowledgment, agentId } of waiting) {
        if (heldBack.has(agentId)) continue
        if (yield* acknowledge(stamp, agentId, acknowledgment)) accepted++
        else heldBack.add(agentId)
      }
      return accepted > 0 && waiting.length === perRound
    })

  /** The messages of one agent to one room, in order. What crossfire could not send yet keeps the later ones back. */
  const lane = (stamp: LeaseStamp, waiting: ReadonlyArray<Waiting>) =>
    Effect.gen(function*() {
      for (const { agentId, message } of waiting) {
        const answer = yield* client.send(stamp, agentId, message).pipe(
          Effect.catchTags({
            SendRefused: (refused) => Effect.succeed(refused),
            CredentialRefused: () => Effect.as(credentials.refused(stamp, agentId), null)
          })
        )
        if (answer === null) return false
        if ("status" in answer && answer.status === "queued") return true
        yield* outbox.messageAnswered(message.operationId, answer)
      }
      return false
    })

  /** One agent's refused or queued message does not hold up another's, nor one room's those for another. */
  const messages = (stamp: LeaseStamp) =>
    Effect.gen(function*() {
      const waiting = yield* outbox.waitingMessages(messagesPerRound)
      const lanes = new Map<string, Array<Waiting>>()
      for (const one of waiting) {
        const key = `${one.agentId} ${one.message.roomId}`
        lanes.set(key, [...lanes.get(key) ?? [], one])
      }
      const queued = yield* Effect.forEach(lanes.values(), (some) => lane(stamp, some), {
        concurrency: laneConcurrency
      })
      return queued.includes(true)
    })

  const notices = (stamp: LeaseStamp) =>
    Effect.gen(function*() {
      for (const notice of yield* outbox.waitingNotices(perRound)) {
        yield* client.notice(stamp, notice.operationId, notice.text).pipe(
          Effect.tapErrorTag("CredentialRefused", (refused) => lease.lost(stamp, refused.message))
        )
        yield* outbox.noticeAccepted(notice.operationId)
      }
    })

  const round = Effect.gen(function*() {
    const state = yield* lease.state
    if (state._tag === "NotHeld") return
    yield* Effect.gen(function*() {
      if (yield* acknowledgments(state.stamp)) yield* signals.outbox
      // A notice that fails holds up no message.
      const noticed = yield* Effect.either(notices(state.stamp))
      const queued = yield* messages(state.stamp)
      yield* noticed
      if (queued) yield* Effect.fork(Effect.delay(signals.outbox, requeueAfter))
    }).pipe(
      Effect.tapError((error) =>
        error instanceof StaleGeneration ? lease.lost(state.stamp, error.message) : Effect.void
      )
    )
  })

  yield* round.pipe(
    Effect.retry(Schedule.exponential("500 millis").pipe(Schedule.union(Schedule.spaced("10 seconds")))),
    Effect.zipRight(signals.awaitOutbox(lookAgain)),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
