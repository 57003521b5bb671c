import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { resolve } from "node:path"
import { asAlice, hashes, newClaim, scratch, start } from "./EnrollmentFixture.ts"
import { killedRoster, killedTokens, killPoints } from "./KillPoints.ts"

/** Runs it until it stands at the point, and kills it there. */
const killed = (folder: string, claim: string, point: string) =>
  Effect.scoped(Effect.gen(function*() {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [resolve("test/layers/crossfire/enrollment/KilledServer.ts"), folder, claim, point], {
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (running) => Effect.sync(() => running.kill("SIGKILL"))
    )
    const said = yield* Effect.async<string>((resume) => {
      let text = ""
      child.stdout.on("data", (data: Buffer) => {
        text += data.toString("utf8")
        if (text.includes("reached")) resume(Effect.succeed("reached"))
      })
      child.once("exit", () => resume(Effect.succeed(text)))
    })
    expect(said).toBe("reached")
    yield* Effect.async<void>((resume) => {
      child.once("exit", () => resume(Effect.void))
      child.kill("SIGKILL")
    })
  }))

for (const point of killPoints) {
  it.scopedLive(
    `[I-06] [A48] crossfire killed ${point}: nothing half, and the same requests go on to the same result`,
    () =>
      Effect.gen(function*() {
        const folder = yield* scratch
        const claim = yield* newClaim
        yield* killed(folder, claim, point)
        const crossfire = yield* start(folder)
        const { enrollment } = crossfire
        const committed = point === "after its commit"
        const agents = crossfire.rows<{ readonly agent_id: string; readonly user_id: string }>(
          "SELECT agent_id, user_id FROM agent ORDER BY instance_key"
        )
        const before = yield* agents
        expect(before).toHaveLength(committed ? 2 : 0)
        expect(yield* crossfire.rows("SELECT 1 FROM fleet")).toHaveLength(committed ? 1 : 0)
        expect(yield* crossfire.rows("SELECT 1 FROM wake_policy")).toHaveLength(committed ? 2 : 0)
        const filed = yield* enrollment.submit(claim, killedRoster)
        expect(filed.state).toBe(
          committed ? "introduced" : point === "after the submission" ? "pending" : "approved"
        )
        expect(yield* crossfire.rows("SELECT 1 FROM enrollment")).toHaveLength(1)
        if (filed.code !== null) yield* enrollment.approve(asAlice, filed.enrollmentId, filed.code)
        const given = yield* enrollment.introduce(hashes(claim, killedTokens))
        const known = given.agents.map(({ agentId, userId }) => ({ agent_id: agentId, user_id: userId }))
        if (committed) expect(known.toReversed()).toStrictEqual(before)
        expect(yield* enrollment.introduce(hashes(claim, killedTokens))).toStrictEqual(given)
        expect(yield* agents).toStrictEqual(known.toReversed())
        // Every agent has its Matrix user by now, whichever side saw to it.
        expect(yield* crossfire.rows("SELECT 1 FROM agent WHERE registered_at IS NULL")).toStrictEqual([])
        expect((yield* crossfire.credentials.fleet(killedTokens.fleet, "peer")).fleetId).toBe(given.fleetId)
      }),
    60_000
  )
}
