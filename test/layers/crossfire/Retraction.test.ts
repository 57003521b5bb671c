// Taking messages back: what was sent is redacted, what waits is never sent, and what was on its way is redacted behind it.
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope, TestClock } from "effect"
import * as Retention from "../../../src/layers/crossfire/Retention.ts"
import { HomeserverUnavailable, type MatrixError } from "../../../src/services/Matrix.ts"
import { Outbound } from "../../../src/services/Outbound.ts"
import { alice, bot, make, still, until, type World } from "./World.ts"

const text = "the secret link"
const content = { msgtype: "m.text", body: text }
const down = (operation: string) => new HomeserverUnavailable({ operation, status: null })

const send = (operationId: string) =>
  Effect.flatMap(
    Outbound,
    (outbound) => outbound.enqueue({ sender: bot, to: { recipient: alice }, operationId, content })
  )
const takeBack = (operationId: string) => Effect.flatMap(Outbound, (outbound) => outbound.retract(bot, operationId))
const settled = (operationId: string) =>
  Effect.flatMap(Outbound, (outbound) => outbound.settled(bot, operationId, 600_000))

const botRooms = (world: World) => world.memory.matrix.joinedRooms(bot)
/** What stands in all of the bot's rooms: the body and whether it was taken away. */
const told = (world: World) =>
  Effect.gen(function*() {
    const events = (yield* Effect.forEach(yield* botRooms(world), world.memory.timeline)).flat()
    return events.filter(({ type }) => type === "m.room.message").map(({ content: { body }, redactedBy }) =>
      redactedBy === null ? String(body) : `redacted: ${String(body)}`
    )
  })
const redactions = (world: World) =>
  Effect.gen(function*() {
    const events = (yield* Effect.forEach(yield* botRooms(world), world.memory.timeline)).flat()
    return events.filter(({ type }) => type === "m.room.redaction").length
  })
/** Nothing in crossfire's own table names the text any more. */
const isWiped = (world: World) =>
  Effect.map(
    world.db.read(world.sql`SELECT 1 FROM outbound WHERE content LIKE ${`%${text}%`}`),
    (rows) => rows.length === 0
  )
const isDone = (world: World) =>
  Effect.map(
    world.db.read(world.sql`SELECT 1 FROM outbound WHERE state = 'waiting'`),
    (rows) => rows.length === 0
  )

