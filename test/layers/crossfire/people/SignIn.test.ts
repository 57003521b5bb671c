import { expect, it } from "@effect/vitest"
import {
  Deferred,
  Effect,
  Either,
  Exit,
  Fiber,
  Layer,
  Logger,
  LogLevel,
  Option,
  Redacted,
  Scope,
  TestClock
} from "effect"
import * as fc from "effect/FastCheck"
import { Actor } from "../../../../src/domain/Actor.ts"
import { readAskedUser } from "../../../../src/domain/AskedUser.ts"
import type { RoomId, UserId } from "../../../../src/domain/Ids.ts"
import { type LinkSecret, maxLinksPerPerson } from "../../../../src/domain/Session.ts"
import { maxNewChats, maxNewChatsPerPerson } from "../../../../src/layers/crossfire/people/SignInChats.ts"
import { newSecret } from "../../../../src/layers/crypto/Secret.ts"
import { HomeserverUnavailable } from "../../../../src/services/Matrix.ts"
import { Participation } from "../../../../src/services/Participation.ts"
import { People } from "../../../../src/services/People.ts"
import { RoomSweep } from "../../../../src/services/RoomSweep.ts"
import { Sessions } from "../../../../src/services/Sessions.ts"
import { SignIn } from "../../../../src/services/SignIn.ts"
import { alice, bob, bot, decisionsIn, make, until, user, type World } from "../World.ts"
import { ask, doors, origin, secretIn } from "./SignInFixture.ts"

const complete = (link: LinkSecret, browserSecret: Redacted.Redacted | null) =>
  Effect.flatMap(
    SignIn,
    (signIn) =>
      signIn.complete({ link, browserSecrets: browserSecret === null ? [] : [browserSecret], browser: "Firefox" })
  )
const refusal = (link: LinkSecret, browserSecret: Redacted.Redacted | null) =>
  Effect.map(
    Effect.either(complete(link, browserSecret)),
    (outcome) => Either.isLeft(outcome) && outcome.left._tag === "SignInRefused" ? outcome.left.problem : outcome._tag
  )

/** The bot's messages in its rooms with this person, oldest first. */
const messages = (world: World, person: UserId) =>
  Effect.gen(function*() {
    const all = yield* Effect.forEach(yield* world.memory.matrix.joinedRooms(bot), world.memory.timeline)
    return all.filter((events) => events.some(({ stateKey }) => stateKey === person)).flat().filter(({ type }) =>
      type === "m.room.message"
    )
  })
const standing = (world: World, person: UserId) =>
  Effect.map(messages(world, person), (all) => all.filter(({ redactedBy }) => redactedBy === null))

const links = (world: World, person: UserId) =>
  Effect.map(standing(world, person), (all) => all.flatMap(({ content }) => Option.toArray(secretIn(content))))

/** Asks, and waits for the link. */
const asked = (world: World, person: UserId) =>
  Effect.gen(function*() {
    yield* world.human.register(person)
    const before = (yield* links(world, person)).length
    const { browserSecret } = yield* ask(person)
    yield* until("a link", Effect.map(links(world, person), (all) => all.length > before))
    const link = (yield* links(world, person)).at(-1)
    return link === undefined ? yield* Effect.dieMessage("no link") : { link, browserSecret }
  })

/** Everything that would be done of itself without time passing has been done. */
const settle = Effect.repeatN(Effect.yieldNow({ priority: 0 }), 300)

/** Every value in every table. */
const dump = (world: World) =>
  world.db.read(Effect.gen(function*() {
    const tables = yield* world.sql<{ name: string }>`SELECT name FROM sqlite_master WHERE type = 'table'`
    const rows = yield* Effect.forEach(tables, ({ name }) => world.sql`SELECT * FROM ${world.sql(name)}`)
    return rows.flat().flatMap((row) => Object.values(row)).map(String).join("\n")
  }))

const isDone = (world: World) =>
  Effect.map(world.db.read(world.sql`SELECT 1 FROM outbound WHERE state = 'waiting'`), (rows) => rows.length === 0)

