// crossfire's core over a real exchange with a homeserver that answers as it is told: what tests of its pages begin with.
import { Effect, Layer, Redacted, Schema } from "effect"
import { RoomId, StreamToken } from "../../../src/domain/Ids.ts"
import * as SynapseMatrix from "../../../src/layers/matrix/SynapseMatrix.ts"
import { CrossfireDb } from "../../../src/services/Database.ts"
import { Levels } from "../../../src/services/Levels.ts"
import { Matrix } from "../../../src/services/Matrix.ts"
import { RoomPages } from "../../../src/services/RoomPages.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import { Participations } from "../../../src/services/store/Participations.ts"
import { Rooms } from "../../../src/services/store/Rooms.ts"
import { SweepPositions } from "../../../src/services/store/SweepPositions.ts"
import * as HostileHomeserver from "../../support/HostileHomeserver.ts"
import { alice, decisionsIn, make as makeWorld, serverName, type TestAgent } from "./World.ts"

export const start = StreamToken.make("s0")

const decodeNotices = Schema.decodeUnknown(
  Schema.Array(Schema.Struct({ recipient: Schema.NullOr(Schema.String), content: Schema.String }))
)

export const make = Effect.gen(function*() {
  const world = yield* makeWorld()
  const homeserver = yield* HostileHomeserver.make
  const matrix = yield* SynapseMatrix.make({
    baseUrl: homeserver.baseUrl,
    serverName,
    asToken: Redacted.make("secret-token"),
    serviceId: "crossfire"
  })
  const outside = Layer.merge(Layer.succeed(Matrix, matrix), Layer.succeed(CrossfireDb, world.db))
  let rooms = 0

  /** A room with these agents, each of which may read from the token `s0` on. */
  const room = (script: HostileHomeserver.PageScript, ...agents: ReadonlyArray<TestAgent>) =>
    Effect.gen(function*() {
      rooms += 1
      const roomId = RoomId.make(`!room-${rooms}`)
      homeserver.script(roomId, script)
      homeserver.joined.add(roomId)
      yield* (yield* Rooms).learn(roomId, { name: null, visibility: "shared", encrypted: false, isDirect: false })
      const participations = yield* Participations
      for (const { agentId } of agents) {
        yield* participations.joining(agentId, roomId, alice, start)
        yield* participations.joined(agentId, roomId)
      }
      yield* (yield* SweepPositions).put(roomId, { reader: "", position: start, windowTo: null }, null)
      return roomId
    })

  const page = (agent: TestAgent, roomId: RoomId, from: string = start, limit = 100) =>
    Effect.flatMap(RoomPages, (pages) =>
      pages.read({
        agentId: agent.agentId,
        roomId,
        from: StreamToken.make(from),
        to: StreamToken.make("s99"),
        direction: "forward",
        limit
      }))

  const sweep = (roomId: RoomId) => Effect.flatMap(RoomSweep, (all) => all.room(roomId))

  const position = (roomId: RoomId) =>
    Effect.map(
      Effect.flatMap(SweepPositions, (positions) => positions.of(roomId)),
      (readers) => readers.map((reader) => reader.position)
    )

  const stopped = (agent: TestAgent, roomId: RoomId) =>
    Effect.map(
      Effect.flatMap(Levels, (levels) => levels.of(agent.agentId)),
      (level) => level.rooms.find((each) => each.roomId === roomId)?.stopped
    )

  const decided = (roomId: RoomId) => Effect.map(decisionsIn(world, roomId), (found) => [...found.keys()])

  /** What owners were told about this room, whether it is sent yet or not. */
  const told = (roomId: RoomId) =>
    Effect.map(
      world.db.read(
        Effect.flatMap(
          world.sql`SELECT recipient, content FROM outbound WHERE content LIKE ${`%${roomId}\`%`} ORDER BY sequence`,
          decodeNotices
        )
      ),
      (rows) => rows.map(({ content, recipient }) => `${recipient}: ${content}`)
    )

  return { world: { ...world, outside }, homeserver, room, page, sweep, position, stopped, decided, told }
})

/** The process's memory at its highest while this goes on, in MiB, and above where it began. */
export const peakMemory = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = process.memoryUsage.rss()
    let highest = before
    const look = Effect.sync(() => {
      highest = Math.max(highest, process.memoryUsage.rss())
    })
    const value = yield* Effect.raceFirst(work, Effect.forever(Effect.delay(look, "5 millis")))
    const mebibytes = (bytes: number) => Math.round(bytes / 1024 / 1024)
    return { value, peakMiB: mebibytes(highest), risenMiB: mebibytes(highest - before) }
  })
