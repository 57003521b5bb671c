import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { RoomId, UserId } from "../../../../src/domain/Ids.ts"
import * as MemoryChanges from "../../../../src/layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../../../src/layers/crossfire/people/MemoryRevocations.ts"
import * as SqlitePeople from "../../../../src/layers/crossfire/people/SqlitePeople.ts"
import { LevelChanges } from "../../../../src/services/LevelChanges.ts"
import { Levels } from "../../../../src/services/Levels.ts"
import { Participation } from "../../../../src/services/Participation.ts"
import { People } from "../../../../src/services/People.ts"
import { RoomPages } from "../../../../src/services/RoomPages.ts"
import { RoomSweep } from "../../../../src/services/RoomSweep.ts"
import { Participations } from "../../../../src/services/store/Participations.ts"
import {
  alice,
  bob,
  decisionsIn,
  make,
  mallory,
  mention,
  message,
  policy,
  still,
  type TestAgent,
  user,
  type World
} from "../World.ts"
import { operator } from "./PeopleFixture.ts"

const root = user("root")

const withPeople = (world: World) =>
  SqlitePeople.layer({ homeserver: "managed" }).pipe(
    Layer.provide(Layer.merge(MemoryChanges.layer, MemoryRevocations.layer)),
    Layer.provideMerge(still(world))
  )

const levelOf = (agent: TestAgent) => Effect.flatMap(Levels, (levels) => levels.of(agent.agentId))
const wakes = (agent: TestAgent) => Effect.map(levelOf(agent), (level) => level.wakes.map((wake) => wake.eventId))
const look = (who: UserId) => Effect.flatMap(Participation, (participation) => participation.look(who))
const sweep = (roomId: RoomId) => Effect.flatMap(RoomSweep, (all) => all.room(roomId))

const roomWith = (world: World, ...agents: ReadonlyArray<TestAgent>) =>
  Effect.gen(function*() {
    const room = yield* world.human.createRoom(alice)
    for (const agent of agents) {
      yield* world.human.invite(alice, room, agent.userId)
      yield* look(agent.userId)
    }
    yield* world.human.invite(alice, room, bob)
    yield* world.human.join(bob, room)
    return room
  })

const says = (world: World, agent: TestAgent, roomId: RoomId, text: string, ...mentioned: ReadonlyArray<UserId>) =>
  world.memory.matrix.send({
    as: agent.userId,
    roomId,
    type: "m.room.message",
    transactionId: text,
    content: mention(text, ...mentioned)
  })

it.scoped("[F50] [H-05] a deactivated person starts nobody from then on, nor do their agents by them; what was open is withdrawn", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const reader = yield* world.agent("reader", alice)
    const editor = yield* world.agent("editor", bob)
    yield* Effect.gen(function*() {
      const people = yield* People
      yield* people.add(operator, bob, "member")
      yield* policy(writer, [{ kind: "person", userId: alice }, { kind: "person-and-agents", userId: bob }])
      yield* policy(reader, [{ kind: "person-and-agents", userId: bob }, { kind: "agent", agentId: editor.agentId }])
      const room = yield* roomWith(world, writer, reader)
      yield* world.human.invite(bob, room, editor.userId)
      yield* look(editor.userId)
      const one = yield* world.human.send(alice, room, message("one"))
      const two = yield* world.human.send(bob, room, message("two"))
      const three = yield* says(world, editor, room, "three")
      yield* sweep(room)
      expect(yield* wakes(writer)).toStrictEqual([one, two, three])
      expect(yield* wakes(reader)).toStrictEqual([two, three])
      const before = [yield* levelOf(writer), yield* levelOf(reader), yield* levelOf(editor)]
      const changed = yield* Effect.flatMap(LevelChanges, (changes) => changes.follow)

      yield* people.deactivate(operator, bob)
      expect([...(yield* changed)].toSorted()).toStrictEqual(
        [writer.agentId, reader.agentId, editor.agentId].toSorted()
      )
      expect(yield* wakes(writer)).toStrictEqual([one])
      // Selected for itself: whose it is says nothing.
      expect(yield* wakes(reader)).toStrictEqual([three])
      for (const [index, agent] of [writer, reader, editor].entries()) {
        const now = yield* levelOf(agent)
        expect(now.number).toBeGreaterThan(before[index]?.number ?? Infinity)
        expect(now.authorityRevision).toBeGreaterThan(before[index]?.authorityRevision ?? Infinity)
      }
      const four = yield* world.human.send(bob, room, mention("four", writer.userId, reader.userId, editor.userId))
      const five = yield* says(world, editor, room, "five", writer.userId, reader.userId)
      const six = yield* world.human.send(alice, room, message("six"))
      yield* sweep(room)
      expect(yield* wakes(writer)).toStrictEqual([one, six])
      expect(yield* wakes(reader)).toStrictEqual([five, three])
      expect(yield* wakes(editor)).toStrictEqual([])
      const decided = yield* decisionsIn(world, room)
      expect(decided.get(two)?.toSorted()).toStrictEqual([
        "editor wake withdrawn",
        "reader wake withdrawn",
        "writer wake withdrawn"
      ])
      expect(decided.get(four)?.toSorted()).toStrictEqual(["editor context", "reader context", "writer context"])

      // Reactivation revives nothing, and what is said after it counts again.
      yield* people.reactivate(operator, bob)
      expect(yield* wakes(writer)).toStrictEqual([one, six])
      const seven = yield* world.human.send(bob, room, message("seven"))
      yield* sweep(room)
      expect(yield* wakes(writer)).toStrictEqual([one, six, seven])
      expect(yield* wakes(editor)).toStrictEqual([seven])
    }).pipe(Effect.provide(withPeople(world)))
  }))