it.scoped("[H-03] a link comes in the person's chat with the bot, and begins a session in the browser that asked", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      yield* world.human.register(alice)
      const { browserSecret } = yield* ask("Alice")
      yield* until("a link", Effect.map(links(world, alice), (all) => all.length === 1))
      const [message] = yield* messages(world, alice)
      const content = message?.content ?? {}
      const link = Option.getOrThrow(secretIn(content))
      expect(message?.sender).toBe(bot)
      // Counts as a message, and no agent is ever given it.
      expect(content).toMatchObject({ msgtype: "m.text", "org.crossfire.control": { kind: "sign-in" } })
      expect(content["body"]).toContain(`Sign in to crossfire at ${origin} as \`${alice}\`:`)
      expect(content["body"]).toContain("good once, for 5 minutes, and only in the browser that asked")
      expect(content["formatted_body"]).toContain(`<a href="${origin}/sign-in/link#${link}">`)
      const session = yield* complete(link, browserSecret)
      expect(session.principal).toMatchObject({ userId: alice, role: "member" })
      const found = yield* Effect.flatMap(Sessions, (sessions) => sessions.find(session.secret, "127.0.0.1"))
      expect(found.principal).toStrictEqual(session.principal)
      yield* until("taken back", isDone(world))
      expect(yield* standing(world, alice)).toStrictEqual([])
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("[A16] the link's secret stands behind the #, which no previewer sends", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      const { link } = yield* asked(world, alice)
      const [message] = yield* messages(world, alice)
      const url = new URL(/<(https:[^>]+)>/u.exec(String(message?.content["body"]))?.[1] ?? "")
      expect(url.origin + url.pathname + url.search).toBe(`${origin}/sign-in/link`)
      expect(url.hash).toBe(`#${link}`)
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("[A10] a link is good once: a second use is refused, and two at the same time begin one session", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      const { browserSecret, link } = yield* asked(world, alice)
      const both = yield* Effect.all([refusal(link, browserSecret), refusal(link, browserSecret)], { concurrency: 2 })
      expect(both.toSorted()).toStrictEqual(["Right", "over"])
      expect(yield* refusal(link, browserSecret)).toBe("over")
      expect(yield* world.db.read(world.sql`SELECT 1 FROM session`)).toHaveLength(1)
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("[A10] another browser gets nothing by a link, and it stays good in its own", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      const { browserSecret, link } = yield* asked(world, alice)
      const other = yield* ask("bob")
      expect(yield* refusal(link, null)).toBe("another-browser")
      expect(yield* refusal(link, other.browserSecret)).toBe("another-browser")
      expect(yield* refusal(link, Redacted.make(""))).toBe("another-browser")
      expect(yield* world.db.read(world.sql`SELECT 1 FROM session`)).toHaveLength(0)
      expect((yield* complete(link, browserSecret)).principal.userId).toBe(alice)
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("[A13] the answer is the same for anybody, and comes before anything is looked up; nobody gets a message who may not sign in", () =>
  Effect.gen(function*() {
    const gate = yield* Deferred.make<void>()
    const world = yield* make({
      before: (operation) => operation === "accountState" ? Deferred.await(gate) : Effect.void
    })
    yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      for (const name of ["gone", "shut"]) yield* world.human.register(user(name))
      yield* world.human.deactivate(user("gone"))
      yield* Effect.flatMap(
        People,
        (people) =>
          Effect.zipRight(people.add(Actor.Operator(), user("shut"), "member"), people.accountGone(user("shut")))
      )
      const nobodies = [
        "nobody",
        "gone",
        "shut",
        "@alice:elsewhere.test",
        "cf-writer",
        "cf-bot",
        "",
        "a b",
        "@:",
        "\n",
        "a:b:c"
      ]
      // A database that is in use does not hold up the answer either.
      const held = yield* Effect.fork(world.db.transaction(Deferred.await(gate)))
      yield* settle
      const answers = yield* Effect.forEach([...nobodies, "x".repeat(300)], ask)
      for (const answer of answers) {
        expect(Object.keys(answer)).toStrictEqual(["browserSecret"])
        expect(Redacted.value(answer.browserSecret)).toMatch(/^[A-Za-z0-9_-]{43}$/u)
      }
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(held)
      yield* settle
      expect(yield* world.db.read(world.sql`SELECT 1 FROM outbound`)).toStrictEqual([])
      expect(yield* world.db.read(world.sql`SELECT 1 FROM sign_in`)).toStrictEqual([])
      expect(yield* world.memory.matrix.joinedRooms(bot)).toStrictEqual([])
      // A link that nobody made, one that is over and one that was used are refused alike.
      const { browserSecret, link } = yield* asked(world, alice)
      yield* complete(link, browserSecret)
      const unknown = yield* newSecret()
      expect(yield* refusal(Redacted.value(unknown) as LinkSecret, browserSecret)).toBe("over")
      expect(yield* refusal(link, null)).toBe("over")
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("a link is over after 5 minutes: it is refused, its message is taken back, and a day later nothing is left", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      const late = yield* asked(world, alice)
      yield* TestClock.adjust("4 minutes")
      const used = yield* asked(world, bob)
      yield* complete(used.link, used.browserSecret)
      expect(yield* links(world, alice)).toHaveLength(1)
      yield* TestClock.adjust("1 minutes")
      expect(yield* refusal(late.link, late.browserSecret)).toBe("over")
      yield* TestClock.adjust("30 seconds")
      yield* until("taken back", Effect.map(standing(world, alice), (all) => all.length === 0))
      yield* until("all done", isDone(world))
      expect(yield* world.db.read(world.sql`SELECT 1 FROM sign_in WHERE operation_id IS NOT NULL`)).toStrictEqual([])
      expect(yield* world.db.read(world.sql`SELECT 1 FROM sign_in`)).toHaveLength(2)
    }).pipe(Effect.provide(doors(world.outside)))
    yield* TestClock.adjust("1445 minutes")
    yield* until(
      "old rows are removed",
      Effect.map(world.db.read(world.sql`SELECT 1 FROM sign_in`), (rows) => rows.length === 0)
    ).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("[A13] no table and no log names a secret after it was used or ran out", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const logged: Array<string> = []
    const logger = Logger.make((entry) => void logged.push(Logger.stringLogger.log(entry)))
    yield* Effect.gen(function*() {
      const used = yield* asked(world, alice)
      const session = yield* complete(used.link, used.browserSecret)
      const late = yield* asked(world, bob)
      yield* TestClock.adjust("6 minutes")
      yield* until("all done", isDone(world))
      yield* refusal(late.link, late.browserSecret)
      const stored = yield* dump(world)
      expect(stored).toContain(alice)
      const secrets = [
        used.link,
        late.link,
        ...[used.browserSecret, late.browserSecret, session.secret].map(Redacted.value)
      ]
      for (const secret of secrets) {
        expect(stored).not.toContain(secret)
        expect(logged.join("\n")).not.toContain(secret)
      }
    }).pipe(
      Effect.provide(Layer.mergeAll(
        doors(world.outside),
        Logger.replace(Logger.defaultLogger, logger),
        Logger.minimumLogLevel(LogLevel.All)
      ))
    )
  }))

it.scoped("[H-03] a restart between sending and using changes nothing; one after the link ran out takes its message back", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const life = <A, E>(body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof doors>>>) =>
      Effect.acquireUseRelease(
        Scope.make(),
        (scope) =>
          Effect.flatMap(Layer.buildWithScope(doors(world.outside), scope), (core) => Effect.provide(body, core)),
        (scope) => Scope.close(scope, Exit.void)
      )
    const good = yield* life(asked(world, alice))
    const late = yield* life(asked(world, bob))
    const session = yield* life(complete(good.link, good.browserSecret))
    expect(session.principal.userId).toBe(alice)
    yield* TestClock.adjust("5 minutes")
    yield* life(Effect.gen(function*() {
      expect(yield* refusal(late.link, late.browserSecret)).toBe("over")
      yield* until("both are taken back", isDone(world))
      expect([...yield* standing(world, alice), ...yield* standing(world, bob)]).toStrictEqual([])
    }))
  }))

it.scoped("at most three links for a person in a quarter of an hour; others are not held up by it", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      for (let count = 0; count < maxLinksPerPerson; count += 1) yield* asked(world, alice)
      yield* Effect.repeatN(ask("alice"), 20)
      yield* settle
      expect(yield* messages(world, alice)).toHaveLength(maxLinksPerPerson)
      yield* asked(world, bob)
      yield* TestClock.adjust("15 minutes")
      yield* TestClock.adjust("1 seconds")
      yield* asked(world, alice)
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("asks open few chats: with each person who wants none three a day, with all of them twenty in a quarter of an hour", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const chats = Effect.map(world.memory.matrix.joinedRooms(bot), (rooms) => rooms.length)
    yield* Effect.gen(function*() {
      yield* world.human.register(alice)
      for (let turn = 0; turn < 5; turn += 1) {
        yield* ask("alice")
        yield* settle
        yield* Effect.forEach(
          yield* world.memory.matrix.joinedRooms(bot),
          (room: RoomId) => world.human.leave(alice, room)
        )
        yield* TestClock.adjust("6 minutes")
      }
      expect(yield* chats).toBe(maxNewChatsPerPerson)
      for (let number = 0; number < 30; number += 1) {
        yield* world.human.register(user(`p${number}`))
        yield* ask(`p${number}`)
      }
      yield* settle
      expect(yield* chats).toBe(maxNewChatsPerPerson + maxNewChats)
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("with a homeserver that does not answer, a link that ran out in the meantime is never shown", () =>
  Effect.gen(function*() {
    let down = false
    const world = yield* make({
      before: (operation) =>
        Effect.suspend(() =>
          down && operation === "send"
            ? Effect.fail(new HomeserverUnavailable({ operation, status: null }))
            : Effect.void
        )
    })
    yield* Effect.gen(function*() {
      yield* asked(world, alice)
      down = true
      yield* ask("alice")
      yield* until(
        "recorded",
        Effect.map(world.db.read(world.sql`SELECT 1 FROM sign_in`), (rows) => rows.length === 2)
      )
      yield* TestClock.adjust("6 minutes")
      down = false
      yield* TestClock.adjust("2 minutes")
      yield* until("all done", isDone(world))
      const all = yield* messages(world, alice)
      expect(all.every(({ redactedBy }) => redactedBy !== null)).toBe(true)
      expect(all.flatMap(({ content }) => Option.toArray(secretIn(content)))).toHaveLength(1)
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("[A11] whoever is deactivated between asking and using gets no session", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      const people = yield* People
      yield* people.add(Actor.Operator(), alice, "member")
      const { browserSecret, link } = yield* asked(world, alice)
      yield* people.deactivate(Actor.Operator(), alice)
      expect(yield* refusal(link, browserSecret)).toBe("over")
      expect(yield* world.db.read(world.sql`SELECT 1 FROM session`)).toStrictEqual([])
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it.scoped("an agent that a person brings into the chat is not given a link", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    yield* Effect.gen(function*() {
      yield* asked(world, alice)
      const [room] = yield* world.memory.matrix.joinedRooms(bot)
      if (room === undefined) return yield* Effect.dieMessage("no room")
      yield* world.human.join(alice, room)
      yield* world.human.invite(alice, room, writer.userId)
      yield* Effect.flatMap(Participation, (participation) => participation.look(writer.userId))
      yield* asked(world, alice)
      yield* Effect.flatMap(RoomSweep, (sweep) => sweep.room(room))
      const [event] = (yield* standing(world, alice)).slice(-1)
      const decided = yield* decisionsIn(world, room)
      expect(event === undefined ? null : decided.get(event.eventId)).toStrictEqual(["writer control"])
    }).pipe(Effect.provide(doors(world.outside)))
  }))

it("a name is read as people type it, and nothing else comes into a message", () => {
  const read = (typed: string) => Option.getOrNull(readAskedUser(typed, "cf.test"))
  for (const typed of ["alice", "@alice", "Alice", " @ALICE:CF.TEST ", "alice:cf.test"]) expect(read(typed)).toBe(alice)
  for (const typed of ["", "@", ":", "a b", "@alice:other", "alice:", "<b>", "a\nb", "@alice:cf.test:80", "älice"]) {
    expect(read(typed)).toBeNull()
  }
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (typed) => {
      const found = read(typed)
      expect(found === null || /^@[a-z0-9._=/+-]+:cf\.test$/u.test(found)).toBe(true)
    }),
    { numRuns: 300 }
  )
})
