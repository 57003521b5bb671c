// A crossfire in a few lines for tests of fleetd alone: one room, numbered stream tokens, levels, pages, acknowledgments.
// It proves nothing about the real one; the simulation and the end-to-end tests use that.
import { Effect, Layer, Mailbox, Stream } from "effect"
import type { Acknowledgment } from "../../src/domain/api/Crossfire.ts"
import { StaleGeneration } from "../../src/domain/api/CrossfireErrors.ts"
import { OpenWake } from "../../src/domain/Decision.ts"
import { AgentId, EventId, Generation, Incarnation, RoomId, StreamToken, UserId } from "../../src/domain/Ids.ts"
import { Level, LevelRoom, RoomRecord } from "../../src/domain/Level.ts"
import { RegisteredName } from "../../src/domain/Roster.ts"
import { CrossfireClient } from "../../src/services/CrossfireClient.ts"
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

    const level = () =>
      new Level({
        agentId,
        name: RegisteredName.make("editor"),
        standing: "active",
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
        Effect.sync(() => ({ generation: Generation.make(++generation), incarnation, lastsMillis: 30_000 })),
      renewLease: (stamp) =>
        Effect.as(fenced(stamp.generation), { generation: stamp.generation, incarnation, lastsMillis: 30_000 }),
      releaseLease: () => Effect.void,
      levels: () => Stream.concat(Stream.sync(level), Mailbox.toStream(levels)),
      boundary: (stamp) =>
        Effect.as(fenced(stamp.generation), { value: StreamToken.make(`s${records.length}`) }).pipe(
          Effect.map(({ value }) => value)
        ),
      page: (stamp, _agentId, request) =>
        Effect.map(fenced(stamp.generation), () => {
          if (request.direction === "backward") return { records: [], end: null }
          const from = Number(request.from.slice(1))
          const to = Number(request.to?.slice(1) ?? records.length)
          const taken = records.slice(from, Math.min(to, from + request.limit))
          const end = from + taken.length
          return { records: taken, end: end < to ? StreamToken.make(`s${end}`) : null }
        }),
      acknowledge: (stamp, _agentId, acknowledgment) =>
        Effect.gen(function*() {
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
      rotateCredentials: () => Effect.dieMessage("nobody rotates here"),
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
      takeLease: Effect.sync(() => {
        generation++
      })
    }
    return fake
  })
