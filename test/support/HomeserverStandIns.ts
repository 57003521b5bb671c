// What crossfire needs of a managed homeserver besides Matrix itself, in memory: its process, and its registration tokens.
import { Effect, Layer } from "effect"
import type { RegistrationGate } from "../../src/domain/Signup.ts"
import { hashOf } from "../../src/layers/crypto/Secret.ts"
import { HomeserverProcess } from "../../src/services/HomeserverProcess.ts"
import { RegistrationTokens } from "../../src/services/RegistrationTokens.ts"

export const registrationTokens: Layer.Layer<RegistrationTokens> = Layer.sync(RegistrationTokens, () => {
  const tokens = new Set<string>()
  return RegistrationTokens.of({
    make: (token) => Effect.sync(() => void tokens.add(hashOf(token))),
    states: Effect.sync(() => [...tokens].map((tokenHash) => ({ tokenHash, used: false }))),
    remove: (tokenHash) => Effect.sync(() => void tokens.delete(tokenHash))
  })
})

/** `gates` gets what was set. */
export const homeserverProcess = (serverName: string, gates: Array<RegistrationGate> = []) =>
  Layer.succeed(
    HomeserverProcess,
    HomeserverProcess.of({
      baseUrl: "http://homeserver.test",
      serverName,
      ready: Effect.void,
      pid: Effect.succeed(null),
      setRegistration: (gate) => Effect.sync(() => void gates.push(gate))
    })
  )
