import { expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { randomUUID } from "node:crypto"
import { AgentId, FleetId } from "../../../../src/domain/Ids.ts"
import { SessionId } from "../../../../src/domain/Session.ts"
import * as MemoryRevocations from "../../../../src/layers/crossfire/people/MemoryRevocations.ts"

it.effect("[A12] an end that is announced between listening and waiting is not missed, and only the named one ends", () =>
  Effect.gen(function*() {
    const revocations = yield* MemoryRevocations.make
    const id = randomUUID()
    const named = [
      { session: SessionId.make(id) },
      { fleet: FleetId.make(id) },
      { agent: AgentId.make(id) }
    ]
    const scope = yield* Scope.make()
    const listen = (of: (typeof named)[number]) => Scope.extend(revocations.ended(of), scope)
    const waits = yield* Effect.forEach([...named, ...named], listen)
    const over = Effect.forEach(
      waits,
      (wait) => wait.pipe(Effect.as(true), Effect.race(Effect.as(Effect.yieldNow(), false)))
    )
    expect(yield* over).toStrictEqual([false, false, false, false, false, false])
    yield* revocations.announce([{ fleet: FleetId.make(randomUUID()) }])
    yield* revocations.announce([{ fleet: FleetId.make(id) }])
    expect(yield* over).toStrictEqual([false, true, false, false, true, false])
    // Whoever comes later listens for the next credential.
    const later = yield* listen({ fleet: FleetId.make(id) })
    expect(yield* later.pipe(Effect.as(true), Effect.race(Effect.as(Effect.yieldNow(), false)))).toBe(false)
    yield* Scope.close(scope, Exit.void)
    yield* revocations.announce(named)
  }))
