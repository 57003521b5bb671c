import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { foundation, rooms } from "../../../../src/layers/crossfire/CoreLayer.ts"
import * as AgentAccounts from "../../../../src/layers/crossfire/enrollment/AgentAccounts.ts"
import * as EnrollmentBot from "../../../../src/layers/crossfire/enrollment/EnrollmentBot.ts"
import * as SqliteEnrollment from "../../../../src/layers/crossfire/enrollment/SqliteEnrollment.ts"
import * as MemoryChanges from "../../../../src/layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../../../src/layers/crossfire/people/MemoryRevocations.ts"
import { Enrollment } from "../../../../src/services/Enrollment.ts"
import { Levels } from "../../../../src/services/Levels.ts"
import { Participation } from "../../../../src/services/Participation.ts"
import { RoomSweep } from "../../../../src/services/RoomSweep.ts"
import { alice, bot, make, message, until, user, type World } from "../World.ts"
import { entry, hashes, newClaim, newTokens, roster, webAddress } from "./EnrollmentFixture.ts"

/** The core without what runs by itself, and with enrollment. */
const core = (world: World) =>
  rooms.pipe(
    Layer.provide(EnrollmentBot.layer),
    Layer.provideMerge(SqliteEnrollment.layer()),
    Layer.provide(Layer.mergeAll(AgentAccounts.layer, MemoryChanges.layer, MemoryRevocations.layer, webAddress)),
    Layer.provideMerge(foundation),
    Layer.provideMerge(world.outside)
  )

it.scoped("a person enrolls a fleet in a direct chat with the bot, each message answered once; then invites its agent", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* world.person(alice, "member")
    yield* Effect.gen(function*() {
      const enrollment = yield* Enrollment
      const participation = yield* Participation
      const sweep = yield* RoomSweep
      const room = yield* world.human.createRoom(alice, { isDirect: true, invite: [bot] })
      yield* participation.look(bot)

      const answers = Effect.map(
        world.memory.timeline(room),
        (events) =>
          events.filter(({ sender }) => sender === bot).flatMap(({ content }) =>
            typeof content["body"] === "string" ? [content["body"]] : []
          )
      )
      const say = (text: string, count: number) =>
        Effect.gen(function*() {
          yield* world.human.send(alice, room, message(text))
          yield* sweep.room(room)
          yield* sweep.room(room)
          yield* until(`${count} answers`, Effect.map(answers, (found) => found.length >= count))
          return (yield* answers).at(-1)
        })

      const mine = roster([entry("w", "writer")], alice)
      const claim = yield* newClaim
      const tokens = yield* newTokens(mine)
      const { bot: told, code } = yield* enrollment.submit(claim, mine)
      expect(told).toBe(bot)
      expect(yield* say("hello", 1)).toContain("fleet enroll")
      expect(yield* say(String(code), 2)).toContain("**1. `writer`**")
      expect(yield* say(`confirm ${code}`, 3)).toContain("Confirmed")
      yield* sweep.room(room)
      expect(yield* answers).toHaveLength(3)

      const { agents } = yield* enrollment.introduce(hashes(claim, tokens))
      const [writer] = agents
      if (writer === undefined) throw new Error("no agent")
      const levels = yield* Levels
      expect(yield* levels.of(writer.agentId)).toMatchObject({ rooms: [], wakes: [] })
      const desk = yield* world.human.createRoom(alice)
      yield* world.human.invite(alice, desk, writer.userId)
      yield* participation.look(writer.userId)
      const event = yield* world.human.send(alice, desk, message("write"))
      yield* world.human.invite(alice, desk, user("bob"))
      yield* world.human.join(user("bob"), desk)
      yield* world.human.send(user("bob"), desk, message("write, too"))
      yield* sweep.room(desk)
      const level = yield* levels.of(writer.agentId)
      expect(level.rooms.map(({ roomId }) => roomId)).toStrictEqual([desk])
      // The first policy: its owner alone.
      expect(level.wakes.map(({ eventId }) => eventId)).toStrictEqual([event])
    }).pipe(Effect.provide(core(world)))
  }))
