import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { UserId } from "../../../src/domain/Ids.ts"
import { Levels } from "../../../src/services/Levels.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { RoomPages } from "../../../src/services/RoomPages.ts"
import { alice, bob, bot, make, message, still, user } from "./World.ts"

// The twin lets the room's creator alone set state; what the room then says is the same.
const named = (name: string | null) => ({ membership: "join", ...name === null ? {} : { displayname: name } })

it.scoped("[A29] [A31] whoever is shown like the owner, an agent or crossfire is flagged with the one imitated; roles go by the ID", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const editor = yield* world.agent("editor", bob)
    yield* Effect.gen(function*() {
      const room = yield* world.human.createRoom(alice)
      yield* world.human.invite(alice, room, writer.userId)
      const { look } = yield* Participation
      yield* look(writer.userId)
      yield* world.human.setState(alice, room, "m.room.member", alice, named("Alice Cooper"))
      const [boundary] = (yield* Effect.flatMap(Levels, (levels) => levels.of(writer.agentId))).rooms
      if (boundary === undefined) throw new Error("no room")
      const speak = (person: UserId, name: string | null) =>
        Effect.gen(function*() {
          yield* world.human.invite(alice, room, person)
          yield* world.human.join(person, room)
          yield* world.human.setState(alice, room, "m.room.member", person, named(name))
          yield* world.human.send(person, room, message("hello"))
        })
      const imitates = (like: UserId) => ({ problem: "imitates", like })
      const expected: ReadonlyArray<readonly [UserId, string | null, unknown]> = [
        [user("m1"), "alice", imitates(alice)],
        [user("m2"), "\u0410lice C\u043eoper", imitates(alice)],
        [user("m3"), "@alice:cf.test", imitates(alice)],
        [UserId.make("@alice:other.test"), "Alice", imitates(alice)],
        [user("m4"), "ed1tor", imitates(editor.userId)],
        [user("m5"), "Editor (bob)", imitates(editor.userId)],
        [user("m6"), "wr\u200biter", imitates(writer.userId)],
        [user("m7"), "Cr\u043essfire", imitates(bot)],
        [user("m8"), "Zo\u00eb", null],
        [user("m9"), "Z\u043eb", { problem: "mixed-alphabets", like: null }],
        [user("m10"), "Bob\u202e", { problem: "hidden-characters", like: null }],
        [user("m11"), null, null],
        // Another agent's owner is not this agent's.
        [bob, "bob", null]
      ]
      for (const [person, name] of expected) yield* speak(person, name)
      yield* world.human.send(alice, room, message("it is me"))
      const page = yield* Effect.flatMap(RoomPages, (pages) =>
        pages.read({
          agentId: writer.agentId,
          roomId: room,
          from: boundary.boundary,
          to: null,
          direction: "forward",
          limit: 200
        }))
      const spoken = page.records.filter((record) => record.form === "message")
      expect(spoken.map(({ displayName, nameDoubt, sender }) => [sender, displayName, nameDoubt])).toStrictEqual([
        ...expected,
        [alice, "Alice Cooper", null]
      ])
      expect(spoken.filter(({ senderRole }) => senderRole === "owner").map(({ sender }) => sender)).toStrictEqual([
        alice
      ])
      expect(spoken.filter(({ kind }) => kind === "wake").map(({ sender }) => sender)).toStrictEqual([alice])
    }).pipe(Effect.provide(still(world)))
  }))
