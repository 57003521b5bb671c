import { expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, TestClock } from "effect"
import * as AgentAccounts from "../../../../src/layers/crossfire/enrollment/AgentAccounts.ts"
import { CrossfireDb } from "../../../../src/services/Database.ts"
import { HomeserverUnavailable, Matrix } from "../../../../src/services/Matrix.ts"
import { approved, entry, roster, scratch, start } from "./EnrollmentFixture.ts"

it.scoped("users that an introduction could not make are made at the next start, without anybody asking again", () =>
  Effect.gen(function*() {
    const folder = yield* scratch
    const down = new HomeserverUnavailable({ operation: "register", status: null })
    const crossfire = yield* start(folder, { onUser: Effect.fail(down) })
    const { request } = yield* approved(crossfire, roster([entry("w", "writer"), entry("c", "critic")]))
    expect(Exit.isFailure(yield* Effect.exit(crossfire.enrollment.introduce(request)))).toBe(true)
    // Each was tried: the first failure held up no other.
    expect(crossfire.users).toHaveLength(2)
    const missing = Effect.map(crossfire.rows("SELECT 1 FROM agent WHERE registered_at IS NULL"), (rows) => rows.length)
    expect(yield* missing).toBe(2)

    let tries = 0
    const made: Array<string> = []
    const matrix = Layer.mock(Matrix, {
      serverName: "test",
      ensureUser: (_, displayName) =>
        Effect.suspend(() => {
          tries += 1
          if (tries <= 2) return Effect.fail(down)
          made.push(displayName)
          return Effect.void
        })
    })
    const database = Layer.succeed(CrossfireDb, crossfire.database)
    yield* Layer.build(AgentAccounts.layer.pipe(Layer.provide(Layer.merge(matrix, database))))
    yield* TestClock.adjust("1 seconds")
    expect(yield* missing).toBe(0)
    expect(made.toSorted()).toStrictEqual(["critic (alice)", "writer (alice)"])
    yield* TestClock.adjust("1 hours")
    expect(tries).toBe(4)
  }))
