import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Levels } from "../../../src/services/Levels.ts"
import { HomeserverUnavailable } from "../../../src/services/Matrix.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import { OutboundMessages } from "../../../src/services/store/OutboundMessages.ts"
import { Participations } from "../../../src/services/store/Participations.ts"
import { alice, bob, bot, decisionsIn, make, mallory, message, still } from "./World.ts"

const look = (user: Parameters<typeof Participation.Service.look>[0]) =>
  Effect.flatMap(Participation, (participation) => participation.look(user))
const sweep = (roomId: Parameters<typeof RoomSweep.Service.room>[0]) =>
  Effect.flatMap(RoomSweep, (rooms) => rooms.room(roomId))
const levelOf = (agentId: Parameters<typeof Levels.Service.of>[0]) =>
  Effect.flatMap(Levels, (levels) => levels.of(agentId))

it.scoped("[M-04] an owner's invitation joins the agent; what stood before wakes nobody, what comes after does", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const room = yield* world.human.createRoom(alice)
    const before = yield* world.human.send(alice, room, message("before"))
    yield* world.human.invite(alice, room, writer.userId)
    yield* Effect.gen(function*() {
      yield* look(writer.userId)
      const after = yield* world.human.send(alice, room, message("after"))
      yield* sweep(room)
      const decided = yield* decisionsIn(world, room)
      expect(decided.get(before)).toStrictEqual(["writer context"])
      expect(decided.get(after)).toStrictEqual(["writer wake"])
      const level = yield* levelOf(writer.agentId)
      expect(level.wakes.map((wake) => wake.eventId)).toStrictEqual([after])
      expect(level.rooms.map((each) => each.roomId)).toStrictEqual([room])
      expect(level.rooms[0]?.latest).toBeGreaterThan(0)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[H-05] a stranger's invitation is held: nothing joined, no permission, one notice to the owner", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const room = yield* world.human.createRoom(mallory)
    yield* world.human.invite(mallory, room, writer.userId)
    yield* Effect.gen(function*() {
      yield* look(writer.userId)
      yield* look(writer.userId)
      const standing = yield* Effect.flatMap(Participations, (rows) => rows.get(writer.agentId, room))
      expect(standing).toMatchObject({
        value: { permitted: false, membership: "invited", boundary: null, problem: "inviter-not-allowed" }
      })
      expect(yield* world.memory.matrix.joinedRooms(writer.userId)).toStrictEqual([])
      expect((yield* levelOf(writer.agentId)).rooms).toStrictEqual([])
      const lanes = yield* Effect.flatMap(OutboundMessages, (rows) => rows.lanes)
      const rows = yield* world.db.read(world.sql`SELECT recipient, operation_id FROM outbound`)
      expect(rows).toHaveLength(1)
      expect(rows[0]).toMatchObject({ recipient: alice })
      expect(lanes.length).toBeLessThanOrEqual(1)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("[H-06] an administrator brings in any agent; a held invitation is taken up when the owner invites too", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* world.person(bob, "administrator")
    const writer = yield* world.agent("writer", alice)
    const one = yield* world.human.createRoom(bob)
    yield* world.human.invite(bob, one, writer.userId)
    const two = yield* world.human.createRoom(mallory)
    yield* world.human.invite(mallory, two, alice)
    yield* world.human.join(alice, two)
    yield* world.human.invite(mallory, two, writer.userId)
    yield* Effect.gen(function*() {
      yield* look(writer.userId)
      expect(yield* world.memory.matrix.joinedRooms(writer.userId)).toStrictEqual([one])
      yield* world.human.kick(mallory, two, writer.userId)
      yield* world.human.invite(alice, two, writer.userId)
      yield* look(writer.userId)
      expect(yield* world.memory.matrix.joinedRooms(writer.userId)).toStrictEqual([one, two])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("an encrypted room is refused with one plain notice", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const room = yield* world.human.createRoom(alice)
    yield* world.human.setState(alice, room, "m.room.encryption", "", { algorithm: "m.megolm.v1.aes-sha2" })
    yield* world.human.invite(alice, room, writer.userId)
    yield* Effect.gen(function*() {
      yield* look(writer.userId)
      yield* look(writer.userId)
      expect(yield* world.memory.matrix.joinedRooms(writer.userId)).toStrictEqual([])
      expect(yield* world.memory.matrix.invitations(writer.userId)).toStrictEqual([])
      const rows = yield* world.db.read(world.sql`SELECT recipient FROM outbound`)
      expect(rows).toStrictEqual([{ recipient: alice }])
    }).pipe(Effect.provide(still(world)))
  }))

const points = ["invitations", "joinedRooms", "boundary", "join", "state", "page"] as const

for (const point of points) {
  for (const when of ["before", "after"] as const) {
    it.scoped(`a join cut off ${when} "${point}" goes on after a restart and misses nothing`, () =>
      Effect.gen(function*() {
        let armed = true
        const cut = (operation: string) =>
          armed && operation === point
            ? Effect.suspend(() => {
              armed = false
              return Effect.fail(new HomeserverUnavailable({ operation, status: null }))
            })
            : Effect.void
        const world = yield* make({ [when]: cut })
        const writer = yield* world.agent("writer", alice)
        const room = yield* world.human.createRoom(alice)
        yield* world.human.invite(alice, room, writer.userId)
        yield* Effect.exit(look(writer.userId)).pipe(Effect.provide(still(world)))
        expect(armed).toBe(false)
        // Said while crossfire was away. If the boundary was stored by then, it is after it.
        const stored = yield* world.db.read(world.sql`SELECT wanted_boundary FROM participation`)
        const between = yield* world.human.send(alice, room, message("between"))
        yield* Effect.gen(function*() {
          yield* look(writer.userId)
          const after = yield* world.human.send(alice, room, message("after"))
          yield* sweep(room)
          const decided = yield* decisionsIn(world, room)
          expect(decided.get(between)).toStrictEqual([stored.length > 0 ? "writer wake" : "writer context"])
          expect(decided.get(after)).toStrictEqual(["writer wake"])
        }).pipe(Effect.provide(still(world)))
      }))
  }
}

it.scoped("[F49] removed agents get nothing while they are away; on return what they may see goes on from there", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", alice)
    const room = yield* world.human.createRoom(alice)
    yield* world.human.invite(alice, room, writer.userId)
    yield* world.human.invite(alice, room, editor.userId)
    yield* Effect.gen(function*() {
      yield* look(writer.userId)
      yield* look(editor.userId)
      yield* sweep(room)
      const first = yield* world.human.send(alice, room, message("first"))
      // The agent that reads for both is the one that is removed.
      for (const gone of [writer, editor]) {
        yield* world.human.kick(alice, room, gone.userId)
        const missed = yield* world.human.send(alice, room, message("missed"))
        yield* sweep(room)
        const decided = yield* decisionsIn(world, room)
        const other = gone === writer ? "editor" : "writer"
        expect(decided.get(first)).toStrictEqual(expect.arrayContaining(["writer wake", "editor wake"]))
        expect(decided.get(missed)).toStrictEqual([`${other} wake`])
        const level = yield* levelOf(gone.agentId)
        expect(level.rooms).toStrictEqual([])
        expect(level.wakes).toStrictEqual([])

        yield* world.human.invite(alice, room, gone.userId)
        yield* look(gone.userId)
        const back = yield* world.human.send(alice, room, message("back"))
        yield* sweep(room)
        const later = yield* decisionsIn(world, room)
        expect(later.get(back)).toHaveLength(2)
        // Shared history: what was said meanwhile is seen on return.
        expect(later.get(missed)).toHaveLength(2)
        expect((yield* levelOf(gone.agentId)).wakes.map((wake) => wake.eventId)).toContain(first)
        const readers = yield* world.db.read(world.sql`SELECT reader FROM sweep_position`)
        expect(readers).toStrictEqual([{ reader: "" }])
      }
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("removed, invited again and joined before any sweep: others miss nothing of the gap", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", alice)
    const room = yield* world.human.createRoom(alice)
    for (const agent of [writer, editor]) yield* world.human.invite(alice, room, agent.userId)
    yield* world.human.setState(alice, room, "m.room.history_visibility", "", { history_visibility: "joined" })
    yield* Effect.gen(function*() {
      for (const agent of [writer, editor]) yield* look(agent.userId)
      yield* sweep(room)
      for (const gone of [writer, editor]) {
        yield* world.human.kick(alice, room, gone.userId)
        const gap = yield* world.human.send(alice, room, message("gap"))
        yield* world.human.invite(alice, room, gone.userId)
        yield* look(gone.userId)
        const back = yield* world.human.send(alice, room, message("back"))
        yield* sweep(room)
        const decided = yield* decisionsIn(world, room)
        expect(decided.get(gap)).toStrictEqual([gone === writer ? "editor wake" : "writer wake"])
        expect(decided.get(back)).toHaveLength(2)
        expect((yield* levelOf(gone.agentId)).rooms).toHaveLength(1)
      }
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("the bot accepts people's direct chats and turns down everything else", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const direct = yield* world.human.createRoom(alice, { isDirect: true, invite: [bot] })
    const group = yield* world.human.createRoom(alice, { invite: [bot] })
    yield* Effect.gen(function*() {
      yield* look(bot)
      expect(yield* world.memory.matrix.joinedRooms(bot)).toStrictEqual([direct])
      expect(yield* world.memory.matrix.invitations(bot)).toStrictEqual([])
      expect(yield* world.db.read(world.sql`SELECT user_id, state FROM bot_room`)).toStrictEqual([
        { user_id: alice, state: "joined" }
      ])
      expect(group).not.toBe(direct)
      yield* look(writer.userId)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("a stranger who opens room after room fills nobody's chat", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    for (let count = 0; count < 30; count += 1) yield* world.human.createRoom(mallory, { invite: [writer.userId] })
    yield* Effect.gen(function*() {
      yield* look(writer.userId)
      expect(yield* world.db.read(world.sql`SELECT 1 FROM outbound`)).toHaveLength(20)
      expect(yield* world.db.read(world.sql`SELECT 1 FROM participation`)).toHaveLength(30)
    }).pipe(Effect.provide(still(world)))
  }))
