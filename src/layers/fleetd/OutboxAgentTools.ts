// AgentTools over the outbox: a message is stored, then sent at once where the lease allows it and nothing of the same
// agent waits ahead of it. Whatever is left waiting is sent by the outbox's own sender.
import { Duration, Effect, Either, Layer, Option, Schema } from "effect"
import { type SendOutcome, ToolRefused, ToolUnavailable } from "../../domain/api/AgentSocket.ts"
import { maxSendBytes, type SendAnswer } from "../../domain/api/Crossfire.ts"
import { quoted } from "../../domain/DeliveryHeader.ts"
import { type AgentId, EventId, type OperationId, RoomId, UserId } from "../../domain/Ids.ts"
import { AgentTools } from "../../services/AgentTools.ts"
import { CrossfireClient } from "../../services/CrossfireClient.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { FleetOutbox, type OutgoingMessage, SendRefused } from "../../services/FleetOutbox.ts"
import { Lease } from "../../services/Lease.ts"
import { Signals } from "../../services/Signals.ts"

/** How long an agent waits for its message to stand in the room; after that it is told that it is queued. */
const sendWithin = Duration.seconds(10)
/** How many messages of one agent may wait for crossfire. */
const maxWaitingMessages = 1_000
const maxMessageMentions = 50

type Wish = Parameters<typeof AgentTools.Service.send>[1]

const isRoomId = Schema.is(RoomId)
const isEventId = Schema.is(EventId)
const isUserId = Schema.is(UserId)

/** A wrong value as it is told back: quoted, and no longer than a line. */
const shown = (value: string) => quoted(value.length > 80 ? `${value.slice(0, 80)}…` : value)

const idHint = "Take the room's ID: it begins with ! and stands with every message you were given"

/** Why this is no destination, and what to write instead. */
const roomProblem = (room: string): string | null => {
  if (isRoomId(room)) return null
  if (room.trim() === "") return `The destination is missing: nothing is sent to a room that is not named. ${idHint}.`
  if (room.startsWith("#")) {
    return `${shown(room)} is a room's alias, which can point to another room tomorrow. ${idHint}.`
  }
  if (room.startsWith("@")) return `${shown(room)} is a user, and messages go to rooms. ${idHint}, a direct chat's too.`
  if (room.startsWith("!")) return `${shown(room)} is not a complete room ID. Copy it whole, from the ! to its end.`
  return `${shown(room)} looks like a room's name. Names are not unique and can change. ${idHint}.`
}

/** The message that the wish asks for, or what to change about it. */
export const checkMessage = (wish: Wish): Either.Either<OutgoingMessage, ToolRefused> => {
  const refused = (reason: string) => Either.left(new ToolRefused({ reason }))
  const problem = roomProblem(wish.room)
  if (problem !== null) return refused(problem)
  if (wish.text.trim() === "") return refused("The text is empty: there is nothing to send.")
  const bytes = Buffer.byteLength(wish.text)
  if (bytes > maxSendBytes) {
    return refused(`The text has ${bytes} bytes, and one message carries at most ${maxSendBytes}. Send a shorter one.`)
  }
  if (wish.replyTo !== null && !isEventId(wish.replyTo)) {
    return refused(`${shown(wish.replyTo)} is no event ID; one begins with $. Leave it out to send without a reply.`)
  }
  const mentions = [...new Set(wish.mentions)]
  if (mentions.length > maxMessageMentions) return refused(`One message mentions at most ${maxMessageMentions} users.`)
  const wrong = mentions.find((mention) => !isUserId(mention))
  if (wrong !== undefined) {
    return refused(`${shown(wrong)} is no full user ID; one looks like @alice:example.org. Names are not mentioned.`)
  }
  return Either.right({
    operationId: wish.operationId,
    roomId: RoomId.make(wish.room),
    text: wish.text,
    replyTo: wish.replyTo === null ? null : EventId.make(wish.replyTo),
    mentions: mentions.map((mention) => UserId.make(mention))
  })
}

const queued: SendOutcome = { status: "queued", eventId: null }

