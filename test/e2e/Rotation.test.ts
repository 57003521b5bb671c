// Credentials that are replaced while agents work, and while fleetd is killed over it, on real parts.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Fiber, Schedule } from "effect"
import { join } from "node:path"
import { follow } from "../../src/programs/demo/Journey.ts"
import * as Stage from "../../src/programs/demo/Stage.ts"
import { fleet, stageFolder, statusOf } from "./SharedStage.ts"

const quiet = () => Effect.void
const until = <A, E, R>(look: Effect.Effect<A, E, R>, fits: (found: A) => boolean) =>
  look.pipe(
    Effect.repeat({ until: fits, schedule: Schedule.spaced("100 millis") }),
    Effect.timeoutFail({ duration: "60 seconds", onTimeout: () => "it did not come to that in time" as const })
  )

const column = (root: string, query: string): ReadonlyArray<string> => {
  const database = new Sqlite(join(root, "fleetd.sqlite"), { readonly: true, timeout: 5_000 })
  try {
    return database.prepare<[], string>(query).pluck().all()
  } finally {
    database.close()
  }
}
/** The fleet's credential first, then its agents'. */
const tokensIn = (root: string) => column(root, "SELECT token FROM fleet UNION ALL SELECT token FROM agent")
const pendingIn = (root: string) =>
  Effect.sync(() => column(root, "SELECT pending_token FROM fleet WHERE pending_token IS NOT NULL").length > 0)

/** What a credential is answered that asks without a lease: 401 where it is good for nothing. */
const statusFor = (address: string, token: string) =>
  Effect.promise(() =>
    fetch(`${address}/v1/${token.startsWith("cff_") ? "fleet/boundary" : "agent/page"}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: "{}"
    }).then(({ status }) => status)
  )

const expectGood = (address: string, root: string, before: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const now = tokensIn(root)
    expect(now.filter((token) => before.includes(token))).toHaveLength(0)
    for (const token of before) expect(yield* statusFor(address, token)).toBe(401)
    for (const token of now) expect(yield* statusFor(address, token)).not.toBe(401)
  })

it.scopedLive(
  "[A12] credentials are replaced under a running turn and over kill -9 of fleetd; a claim brings none of them back",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const stage = yield* Stage.make({ folder, models: null, thinkMillis: 800, say: quiet })
      const { address, root } = stage
      const rotate = fleet("credentials", "rotate", "--root", root, "--json")
      const states = Effect.map(statusOf(root), ({ agents }) => agents.map(({ session }) => session.state))
      const held = Effect.map(statusOf(root), ({ lease }) => lease.state === "held")

      const before = tokensIn(root)
      const journey = yield* Effect.fork(follow(stage, "work while credentials change", quiet))
      yield* until(states, (found) => found.includes("working"))
      const working = (yield* statusOf(root)).lease
      const rotated = yield* rotate
      expect([rotated.code, rotated.stderr]).toStrictEqual([0, ""])
      yield* expectGood(address, root, before)
      const answered = (yield* Fiber.join(journey)).steps.filter(({ name }) => name === "answered")
      expect(answered.map(({ agent }) => agent).toSorted()).toStrictEqual(["scout", "scribe"])
      // The same lease, the same life of the daemon, and a level stream that was opened anew.
      expect((yield* statusOf(root)).lease).toStrictEqual(working)

      let { fleetd } = stage
      for (const afterMillis of [0, 8, 16]) {
        const former = tokensIn(root)
        const asking = yield* Effect.fork(rotate)
        // Between saving and promoting: before crossfire was asked, or after it has taken them.
        yield* pendingIn(root).pipe(
          Effect.repeat({ until: (so) => so, schedule: Schedule.spaced("1 millis") }),
          Effect.timeout("30 seconds")
        )
        yield* Effect.sleep(afterMillis)
        yield* fleetd.kill
        yield* Fiber.join(asking)
        fleetd = yield* stage.startFleetd
        yield* until(Effect.zip(held, pendingIn(root)), ([so, pending]) => so && !pending)
        yield* expectGood(address, root, former)
      }

      const last = tokensIn(root)
      yield* fleetd.stop
      const enrolled = yield* fleet("enroll", join(folder, "roster.toml"), "--root", root, "--json")
      expect([enrolled.code, enrolled.stderr.includes("Introducing")]).toStrictEqual([0, true])
      expect(tokensIn(root)).toStrictEqual(last)
      yield* stage.startFleetd
      yield* follow(stage, "after all of it", quiet)
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)),
  360_000
)
