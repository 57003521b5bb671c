import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Ref, Scope } from "effect"
import { coalesced } from "../../../src/layers/matrix/Boundary.ts"

/** A source whose requests end when the test says so. */
const source = Effect.gen(function*() {
  const begun = yield* Queue.unbounded<Deferred.Deferred<number>>()
  const count = yield* Ref.make(0)
  const take = Effect.gen(function*() {
    yield* Ref.update(count, (n) => n + 1)
    const answer = yield* Deferred.make<number>()
    yield* Queue.offer(begun, answer)
    return yield* Deferred.await(answer)
  })
  return { begun, count, take }
})

it.scoped("callers during a request share the next one, and nobody gets a token taken before their call", () =>
  Effect.gen(function*() {
    const { begun, count, take } = yield* source
    const boundary = yield* coalesced(take)
    const first = yield* Effect.fork(boundary)
    const running = yield* Queue.take(begun)
    const later = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.fork(boundary))
    for (let at = 0; at < 5; at++) yield* Effect.yieldNow()
    yield* Deferred.succeed(running, 1)
    expect(yield* Fiber.join(first)).toBe(1)
    yield* Deferred.succeed(yield* Queue.take(begun), 2)
    for (const fiber of later) expect(yield* Fiber.join(fiber)).toBe(2)
    expect(yield* Ref.get(count)).toBe(2)
  }))

it.scoped("an interrupted caller takes nobody else's answer away, and a failed request fails its callers alone", () =>
  Effect.gen(function*() {
    const { begun, take } = yield* source
    const fail = yield* Ref.make(false)
    const boundary = yield* coalesced(
      Effect.flatMap(Ref.get(fail), (now) => now ? Effect.fail("down" as const) : take)
    )
    const leaver = yield* Effect.fork(boundary)
    const running = yield* Queue.take(begun)
    const stayer = yield* Effect.fork(boundary)
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(leaver)
    yield* Deferred.succeed(running, 1)
    yield* Deferred.succeed(yield* Queue.take(begun), 2)
    expect(yield* Fiber.join(stayer)).toBe(2)
    yield* Ref.set(fail, true)
    expect(yield* Effect.flip(boundary)).toBe("down")
    yield* Ref.set(fail, false)
    const again = yield* Effect.fork(boundary)
    yield* Deferred.succeed(yield* Queue.take(begun), 3)
    expect(yield* Fiber.join(again)).toBe(3)
  }))

it.effect("the end of the scope ends what runs and lets nobody wait for ever", () =>
  Effect.gen(function*() {
    const { begun, take } = yield* source
    const scope = yield* Scope.make()
    const boundary = yield* Scope.extend(coalesced(take), scope)
    const waiting = yield* Effect.fork(boundary)
    yield* Effect.asVoid(Queue.take(begun))
    const next = yield* Effect.fork(boundary)
    yield* Effect.yieldNow()
    yield* Scope.close(scope, Exit.void)
    expect(Exit.isInterrupted(yield* Fiber.await(waiting))).toBe(true)
    expect(Exit.isInterrupted(yield* Fiber.await(next))).toBe(true)
    expect(Exit.isInterrupted(yield* Effect.exit(boundary))).toBe(true)
  }))
