// Sends what waits, lane by lane: one fiber a sender and destination, so that a slow room holds up no other. It tries for
// ever; each try is bounded by the homeserver port.
import { Duration, Effect, FiberMap, Option, Queue, Random } from "effect"
import type { RoomId } from "../../domain/Ids.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { Matrix, type MatrixError } from "../../services/Matrix.ts"
import {
  type Lane,
  OutboundMessages,
  type WaitingEvent,
  type WaitingRedaction
} from "../../services/store/OutboundMessages.ts"
import type { BotParticipation } from "./BotParticipation.ts"

/** Requests under way at the same time, over all lanes. */
const sendConcurrency = 8
const firstRetryMillis = 1_000
const maxRetryMillis = 60_000
/** The longest wait that the homeserver's own word is followed for. */
const maxBusyMillis = 600_000

const keyOf = (lane: Lane): string =>
  "roomId" in lane.to ? `${lane.sender} ${lane.to.roomId}` : `${lane.sender} ${lane.to.recipient}`

export const make = (bot: BotParticipation, settled: (sequence: number) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const matrix = yield* Matrix
    const messages = yield* OutboundMessages
    const permits = yield* Effect.makeSemaphore(sendConcurrency)
    const fibers = yield* FiberMap.make<string>()
    // One signal is enough for whatever came meanwhile: the lanes are read from the store.
    const kicks = yield* Queue.sliding<void>(1)
    /** Lanes under way; true when something came while the lane was ending. */
    const running = new Map<string, { again: boolean }>()

    const roomOf = (lane: Lane): Effect.Effect<RoomId, MatrixError | StoreFailed> =>
      "roomId" in lane.to ? Effect.succeed(lane.to.roomId) : bot.roomWith(lane.to.recipient)

    const withFile = (lane: Lane, message: WaitingEvent) =>
      message.attachment === null ? Effect.succeed(message.content) : Effect.map(
        matrix.upload(lane.sender, { name: "message.md", mediaType: "text/markdown", bytes: message.attachment }),
        (url) => ({ ...message.content, url })
      )

    const send = (lane: Lane, sequence: number, message: WaitingEvent) =>
      Effect.gen(function*() {
        const roomId = yield* roomOf(lane)
        const content = yield* withFile(lane, message)
        const eventId = yield* matrix.send({
          as: lane.sender,
          roomId,
          type: message.eventType,
          transactionId: message.transactionId,
          content
        })
        yield* messages.sent(sequence, roomId, eventId)
      })

    const takeBack = (lane: Lane, sequence: number, { event, transactionId }: WaitingRedaction) =>
      event === null
        ? messages.refused(sequence, "M_NOT_FOUND")
        : Effect.flatMap(
          matrix.redact({ as: lane.sender, ...event, transactionId }),
          (eventId) => messages.sent(sequence, event.roomId, eventId)
        )

    const attempt = (lane: Lane, sequence: number) =>
      Effect.flatMap(
        messages.begin(sequence),
        Option.match({
          // Taken back before it was tried.
          onNone: () => Effect.void,
          onSome: (message) =>
            message._tag === "Event" ? send(lane, sequence, message) : takeBack(lane, sequence, message)
        })
      ).pipe(
        permits.withPermits(1),
        Effect.catchTag("MatrixRefused", (refused) =>
          Effect.zipRight(
            Effect.annotateLogs(Effect.logWarning("a message was refused by the homeserver"), {
              sequence,
              errcode: refused.errcode
            }),
            messages.refused(sequence, refused.errcode)
          ))
      )

    /** Between half and the whole of it, so that lanes do not come back all at once. */
    const jittered = (millis: number) =>
      Effect.map(Random.next, (share) => Duration.millis(Math.ceil(millis * (0.5 + share / 2))))

    /** What the homeserver named is waited for whole. */
    const waitFor = (error: Exclude<MatrixError, { readonly _tag: "MatrixRefused" }> | StoreFailed, failures: number) =>
      error._tag === "HomeserverBusy"
        ? Effect.map(
          jittered(1_000),
          (extra) => Duration.sum(Duration.millis(Math.min(maxBusyMillis, Math.max(0, error.retryAfterMillis))), extra)
        )
        : jittered(Math.min(maxRetryMillis, firstRetryMillis * 2 ** failures))

    const deliver = (lane: Lane, sequence: number, failures: number): Effect.Effect<void> =>
      attempt(lane, sequence).pipe(
        Effect.catchAll((error) =>
          waitFor(error, failures).pipe(
            Effect.flatMap(Effect.sleep),
            Effect.zipRight(deliver(lane, sequence, failures + 1))
          )
        )
      )

    const drain = (lane: Lane): Effect.Effect<void, StoreFailed> =>
      Effect.flatMap(
        messages.first(lane),
        Option.match({
          onNone: () => Effect.void,
          onSome: (sequence) =>
            deliver(lane, sequence, 0).pipe(
              Effect.zipRight(settled(sequence)),
              Effect.zipRight(drain(lane))
            )
        })
      )

    const runLane = (lane: Lane) => {
      const state = { again: true }
      running.set(keyOf(lane), state)
      return Effect.suspend(() => {
        state.again = false
        return drain(lane)
      }).pipe(
        // The store cannot be read just now (full disk): the lane waits like for the homeserver.
        Effect.catchAll(() =>
          Effect.suspend(() => {
            state.again = true
            return Effect.flatMap(jittered(maxRetryMillis), Effect.sleep)
          })
        ),
        // Asked and given up in one step: whoever comes after it finds no lane and begins one.
        Effect.repeat({ while: () => state.again || !running.delete(keyOf(lane)) })
      )
    }

    const dispatch = Effect.gen(function*() {
      for (const lane of yield* messages.lanes) {
        const state = running.get(keyOf(lane))
        if (state === undefined) yield* FiberMap.run(fibers, keyOf(lane), runLane(lane))
        else state.again = true
      }
    }).pipe(Effect.catchAll(() => Effect.delay(Queue.offer(kicks, undefined), Duration.millis(firstRetryMillis))))

    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Queue.take(kicks), dispatch)))
    yield* Queue.offer(kicks, undefined)
    return { kick: Effect.asVoid(Queue.offer(kicks, undefined)) }
  })
