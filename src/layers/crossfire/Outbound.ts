// `Outbound`: records, wakes the lanes, and tells how it went to whoever waits.
import { Deferred, Duration, Effect, Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import { maxSendBytes } from "../../domain/api/Crossfire.ts"
import { MessageRefused, NotAllowed } from "../../domain/api/CrossfireErrors.ts"
import type { UserId } from "../../domain/Ids.ts"
import { botUser } from "../../domain/SystemUsers.ts"
import { CrossfireDb, type StoreFailed } from "../../services/Database.ts"
import { FleetLeases } from "../../services/FleetLeases.ts"
import { Instance } from "../../services/Instance.ts"
import { Outbound, type OutboundState } from "../../services/Outbound.ts"
import { Agents } from "../../services/store/Agents.ts"
import { OutboundMessages } from "../../services/store/OutboundMessages.ts"
import { Participations, takesPart } from "../../services/store/Participations.ts"
import * as BotParticipation from "./BotParticipation.ts"
import * as MessageContent from "./MessageContent.ts"
import * as OutboundLanes from "./OutboundLanes.ts"

export const make = Effect.gen(function*() {
  const { transaction } = yield* CrossfireDb
  const agents = yield* Agents
  const messages = yield* OutboundMessages
  const participations = yield* Participations
  const leases = yield* FleetLeases
  const bot = botUser((yield* Instance).serverName)

  /** Whoever waits for any outcome looks again after each. */
  let outcome = yield* Deferred.make<void>()
  const settle = Effect.gen(function*() {
    const next = yield* Deferred.make<void>()
    const now = outcome
    outcome = next
    yield* Deferred.succeed(now, undefined)
  })
  const lanes = yield* OutboundLanes.make(yield* BotParticipation.make, () => settle)

  const enqueue: Outbound["Type"]["enqueue"] = ({ attachment, content, operationId, sender, to }) =>
    messages.add({
      sender,
      to,
      operationId,
      transactionId: randomUUID(),
      eventType: "m.room.message",
      content,
      attachment: attachment ?? null
    }).pipe(Effect.tap((state) => state._tag === "Waiting" ? lanes.kick : Effect.void))

  const stateOf = (sender: UserId, operationId: string) =>
    Effect.map(messages.state(sender, operationId), Option.getOrElse((): OutboundState => ({ _tag: "Waiting" })))

  const settled = (sender: UserId, operationId: string): Effect.Effect<OutboundState, StoreFailed> =>
    Effect.suspend(() => {
      // Taken before looking, so that an outcome in between is not missed.
      const next = outcome
      return Effect.filterOrElse(
        stateOf(sender, operationId),
        (state) => state._tag !== "Waiting",
        () => Effect.zipRight(Deferred.await(next), settled(sender, operationId))
      )
    })

  const say: Outbound["Type"]["say"] = ({ agentId, fleetId, stamp }, message) =>
    Effect.gen(function*() {
      const bytes = Buffer.byteLength(message.text)
      if (bytes > maxSendBytes) {
        return yield* new MessageRefused({ reason: `The text has ${bytes} bytes; at most ${maxSendBytes} are taken` })
      }
      const { attachment, content } = MessageContent.text(message)
      return yield* transaction(Effect.gen(function*() {
        yield* leases.require(fleetId, stamp)
        const agent = yield* agents.byId(agentId)
        if (Option.isNone(agent)) return yield* new NotAllowed({ reason: "The agent is not known" })
        const sender = agent.value.userId
        // A message that was taken before is told as it stands, whatever was withdrawn since.
        const known = yield* messages.state(sender, message.operationId)
        if (Option.isSome(known)) return known.value
        const standing = yield* participations.get(agentId, message.roomId)
        if (!Option.exists(standing, takesPart)) {
          return yield* new NotAllowed({ reason: `${agent.value.name} takes no part in the room ${message.roomId}` })
        }
        return yield* enqueue({
          sender,
          to: { roomId: message.roomId },
          operationId: message.operationId,
          content,
          attachment: attachment ?? undefined
        })
      }))
    })

  return Outbound.of({
    enqueue,
    retract: (sender, operationId) =>
      messages.retract(sender, operationId, randomUUID()).pipe(
        Effect.zipRight(lanes.kick),
        Effect.zipRight(settle)
      ),
    notice: ({ operationId, text, to }) =>
      Effect.asVoid(enqueue({ sender: bot, to, operationId, content: MessageContent.notice(text) })),
    say,
    settled: (sender, operationId, withinMillis) =>
      Effect.timeoutTo(settled(sender, operationId), {
        duration: Duration.millis(withinMillis),
        onSuccess: (state) => state,
        onTimeout: (): OutboundState => ({ _tag: "Waiting" })
      })
  })
})

export const layer = Layer.scoped(Outbound, make)
