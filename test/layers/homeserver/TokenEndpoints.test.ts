import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { layerElsewhere } from "../../../src/layers/homeserver/SynapseRegistrationTokens.ts"
import { addressOf } from "../../../src/layers/homeserver/TokenEndpoints.ts"
import { RegistrationTokens } from "../../../src/services/RegistrationTokens.ts"

const base = "http://127.0.0.1:8008"
const prefix = `${base}/_synapse/admin/v1/registration_tokens`

it.effect("the registrar's token goes to the endpoints of registration tokens, whatever name is asked for", () =>
  Effect.gen(function*() {
    expect((yield* addressOf(base, null)).href).toBe(prefix)
    expect((yield* addressOf(base, "new")).href).toBe(`${prefix}/new`)
    for (
      const name of ["a/../../users", "../users", "a\\..\\b", "a?x=1", "a#b", "a.b~c", "%2e%2e", "é\ud800", "...", " "]
    ) {
      const { hash, href, search } = yield* addressOf(base, name)
      expect(href.startsWith(`${prefix}/`)).toBe(true)
      expect([search, hash, href.slice(prefix.length + 1).includes("/")]).toStrictEqual(["", "", false])
    }
    for (const name of ["", ".", ".."]) {
      expect(yield* Effect.flip(addressOf(base, name))).toMatchObject({ _tag: "AddressRefused" })
    }
  }))

it.effect("a homeserver of your own gives its tokens itself, and crossfire says so", () =>
  Effect.gen(function*() {
    const tokens = yield* RegistrationTokens
    expect((yield* Effect.flip(tokens.states)).message).toContain("get their accounts there")
  }).pipe(Effect.provide(layerElsewhere)))
