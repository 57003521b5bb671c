// A homeserver of one's own without the account-status endpoint: what is told of accounts then, and what cannot be.
import { expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { UserId } from "../../../src/domain/Ids.ts"
import { prepare, start } from "../../../src/layers/homeserver/ManagedSynapse.ts"
import * as SynapseMatrix from "../../../src/layers/matrix/SynapseMatrix.ts"
import * as TestSynapse from "../homeserver/TestSynapse.ts"

const user = (localpart: string) => UserId.make(`@${localpart}:${TestSynapse.serverName}`)

it.scopedLive(
  "without the endpoint the profile tells who is there, of deactivated accounts the erased alone, and that is said once",
  () =>
    Effect.gen(function*() {
      const warnings: Array<string> = []
      const logger = Logger.make(({ message }) => void warnings.push(String(message)))
      const plain = TestSynapse.testConfig(yield* TestSynapse.temporaryFolder, TestSynapse.nowhere)
      const prepared = yield* prepare({ ...plain, settings: { ...plain.settings, experimental_features: {} } })
      yield* start(prepared)
      const people = yield* TestSynapse.peopleOf(prepared)
      const matrix = yield* SynapseMatrix.make(prepared.access)
      for (const name of ["alice", "kept", "erased"]) yield* people.register(user(name))
      yield* people.deactivate(user("kept"), false)
      yield* people.deactivate(user("erased"), true)
      yield* Effect.gen(function*() {
        for (
          const [name, state] of [["alice", "stands"], ["erased", "unknown"], ["nobody", "unknown"], ["kept", "stands"]]
        ) {
          expect([name, yield* matrix.accountState(user(String(name)))]).toStrictEqual([name, state])
        }
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      expect(warnings.filter((text) => text.includes("msc3720_enabled"))).toHaveLength(1)
    }),
  60_000
)
