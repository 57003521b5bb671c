import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Option, Redacted } from "effect"
import { existsSync, readFileSync } from "node:fs"
import * as PersonAccount from "../../../../src/layers/crossfire/people/PersonAccount.ts"
import { AccountExists, PersonAccounts } from "../../../../src/services/PersonAccounts.ts"
import { scratchFolder } from "../../../support/FleetFile.ts"

it.scopedLive("[H-02] two that add the same person at once leave the account with the password in the file", () =>
  Effect.gen(function*() {
    const data = yield* scratchFolder
    const made = yield* Deferred.make<string>()
    let asked = 0
    const accounts = PersonAccounts.of({
      create: (localpart, password) =>
        Effect.gen(function*() {
          // The first request is the slower one, as long as there is another.
          if (asked++ === 0) yield* Effect.timeoutOption(Deferred.await(made), "200 millis")
          const isFirst = yield* Deferred.succeed(made, Redacted.value(password))
          if (!isFirst) return yield* new AccountExists({ localpart })
        })
    })
    const { ensure } = yield* PersonAccount.make({ data, accounts })
    const each = yield* Effect.all([ensure("carol", Option.none()), ensure("carol", Option.none())], {
      concurrency: "unbounded"
    })
    const path = PersonAccount.passwordPath(data, "carol")
    expect(existsSync(path)).toBe(true)
    expect(readFileSync(path, "utf8").trim()).toBe(yield* Deferred.await(made))
    expect(each.map(({ account }) => account).toSorted()).toStrictEqual(["existing", "made"])
    expect(each.map(({ passwordFile }) => passwordFile)).toStrictEqual([path, path])
  }))
