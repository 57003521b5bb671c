import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { RunId } from "../../../src/domain/Ids.ts"
import * as HostProcesses from "../../../src/layers/fleetd/HostProcesses.ts"
import { RunSweep } from "../../../src/services/RunSweep.ts"

it.live("a run's processes end with the sweep, those of another run stay, and the boot has an ID", () =>
  Effect.gen(function*() {
    const [swept, other] = [RunId.make(randomUUID()), RunId.make(randomUUID())]
    const start = (runId: RunId) => {
      // A shell that leaves its group, as engines' tool shells do.
      const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore", env: { FLEET_RUN: runId } })
      return { child, ended: new Promise((resolve) => child.once("exit", resolve)) }
    }
    const [one, two] = [start(swept), start(other)]
    const sweep = yield* RunSweep
    expect(yield* sweep.sweep(swept)).toStrictEqual([])
    yield* Effect.promise(() => one.ended)
    expect(one.child.signalCode).toBe("SIGKILL")
    expect(two.child.signalCode).toBeNull()
    expect(yield* sweep.sweep(other)).toStrictEqual([])
    yield* Effect.promise(() => two.ended)
    expect(yield* sweep.bootId).toMatch(/^[0-9a-f-]{36}$/u)
  }).pipe(Effect.provide(HostProcesses.layer)))
