// A program that runs a managed homeserver until it is killed: prints the homeserver's process ID once it answers.
import { Effect } from "effect"
import { prepare, start } from "../../../src/layers/homeserver/ManagedSynapse.ts"
import { testConfig } from "./TestSynapse.ts"

const [, , folder = ""] = process.argv

const program = Effect.gen(function*() {
  const homeserver = yield* start(yield* prepare(testConfig(folder, "http://127.0.0.1:9")))
  const pid = yield* homeserver.pid
  yield* Effect.sync(() => process.stdout.write(`${pid}\n`))
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(program))
