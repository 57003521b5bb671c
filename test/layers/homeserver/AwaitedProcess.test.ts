import { expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import type { RegistrationGate } from "../../../src/domain/Signup.ts"
import * as AwaitedProcess from "../../../src/layers/homeserver/AwaitedProcess.ts"
import { HomeserverProcess } from "../../../src/services/HomeserverProcess.ts"

const known = { baseUrl: "http://127.0.0.1:1", serverName: "cf.test" }

const homeserver = () => {
  const gates: Array<RegistrationGate> = []
  const process = HomeserverProcess.of({
    ...known,
    ready: Effect.void,
    pid: Effect.succeed(1),
    setRegistration: (gate) =>
      Effect.sync(() => {
        gates.push(gate)
      })
  })
  return { gates, process }
}

it.scoped("[H-01] who may register is changed before the homeserver is up: told as not done yet, and done when it is up", () =>
  Effect.gen(function*() {
    const awaited = yield* AwaitedProcess.make(known)
    const { gates, process } = homeserver()
    const asked = yield* Effect.fork(Effect.either(awaited.process.setRegistration("none")))
    const later = yield* Effect.fork(Effect.either(awaited.process.setRegistration("token")))
    yield* TestClock.adjust("30 seconds")
    expect([(yield* asked.await)._tag, (yield* later)._tag]).toStrictEqual(["Success", "Left"])
    yield* awaited.started(process)
    yield* TestClock.adjust("1 seconds")
    expect(gates).toStrictEqual(["token"])
  }))
