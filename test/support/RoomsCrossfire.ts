// A crossfire of several rooms for tests of fleetd alone, where a test decides which room fails and how. Tokens are places
// in one stream. It proves nothing about the real one.
import { Effect, Layer, Mailbox, Stream } from "effect"
import type { Acknowledgment } from "../../src/domain/api/Crossfire.ts"
import { StaleGeneration } from "../../src/domain/api/CrossfireErrors.ts"
import { OpenWake } from "../../src/domain/Decision.ts"
import { type AgentId, EventId, Generation, Incarnation, RoomId, StreamToken, UserId } from "../../src/domain/Ids.ts"
import { Level, LevelRoom, RoomRecord } from "../../src/domain/Level.ts"
import { RegisteredName } from "../../src/domain/Roster.ts"
import {
  CrossfireClient,
  type CrossfireUnavailable,
  type ReadRefused,
  type RoomPageFailed
} from "../../src/services/CrossfireClient.ts"

export const owner = UserId.make("@alice:test")
export const stranger = UserId.make("@mallory:test")

type Failing = CrossfireUnavailable | ReadRefused | RoomPageFailed

export const make = (agentId: AgentId) =>
  Effect.gen(function*() {
    const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
    const rooms: Array<RoomId> = []
    const records: Array<RoomRecord> = []
    const closed = new Set<EventId>()
    const redactions: Array<Level["redactions"][number]> = []
    const acknowledgments: Array<Acknowledgment> = []
    const failing = new Map<RoomId, Failing>()
    const asked = { boundaries: 0, pages: 0 }
    const levels = yield* Mailbox.make<Level>()
    let boundaryFailure: CrossfireUnavailable | null = null
    let number = 1
    let generation = 0

    const placeOf = (token: string) => Number(token.slice(1))
    const level = () =>
      new Level({
        agentId,
        name: RegisteredName.make("editor"),
        standing: "active",
        incarnation,
        number,
        authorityRevision: 1,
        wakes: records.filter((record) => record.kind === "wake" && !closed.has(record.eventId)).map((record) =>
          new OpenWake({ eventId: record.eventId, roomId: record.roomId, kind: "wake" })
        ),
        rooms: rooms.map((roomId) =>
          new LevelRoom({
            roomId,
            name: null,
            isDirect: false,
            boundary: StreamToken.make("s0"),
            latest: records.findLastIndex((record) => record.roomId === roomId) + 1
          })
        ),
        redactions
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
        Effect.flatMap(fenced(stamp.generation), () => {
          asked.boundaries++
          return boundaryFailure === null ? Effect.succeed(StreamToken.make(`s${records.length}`)) : boundaryFailure
        }),
      page: (stamp, _agentId, request) =>
        Effect.gen(function*() {
          yield* fenced(stamp.generation)
          asked.pages++
          const failure = failing.get(request.roomId)
          if (failure !== undefined) return yield* failure
          if (request.direction === "backward") return { records: [], end: null }
          const to = placeOf(request.to ?? `s${records.length}`)
          const taken: Array<RoomRecord> = []
          for (let at = placeOf(request.from); at < to; at++) {
            const record = records[at]
            if (record?.roomId !== request.roomId) continue
            taken.push(record)
            if (taken.length < request.limit) continue
            return { records: taken, end: at + 1 < to ? StreamToken.make(`t${at + 1}`) : null }
          }
          return { records: taken, end: null }
        }),
      acknowledge: (stamp, _agentId, acknowledgment) =>
        Effect.gen(function*() {
          yield* fenced(stamp.generation)
          acknowledgments.push(acknowledgment)
          for (const { eventId } of acknowledgment.delivered) closed.add(eventId)
          yield* announce
          return number
        }),
      send: () => Effect.dieMessage("nobody sends here"),
      rotateCredentials: () => Effect.dieMessage("nobody rotates here"),
      notice: (stamp) => fenced(stamp.generation)
    })

    const add = (roomId: RoomId, kind: RoomRecord["kind"], sender: UserId, form: RoomRecord["form"] = "message") => {
      const eventId = EventId.make(`$event-${records.length + 1}`)
      records.push(
        new RoomRecord({
          eventId,
          roomId,
          kind,
          sender,
          senderRole: sender === owner ? "owner" : "person",
          senderAgent: null,
          displayName: null,
          sentAtMillis: null,
          type: "m.room.message",
          form,
          text: form === "message" ? `text ${records.length + 1}` : null,
          replyTo: null,
          relatesTo: null
        })
      )
      return eventId
    }

    return {
      layer: Layer.succeed(CrossfireClient, client),
      room: (name: string) => {
        const roomId = RoomId.make(`!${name}`)
        rooms.push(roomId)
        return roomId
      },
      /** The owner's message wakes, a stranger's is context; `kind` says otherwise. */
      say: (roomId: RoomId, sender: UserId, kind: RoomRecord["kind"] = sender === owner ? "wake" : "context") =>
        Effect.zipLeft(Effect.sync(() => add(roomId, kind, sender)), announce),
      /** Many at once, told with one level. */
      fill: (roomId: RoomId, kind: RoomRecord["kind"], count: number) =>
        Effect.zipLeft(
          Effect.sync(() => {
            for (let at = 0; at < count; at++) add(roomId, kind, owner)
          }),
          announce
        ),
      redact: (eventId: EventId) =>
        Effect.suspend(() => {
          const at = records.findIndex((record) => record.eventId === eventId)
          const record = records[at]
          if (record === undefined) return Effect.dieMessage("no such event")
          records[at] = new RoomRecord({ ...record, kind: "context", form: "redacted", text: null })
          redactions.push({ number: redactions.length + 1, roomId: record.roomId, eventId })
          add(record.roomId, "context", record.sender, "redaction")
          return announce
        }),
      failing,
      failBoundary: (failure: CrossfireUnavailable | null) => {
        boundaryFailure = failure
      },
      asked,
      acknowledgments
    }
  })
