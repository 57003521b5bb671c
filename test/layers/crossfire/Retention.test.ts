import { expect, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import * as Retention from "../../../src/layers/crossfire/Retention.ts"
import { make, still, until } from "./World.ts"

const day = 24 * 60 * 60 * 1000

it.scoped("requests that came to nothing are forgotten 30 days after their time; open ones and introduced ones stay", () =>
  Effect.gen(function*() {
    const world = yield* make()
    for (
      const [state, days] of [["pending", 1], ["rejected", 1], ["approved", 1], ["introduced", 1], ["pending", 32], [
        "rejected",
        32
      ]] as const
    ) {
      const id = `${state} ${days}`
      yield* world.db.transaction(world.sql`INSERT INTO enrollment ${
        world.sql.insert({
          enrollment_id: id,
          claim_hash: id,
          owner: "@alice:cf.test",
          fleet_key: "street",
          roster: "{}",
          code: id,
          state,
          created_at: 0,
          expires_at: days * day
        })
      }`)
    }
    const left = Effect.map(
      world.db.read(world.sql<{ readonly id: string }>`SELECT enrollment_id AS id FROM enrollment ORDER BY rowid`),
      (rows) => rows.map(({ id }) => id)
    )
    yield* Layer.build(Retention.layer.pipe(Layer.provide(still(world))))
    yield* TestClock.adjust(30 * day)
    expect(yield* left).toHaveLength(6)
    yield* TestClock.adjust(2 * day)
    yield* until("forgotten", Effect.map(left, ({ length }) => length < 6))
    expect(yield* left).toStrictEqual(["introduced 1", "pending 32", "rejected 32"])
  }))