export const make = Effect.gen(function*() {
  const outbox = yield* FleetOutbox
  const client = yield* CrossfireClient
  const lease = yield* Lease
  const signals = yield* Signals
  // One message of an agent at a time, so that they stand in the room in the order of its calls.
  const turns = new Map<AgentId, Effect.Semaphore>()
  const turnOf = (agentId: AgentId) => {
    const turn = turns.get(agentId) ?? Effect.unsafeMakeSemaphore(1)
    turns.set(agentId, turn)
    return turn
  }

  const unavailable = (failed: StoreFailed) => new ToolUnavailable({ reason: `Nothing was stored. ${failed.message}` })

  /** Where the stored message is: its first answer stands. */
  const standing = (operationId: OperationId): Effect.Effect<Option.Option<SendOutcome>, ToolRefused | StoreFailed> =>
    Effect.flatMap(outbox.messageState(operationId), ({ state, eventId, refusal }) => {
      if (state === "refused") return Effect.fail(new ToolRefused({ reason: refusal ?? "The message was refused." }))
      if (state === "waiting") return Effect.succeedNone
      return Effect.succeedSome<SendOutcome>(eventId === null ? queued : { status: "sent", eventId })
    })

  const answered = (operationId: OperationId, answer: SendAnswer | SendRefused) =>
    // Where this cannot be stored, the message is sent once more under the same operation, and nothing comes of it.
    outbox.messageAnswered(operationId, answer).pipe(
      Effect.catchAll((failed) => Effect.logWarning("a message's answer was not stored", failed.message))
    )

  /** One try. Whatever is no answer leaves the message to the outbox's sender. */
  const attempt = (agentId: AgentId, message: OutgoingMessage): Effect.Effect<SendOutcome, ToolRefused | StoreFailed> =>
    Effect.gen(function*() {
      const before = yield* standing(message.operationId)
      if (Option.isSome(before)) return before.value
      const held = yield* lease.state
      if (held._tag === "NotHeld" || (yield* outbox.messagesAhead(agentId, message.operationId)) > 0) return queued
      const answer = yield* client.send(held.stamp, agentId, message).pipe(
        Effect.catchTags({
          StaleGeneration: (stale) => Effect.as(lease.lost(held.stamp, stale.message), null),
          CrossfireUnavailable: () => Effect.succeed(null),
          CredentialRefused: () => Effect.succeed(null),
          SendRefused: (refused) => Effect.succeed(refused)
        })
      )
      // What crossfire itself has queued goes on waiting here: asked again, it tells how it went.
      if (answer === null || (!(answer instanceof SendRefused) && answer.status === "queued")) return queued
      yield* answered(message.operationId, answer)
      return answer instanceof SendRefused ? yield* new ToolRefused({ reason: answer.reason }) : answer
    })

  return AgentTools.of({
    send: (agentId, wish) =>
      Effect.gen(function*() {
        const message = yield* checkMessage(wish)
        yield* Effect.mapError(
          Effect.gen(function*() {
            const ahead = yield* outbox.messagesAhead(agentId, message.operationId)
            if (ahead >= maxWaitingMessages) {
              return yield* new ToolUnavailable({
                reason: `Nothing was stored: ${ahead} of your messages still wait for the server. Try again later.`
              })
            }
            yield* outbox.storeMessage(agentId, message)
          }),
          (error) => error._tag === "StoreFailed" ? unavailable(error) : error
        )
        // From here it is stored: the rest decides only what the agent is told.
        return yield* turnOf(agentId).withPermits(1)(attempt(agentId, message)).pipe(
          Effect.catchTag("StoreFailed", () => Effect.succeed(queued)),
          Effect.timeoutTo({ duration: sendWithin, onSuccess: (outcome) => outcome, onTimeout: () => queued }),
          Effect.tap((outcome) => outcome.status === "queued" ? signals.outbox : Effect.void)
        )
      })
  })
})

export const layer: Layer.Layer<AgentTools, never, FleetOutbox | CrossfireClient | Lease | Signals> = Layer.effect(
  AgentTools,
  make
)
