// The demo's help is there before anything is installed.
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { project, run } from "../support/ProgramRun.ts"

it.live("the demo answers --help without set-up", () =>
  Effect.gen(function*() {
    const help = yield* run(join(project, "scripts/demo.mjs"), ["--once", "--help"])
    expect([help.code, help.stderr]).toStrictEqual([0, ""])
    expect(help.stdout).toContain("usage: npm run demo")
    expect(help.stdout).not.toContain("setup:")
  }), 60_000)