it.scoped("a message that was sent is wiped here at once and redacted there, once", () =>
  Effect.gen(function*() {
    const world = yield* make()
    yield* Effect.gen(function*() {
      yield* send("one")
      const before = yield* settled("one")
      expect(yield* told(world)).toStrictEqual([text])
      yield* takeBack("one")
      expect(yield* isWiped(world)).toBe(true)
      yield* takeBack("one")
      yield* takeBack("unknown")
      yield* until("redacted", isDone(world))
      expect(yield* told(world)).toStrictEqual([`redacted: ${text}`])
      expect(yield* redactions(world)).toBe(1)
      // The operation stays what it was: asked again, nothing is sent again.
      expect(yield* send("one")).toStrictEqual(before)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("a redaction is tried until the homeserver takes it, over a restart, in the room where the message went", () =>
  Effect.gen(function*() {
    let failing = false
    let tries = 0
    const world = yield* make({
      after: (operation) =>
        Effect.suspend(() => {
          if (operation !== "redact") return Effect.void
          tries += 1
          return failing ? Effect.fail(down(operation)) : Effect.void
        })
    })
    const scope = yield* Scope.make()
    const core = yield* Layer.buildWithScope(still(world), scope)
    yield* Effect.gen(function*() {
      yield* send("one")
      yield* settled("one")
      const [first] = yield* botRooms(world)
      if (first === undefined) return yield* Effect.dieMessage("no room")
      // The person has another chat with the bot by the time of the redaction.
      yield* world.human.join(alice, first)
      yield* world.human.leave(alice, first)
      yield* send("two")
      yield* settled("two")
      failing = true
      yield* takeBack("one")
      yield* until("one try whose answer is lost", Effect.sync(() => tries === 1))
    }).pipe(Effect.provide(core))
    yield* Scope.close(scope, Exit.void)
    failing = false
    yield* Effect.gen(function*() {
      yield* until("redacted", isDone(world))
      expect((yield* told(world)).toSorted()).toStrictEqual([`redacted: ${text}`, text])
      expect(yield* botRooms(world)).toHaveLength(2)
      expect(yield* redactions(world)).toBe(1)
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("a message that waits behind another one is never sent", () =>
  Effect.gen(function*() {
    const gate = yield* Deferred.make<void>()
    const world = yield* make({ before: (operation) => operation === "send" ? Deferred.await(gate) : Effect.void })
    yield* Effect.gen(function*() {
      yield* send("one")
      yield* send("two")
      yield* takeBack("two")
      expect((yield* settled("two"))._tag).toBe("Refused")
      yield* Deferred.succeed(gate, undefined)
      yield* until("all done", isDone(world))
      expect(yield* told(world)).toStrictEqual([text])
    }).pipe(Effect.provide(still(world)))
  }))

for (const arrives of [true, false]) {
  for (const restart of [true, false]) {
    const how = `${arrives ? "arrived" : "did not arrive"}${restart ? ", over a restart" : ""}`
    it.scoped(`a message on its way is redacted behind it: the first try ${how}`, () =>
      Effect.gen(function*() {
        let failing = true
        let tries = 0
        const fail = (operation: string): Effect.Effect<void, MatrixError> =>
          Effect.suspend(() => {
            if (operation !== "send") return Effect.void
            tries += 1
            return failing ? Effect.fail(down(operation)) : Effect.void
          })
        const world = yield* make(arrives ? { after: fail } : { before: fail })
        const scope = yield* Scope.make()
        const core = yield* Layer.buildWithScope(still(world), scope)
        yield* Effect.provide(send("one"), core)
        yield* until("one try", Effect.sync(() => tries === 1))
        yield* Effect.provide(takeBack("one"), core)
        expect(yield* isWiped(world)).toBe(true)
        failing = false
        const finish = Effect.gen(function*() {
          yield* TestClock.adjust("1 minute")
          yield* until("all done", isDone(world))
          expect(yield* told(world)).toStrictEqual([arrives ? `redacted: ${text}` : "redacted: (taken back)"])
        })
        if (restart) {
          yield* Scope.close(scope, Exit.void)
          yield* Effect.provide(finish, still(world))
        } else {
          yield* finish
          yield* Scope.close(scope, Exit.void)
        }
      }))
  }
}

it.scoped("taken back while the request runs: what it brings is redacted", () =>
  Effect.gen(function*() {
    const gate = yield* Deferred.make<void>()
    let began = false
    const world = yield* make({
      before: (operation) =>
        operation === "send"
          ? Effect.suspend(() => {
            began = true
            return Deferred.await(gate)
          })
          : Effect.void
    })
    yield* Effect.gen(function*() {
      yield* send("one")
      yield* until("under way", Effect.sync(() => began))
      yield* takeBack("one")
      expect(yield* isWiped(world)).toBe(true)
      yield* Deferred.succeed(gate, undefined)
      yield* until("all done", isDone(world))
      expect(yield* told(world)).toStrictEqual([`redacted: ${text}`])
    }).pipe(Effect.provide(still(world)))
  }))

it.scoped("where the bot was removed the redaction is refused, and nothing waits for ever; old rows go", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const core = Retention.layer.pipe(Layer.provideMerge(still(world)))
    yield* Effect.gen(function*() {
      yield* send("one")
      yield* settled("one")
      const [room] = yield* botRooms(world)
      if (room === undefined) return yield* Effect.dieMessage("no room")
      yield* world.memory.matrix.leave(bot, room)
      yield* takeBack("one")
      yield* until("settled", isDone(world))
      expect(yield* world.db.read(world.sql`SELECT state, refusal FROM outbound ORDER BY sequence`)).toStrictEqual([
        { state: "sent", refusal: null },
        { state: "refused", refusal: "M_FORBIDDEN" }
      ])
      yield* TestClock.adjust("31 days")
      yield* until(
        "old rows are removed",
        Effect.map(world.db.read(world.sql`SELECT 1 FROM outbound`), (rows) => rows.length === 0)
      )
    }).pipe(Effect.provide(core))
  }))