it.scoped("[F50] a wake is withdrawn even if nobody looks before the person is back, and in rooms that the agent has left", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      const people = yield* People
      yield* people.add(operator, bob, "member")
      yield* policy(writer, [{ kind: "person", userId: bob }, { kind: "person", userId: mallory }])
      const [room, left] = [yield* roomWith(world, writer), yield* roomWith(world, writer)]
      const here = yield* world.human.send(bob, room, message("here"))
      const there = yield* world.human.send(bob, left, message("there"))
      yield* sweep(room)
      yield* sweep(left)
      yield* world.human.kick(alice, left, writer.userId)
      yield* sweep(left)
      yield* people.deactivate(operator, bob)
      yield* people.reactivate(operator, bob)
      expect((yield* decisionsIn(world, room)).get(here)).toStrictEqual(["writer wake withdrawn"])
      expect((yield* decisionsIn(world, left)).get(there)).toStrictEqual(["writer wake withdrawn"])

      // Somebody whom the instance does not know is neither active nor deactivated: the policy alone decides.
      yield* world.human.invite(alice, room, mallory)
      yield* world.human.join(mallory, room)
      const unknown = yield* world.human.send(mallory, room, message("unknown"))
      yield* sweep(room)
      expect(yield* wakes(writer)).toStrictEqual([unknown])
    }).pipe(Effect.provide(withPeople(world)))
  }))

it.scoped("[F50] [H-06] whoever was demoted or deactivated brings no agent into a room and is called no administrator or owner", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const ends: ReadonlyArray<
      readonly [UserId, (people: typeof People.Service) => Effect.Effect<unknown, { readonly _tag: string }>]
    > = [
      [root, (people) => people.setRole(operator, root, "member")],
      [bob, (people) => people.deactivate(operator, bob)],
      [alice, (people) => people.deactivate(operator, alice)]
    ]
    yield* Effect.gen(function*() {
      const people = yield* People
      const participations = yield* Participations
      const pages = yield* RoomPages
      yield* people.add(operator, user("keeper"), "administrator")
      yield* people.add(operator, alice, "member")
      for (const one of [root, bob]) yield* people.add(operator, one, "administrator")

      const invitedBy = (who: UserId) =>
        Effect.gen(function*() {
          const room = yield* world.human.createRoom(who)
          yield* world.human.invite(who, room, writer.userId)
          yield* look(writer.userId)
          return { room, standing: yield* participations.get(writer.agentId, room) }
        })
      const roleIn = (room: RoomId, who: UserId) =>
        Effect.gen(function*() {
          const boundary = (yield* levelOf(writer)).rooms.find((each) => each.roomId === room)?.boundary
          if (boundary === undefined) return yield* Effect.dieMessage("not in that room")
          yield* world.human.send(who, room, message("hello"))
          const page = yield* pages.read({
            agentId: writer.agentId,
            roomId: room,
            from: boundary,
            to: null,
            direction: "forward",
            limit: 50
          })
          return page.records.find((record) => record.sender === who)?.senderRole
        })

      for (const [who, end] of ends) {
        const { room, standing } = yield* invitedBy(who)
        expect([who, standing]).toMatchObject([who, { value: { permitted: true, membership: "joined" } }])
        expect([who, yield* roleIn(room, who)]).toStrictEqual([who, who === alice ? "owner" : "administrator"])
        yield* end(people)
        expect([who, yield* roleIn(room, who)]).toStrictEqual([who, "person"])
        const after = yield* invitedBy(who)
        expect([who, after.standing]).toMatchObject([who, {
          value: { permitted: false, problem: "inviter-not-allowed" }
        }])
      }
    }).pipe(Effect.provide(withPeople(world)))
  }))
