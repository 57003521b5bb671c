import { expect, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { UserId } from "../../../src/domain/Ids.ts"
import { messageText } from "../../../src/domain/MatrixEvent.ts"
import type { PushedEvent } from "../../../src/layers/matrix/ApplicationServicePush.ts"
import { make, type MemoryMatrix, type Operation } from "../../../src/layers/matrix/MemoryMatrix.ts"
import { HomeserverUnavailable, type Page } from "../../../src/services/Matrix.ts"
import { contract, Homeserver } from "./contract.ts"

const serverName = "cf.test"

contract(
  "the homeserver in memory",
  Layer.effect(Homeserver, Effect.map(make({ serverName }), ({ human, matrix }) => ({ matrix, people: human })))
)

const alice = UserId.make("@alice:cf.test")
const agent = UserId.make("@cf-agent:cf.test")
const text = (body: string) => ({ msgtype: "m.text", body })
const texts = ({ events }: Page) => events.flatMap((event) => messageText(event) ?? [])

const joined = ({ human, matrix }: MemoryMatrix) =>
  Effect.gen(function*() {
    yield* matrix.ensureUser(agent, "agent")
    const roomId = yield* human.createRoom(alice, { invite: [agent] })
    yield* matrix.join(agent, roomId)
    return roomId
  })

it.effect("inside a window, paging by t tokens brings an event from before the window again, as the real one does", () =>
  Effect.gen(function*() {
    const memory = yield* make({ serverName })
    const { human, matrix } = memory
    const roomId = yield* joined(memory)
    for (const body of ["old 1", "old 2", "old 3"]) yield* human.send(alice, roomId, text(body))
    const from = yield* matrix.boundary
    // A slow writer's event: stored last, and in the room's order before the three old ones.
    yield* human.send(alice, roomId, text("late"), { depthLag: 3 })
    yield* human.send(alice, roomId, text("new"))
    const to = yield* matrix.boundary
    const asked = { as: agent, roomId, to, direction: "forward" as const, maxBytes: 1_000_000 }
    expect(texts(yield* matrix.page({ ...asked, from, limit: 10 }))).toStrictEqual(["late", "new"])
    const first = yield* matrix.page({ ...asked, from, limit: 1 })
    expect(texts(first)).toStrictEqual(["late"])
    const rest = yield* matrix.page({ ...asked, from: first.end ?? from, limit: 10 })
    expect(texts(rest)).toStrictEqual(["old 2", "old 3", "new"])
  }))

it.effect("pushes come in the order of storing, and only from rooms where one of ours takes part or is invited", () =>
  Effect.gen(function*() {
    const memory = yield* make({ serverName })
    const { human, matrix, onPush } = memory
    const pushed = yield* Ref.make<ReadonlyArray<PushedEvent>>([])
    yield* onPush((event) => Ref.update(pushed, (before) => [...before, event]))
    const people = yield* human.createRoom(alice)
    yield* human.send(alice, people, text("among people"))
    expect(yield* Ref.get(pushed)).toStrictEqual([])
    const roomId = yield* joined(memory)
    yield* human.send(alice, roomId, text("hello"))
    yield* matrix.leave(agent, roomId)
    yield* human.send(alice, roomId, text("gone"))
    const seen = yield* Ref.get(pushed)
    expect(seen.map(({ content, room_id, type }) => [room_id, content["membership"] ?? content["body"] ?? type]))
      .toStrictEqual([[roomId, "invite"], [roomId, "join"], [roomId, "hello"], [roomId, "leave"]])
  }))

it.effect("a failure before an operation leaves nothing, one after it loses only the answer", () =>
  Effect.gen(function*() {
    const down = (operation: string) => new HomeserverUnavailable({ operation, status: null })
    const failing = yield* Ref.make<"before" | "after" | null>(null)
    const at = (when: "before" | "after") => (operation: Operation) =>
      Effect.flatMap(
        Ref.get(failing),
        (now) => now === when && operation === "send" ? Effect.fail(down(operation)) : Effect.void
      )
    const memory = yield* make({ serverName, before: at("before"), after: at("after") })
    const { matrix } = memory
    const roomId = yield* joined(memory)
    const from = yield* matrix.boundary
    const send = matrix.send({ as: agent, roomId, type: "m.room.message", transactionId: "t", content: text("once") })
    yield* Ref.set(failing, "before")
    expect(yield* Effect.flip(send)).toStrictEqual(down("send"))
    expect(yield* matrix.boundary).toBe(from)
    yield* Ref.set(failing, "after")
    expect(yield* Effect.flip(send)).toStrictEqual(down("send"))
    const stored = yield* matrix.boundary
    expect(stored).not.toBe(from)
    yield* Ref.set(failing, null)
    yield* send
    expect(yield* matrix.boundary).toBe(stored)
  }))

it.effect("going back to a checkpoint forgets what came since, and the heartbeat tells", () =>
  Effect.gen(function*() {
    const memory = yield* make({ serverName })
    const { checkpoint, human, matrix } = memory
    const roomId = yield* joined(memory)
    const early = yield* matrix.nudge
    const goBack = yield* checkpoint
    const from = yield* matrix.boundary
    yield* human.send(alice, roomId, text("lost"))
    const late = yield* matrix.nudge
    const ahead = yield* matrix.boundary
    yield* goBack
    expect(yield* matrix.boundary).toBe(from)
    expect((yield* matrix.nudge).found).toBe(early.written)
    expect(late.written).toBeGreaterThan(early.written)
    yield* human.send(alice, roomId, text("after the restore"))
    const asked = { as: agent, roomId, direction: "forward" as const, limit: 10, maxBytes: 1_000_000 }
    const deaf = yield* matrix.page({ ...asked, from: ahead, to: yield* matrix.boundary })
    expect(deaf).toStrictEqual({ events: [], end: null })
  }))
