// A crossfire in a few lines for tests of fleetd alone: one room, numbered stream tokens, levels, pages, acknowledgments.
// It proves nothing about the real one; the simulation and the end-to-end tests use that.
import { Effect, Layer, Mailbox, Stream } from "effect"
import type { Acknowledgment } from "../../src/domain/api/Crossfire.ts"
import { StaleGeneration } from "../../src/domain/api/CrossfireErrors.ts"
import { OpenWake } from "../../src/domain/Decision.ts"
import { AgentId, EventId, Generation, Incarnation, RoomId, StreamToken, UserId } from "../../src/domain/Ids.ts"
import { Level, LevelRoom, RoomRecord } from "../../src/domain/Level.ts"
import { RegisteredName } from "../../src/domain/Roster.ts"
import { CredentialRefused, CrossfireClient } from "../../src/services/CrossfireClient.ts"
import type { OutgoingMessage } from "../../src/services/FleetOutbox.ts"

export const alice = UserId.make("@alice:test")
export const theRoom = RoomId.make("!room")

export interface FakeCrossfire {
  readonly layer: Layer.Layer<CrossfireClient>
  /** A message of the owner in the room; it wakes the agent unless `kind` says otherwise. */
  readonly say: (text: string, kind?: RoomRecord["kind"]) => Effect.Effect<EventId>
  readonly acknowledgments: ReadonlyArray<Acknowledgment>
  readonly sent: ReadonlyArray<OutgoingMessage>
  readonly notices: ReadonlyArray<string>
  /** What the levels say of the agent from now on. */
  readonly become: (name: string, standing?: Level["standing"]) => Effect.Effect<void>
  /** A level as it comes, of whichever agent. */
  readonly tell: (change: Partial<Level>) => Effect.Effect<void>
  /** Whose credential is not accepted at the moment. */
  readonly refused: { fleet: boolean; agent: boolean }
  /** Someone else took the lease: everything under an older generation is refused. */
  readonly takeLease: Effect.Effect<void>
}

export const make = (agentId: AgentId) =>
  Effect.gen(function*() {
    const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
    const records: Array<RoomRecord> = []
    const closed = new Set<EventId>()
    const acknowledgments: Array<Acknowledgment> = []
    const sent: Array<OutgoingMessage> = []
    const notices: Array<string> = []
    const levels = yield* Mailbox.make<Level>()
    let number = 1
    let generation = 0
    let name = RegisteredName.make("editor")
    let standing: Level["standing"] = "active"
    const refused = { fleet: false, agent: false }
    const refusedAs = (whose: keyof typeof refused) =>
      Effect.suspend(() => refused[whose] ? new CredentialRefused({ operation: "anything" }) : Effect.void)

    const level = () =>
      new Level({
        agentId,
        name,
        standing,
        incarnation,
        number,
        authorityRevision: 1,
        wakes: records.filter((record) => record.kind === "wake" && !closed.has(record.eventId)).map((record) =>
          new OpenWake({ eventId: record.eventId, roomId: theRoom, kind: "wake" })
        ),
        rooms: [
          new LevelRoom({
            roomId: theRoom,
            name: "Theatre",
            isDirect: false,
            boundary: StreamToken.make("s0"),
            latest: records.length
          })
        ],
        redactions: []
      })
    const announce = Effect.suspend(() => {
      number++
      return levels.offer(level())
    })
    const fenced = (given: Generation) =>
      given === generation ? Effect.void : Effect.fail(new StaleGeneration({ given, current: generation }))

    const client = CrossfireClient.of({
      acquireLease: () =>
        Effect.zipRight(
          refusedAs("fleet"),
          Effect.sync(() => ({ generation: Generation.make(++generation), incarnation, lastsMillis: 30_000 }))
        ),
      renewLease: (stamp) =>
        Effect.as(Effect.zipRight(refusedAs("fleet"), fenced(stamp.generation)), {
          generation: stamp.generation,
          incarnation,
          lastsMillis: 30_000
        }),
      releaseLease: () => Effect.void,
      levels: () => Stream.concat(Stream.sync(level), Mailbox.toStream(levels)),
      boundary: (stamp) =>
        Effect.as(fenced(stamp.generation), { value: StreamToken.make(`s${records.length}`) }).pipe(
          Effect.map(({ value }) => value)
        ),
      page: (stamp, _agentId, request) =>
        Effect.map(Effect.zipRight(refusedAs("agent"), fenced(stamp.generation)), () => {
          if (request.direction === "backward") return { records: [], end: null }
          const from = Number(request.from.slice(1))
          const to = Number(request.to?.slice(1) ?? records.length)
          const taken = records.slice(from, Math.min(to, from + request.limit))
          const end = from + taken.length
          return { records: taken, end: end < to ? StreamToken.make(`s${end}`) : null }
        }),
      acknowledge: (stamp, _agentId, acknowledgment) =>
        Effect.gen(function*() {
          yield* refusedAs("agent")
          yield* fenced(stamp.generation)
          acknowledgments.push(acknowledgment)
          for (const { eventId } of acknowledgment.delivered) closed.add(eventId)
          yield* announce
          return number
        }),
      send: (stamp, _agentId, message) =>
        Effect.map(fenced(stamp.generation), () => {
          sent.push(message)
          return { status: "sent" as const, eventId: EventId.make(`$sent-${sent.length}`) }
        }),
      rotateCredentials: (stamp, under, { agentTokens }) =>
        Effect.gen(function*() {
          if (under !== null) return yield* new CredentialRefused({ operation: "replace the credentials" })
          yield* fenced(stamp.generation)
          refused.agent = false
          return agentTokens.size
        }),
      notice: (stamp, _operationId, text) =>
        Effect.map(fenced(stamp.generation), () => {
          notices.push(text)
        })
    })

    const fake: FakeCrossfire = {
      layer: Layer.succeed(CrossfireClient, client),
      say: (text, kind = "wake") =>
        Effect.gen(function*() {
          const eventId = EventId.make(`$event-${records.length + 1}`)
          records.push(
            new RoomRecord({
              eventId,
              roomId: theRoom,
              kind,
              sender: alice,
              senderRole: "owner",
              senderAgent: null,
              displayName: "Alice",
              sentAtMillis: 0,
              type: "m.room.message",
              form: "message",
              text,
              replyTo: null,
              relatesTo: null
            })
          )
          yield* announce
          return eventId
        }),
      acknowledgments,
      sent,
      notices,
      become: (next, as = "active") =>
        Effect.suspend(() => {
          name = RegisteredName.make(next)
          standing = as
          return announce
        }),
      tell: (change) => levels.offer(new Level({ ...level(), ...change })),
      refused,
      takeLease: Effect.sync(() => {
        generation++
      })
    }
    return fake
  })
