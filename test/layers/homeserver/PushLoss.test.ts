// Why a push is only a hint: what the real homeserver loses of its pushes, and that the room's timeline has it all.
import { expect, it } from "@effect/vitest"
import { Effect, Schedule, Stream, SubscriptionRef } from "effect"
import { type RoomId, type StreamToken, UserId } from "../../../src/domain/Ids.ts"
import { messageText } from "../../../src/domain/MatrixEvent.ts"
import { heartbeatType } from "../../../src/layers/matrix/ControlRoom.ts"
import * as SynapseMatrix from "../../../src/layers/matrix/SynapseMatrix.ts"
import * as TestSynapse from "./TestSynapse.ts"

const alice = UserId.make("@alice:cf.test")
const agent = UserId.make("@cf-agent:cf.test")
const text = (body: string) => ({ msgtype: "m.text", body, "m.mentions": {} })
const bodies = (count: number) => Array.from({ length: count }, (_, at) => `message ${at}`)

const until = <A>(ref: SubscriptionRef.SubscriptionRef<A>, holds: (value: A) => boolean) =>
  ref.changes.pipe(Stream.filter(holds), Stream.runHead, Effect.timeout("20 seconds"))

const withRoom = Effect.gen(function*() {
  const synapse = yield* TestSynapse.make
  const matrix = yield* SynapseMatrix.make(synapse.prepared.access)
  yield* matrix.ensureUser(agent, "agent")
  const roomId = yield* synapse.people.createRoom(alice, { invite: [agent] })
  yield* matrix.join(agent, roomId)
  const window = (from: StreamToken, room: RoomId) =>
    Effect.gen(function*() {
      const to = yield* matrix.boundary
      const asked = { as: agent, roomId: room, from, to, direction: "forward" as const, maxBytes: 1_000_000 }
      const page = yield* matrix.page({ ...asked, limit: 100 })
      return page.events.flatMap((event) => messageText(event) ?? [])
    })
  return { ...synapse, matrix, roomId, window }
})

it.scopedLive(
  "[D-01] a homeserver killed while a push hangs loses pushes and no message",
  () =>
    Effect.gen(function*() {
      const { behave, matrix, people, process: homeserver, pushed, roomId, transactions, window } = yield* withRoom
      const joined = (yield* SubscriptionRef.get(pushed)).length
      const from = yield* matrix.boundary
      yield* behave("hang")
      const taken = yield* SubscriptionRef.get(transactions)
      for (const body of bodies(20)) yield* people.send(alice, roomId, text(body))
      // The first message's push hangs there; the others wait behind it in the homeserver's memory.
      yield* until(transactions, (count) => count > taken)
      const pid = yield* homeserver.pid
      process.kill(pid ?? 0, "SIGKILL")
      yield* behave("take")
      yield* homeserver.pid.pipe(
        Effect.repeat({ until: (now) => now !== pid, schedule: Schedule.spaced("20 millis") }),
        Effect.timeout("20 seconds")
      )
      yield* homeserver.ready
      yield* matrix.nudge
      yield* until(pushed, (events) => events.slice(joined).some(({ type }) => type === heartbeatType))

      const byPush = (yield* SubscriptionRef.get(pushed)).slice(joined).flatMap((event) => messageText(event) ?? [])
      expect(byPush.length).toBeLessThan(20)
      expect(yield* window(from, roomId)).toStrictEqual(bodies(20))
      // From now on pushes come again.
      yield* people.send(alice, roomId, text("afterwards"))
      yield* until(pushed, (events) => events.some((event) => messageText(event) === "afterwards"))
    }),
  60_000
)

it.scopedLive(
  "what was held back while crossfire failed comes at the nudge, each event at least once",
  () =>
    Effect.gen(function*() {
      const { behave, matrix, people, pushed, roomId, transactions } = yield* withRoom
      yield* behave("fail")
      const before = yield* SubscriptionRef.get(transactions)
      for (const body of bodies(5)) yield* people.send(alice, roomId, text(body))
      yield* until(transactions, (count) => count > before)
      yield* behave("take")
      yield* matrix.nudge
      yield* until(pushed, (events) => {
        const seen = events.flatMap((event) => messageText(event) ?? [])
        return bodies(5).every((body) => seen.includes(body))
      })
    }),
  60_000
)
