import { expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Redacted, Scope, Stream, TestClock } from "effect"
import type { SecretHash } from "../../../src/domain/api/Crossfire.ts"
import { StaleGeneration } from "../../../src/domain/api/CrossfireErrors.ts"
import { type AgentId, Generation, Incarnation } from "../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import { hashOf } from "../../../src/layers/crypto/Secret.ts"
import * as LeasedRotation from "../../../src/layers/fleetd/LeasedRotation.ts"
import * as MemorySignals from "../../../src/layers/fleetd/MemorySignals.ts"
import * as SqliteOutbox from "../../../src/layers/fleetd/sqlite/SqliteOutbox.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { CredentialRotation } from "../../../src/services/CredentialRotation.ts"
import { CredentialRefused, CrossfireUnavailable, RotationRefused } from "../../../src/services/CrossfireClient.ts"
import { StoreFailed } from "../../../src/services/Database.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { Lease, type LeaseState } from "../../../src/services/Lease.ts"
import * as FakeClient from "../../support/FakeClient.ts"
import { editor, registryIn, reporter, scratchFolder, smallFleet } from "../../support/FleetFile.ts"

const held: LeaseState = {
  _tag: "Held",
  stamp: { generation: Generation.make(1), incarnation: Incarnation.make("00000000-0000-4000-8000-0000000000aa") }
}
const standing = Generation.make(1)
const notHeld: LeaseState = { _tag: "NotHeld", reason: "not connected yet" }

/** crossfire's half: the hashes that it holds, and what goes wrong on the way. `asked` counts requests that arrived. */
const crossfire = (registry: Effect.Effect<Redacted.Redacted>) => {
  const state = {
    fleetHash: hashOf(Redacted.make("token-of-fleet")) as SecretHash | null,
    agents: new Map<AgentId, SecretHash>(),
    fault: "none" as "none" | "lost-request" | "lost-answer" | "refused",
    asked: 0
  }
  const unavailable = new CrossfireUnavailable({ operation: "replace the credentials", reason: "no answer" })
  const layer = FakeClient.layer({
    rotateCredentials: (stamp, under, tokens) =>
      Effect.gen(function*() {
        if (state.fault === "lost-request") return yield* unavailable
        state.asked++
        const shown = hashOf(under ?? (yield* registry))
        if (shown !== state.fleetHash) return yield* new CredentialRefused({ operation: "replace the credentials" })
        if (stamp.generation === 0) return yield* new StaleGeneration({ given: stamp.generation, current: standing })
        if (state.fault === "refused") return yield* new RotationRefused({ reason: "one of them was revoked" })
        state.fleetHash = tokens.fleetToken
        for (const [agentId, hash] of tokens.agentTokens) state.agents.set(agentId, hash)
        if (state.fault === "lost-answer") return yield* unavailable
        return tokens.agentTokens.size
      })
  })
  return { state, layer }
}

/** One root over several lives of its daemon. */
const root = Effect.gen(function*() {
  const folder = yield* scratchFolder
  const stores = Layer.mergeAll(SqliteRegistry.layer, SqliteOutbox.layer).pipe(Layer.provideMerge(registryIn(folder)))
  const inRegistry = <A, E>(effect: Effect.Effect<A, E, FleetRegistry>) => Effect.provide(effect, stores)
  yield* inRegistry(Effect.flatMap(FleetRegistry, (registry) => registry.introduce(smallFleet())))
  let current: Effect.Effect<Redacted.Redacted> = Effect.dieMessage("no life")
  const server = crossfire(Effect.suspend(() => current))
  const disk = { full: false }
  const onDisk = Layer.effect(
    FleetRegistry,
    Effect.map(FleetRegistry, (registry) =>
      FleetRegistry.of({
        ...registry,
        promoteCredentials: Effect.suspend(() =>
          disk.full
            ? Effect.fail(new StoreFailed({ database: "fleetd", reason: "full" }))
            : registry.promoteCredentials
        )
      }))
  ).pipe(Layer.provideMerge(stores))
  const start = (lease: LeaseState) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const layer = LeasedRotation.layer.pipe(
        Layer.provideMerge(onDisk),
        Layer.provideMerge(MemorySignals.layer),
        Layer.provide(Layer.mock(Lease, { state: Effect.succeed(lease), changes: Stream.make(lease) })),
        Layer.provide(server.layer)
      )
      const context = yield* Layer.buildWithScope(layer, scope)
      const registry = yield* Effect.provide(FleetRegistry, context)
      current = Effect.orDie(registry.fleetToken)
      const rotate = Effect.provide(Effect.flatMap(CredentialRotation, (rotation) => rotation.rotate), context)
      return { registry, rotate, stop: Scope.close(scope, Exit.void) }
    })
  /** Both sides name the same credentials. */
  const agreed = (registry: FleetRegistry["Type"]) =>
    Effect.gen(function*() {
      expect(hashOf(yield* registry.fleetToken)).toBe(server.state.fleetHash)
      expect(Redacted.value(yield* registry.fleetToken)).toMatch(/^cff_[A-Za-z0-9_-]{43}$/u)
      expect(hashOf(yield* registry.agentToken(editor))).toBe(server.state.agents.get(editor))
      expect(Option.isNone(yield* registry.pendingCredentials)).toBe(true)
    })
  return { start, server: server.state, agreed, disk }
})

/** Lets the daemon read its file, which takes real time, between steps of the test's clock. */
const pass = Effect.forEach(
  Array.from({ length: 20 }),
  () => Effect.zipRight(TestClock.adjust("1 seconds"), Effect.promise(() => new Promise((done) => setImmediate(done)))),
  { discard: true }
)

it.scoped("[A12] the fleet and every agent that is not retired get new credentials", () =>
  Effect.gen(function*() {
    const { agreed, server, start } = yield* root
    const { registry, rotate, stop } = yield* start(held)
    yield* registry.setStanding(reporter, { name: RegisteredName.make("reporter"), standing: "retired" })
    yield* registry.setCredentialRefused(editor, yield* registry.agentToken(editor))
    expect(yield* rotate).toBe(1)
    yield* agreed(registry)
    expect([...server.agents.keys()]).toStrictEqual([editor])
    expect(Redacted.value(yield* registry.agentToken(reporter))).toBe("token-of-reporter")
    expect((yield* registry.agent(editor)).credentialRefused).toBe(false)
    const first = server.fleetHash
    expect(yield* rotate).toBe(1)
    expect(server.fleetHash).not.toBe(first)
    yield* agreed(registry)
    yield* stop
  }))

for (const fault of ["lost-request", "lost-answer"] as const) {
  it.scoped(`[A12] a daemon that dies over a rotation (${fault}) finds out at its next start which ones are good`, () =>
    Effect.gen(function*() {
      const { agreed, server, start } = yield* root
      const first = yield* start(held)
      server.fault = fault
      expect(yield* Effect.flip(first.rotate)).toMatchObject({ _tag: "RotationFailed", problem: "unfinished" })
      expect(Option.isSome(yield* first.registry.pendingCredentials)).toBe(true)
      expect(Redacted.value(yield* first.registry.fleetToken)).toBe("token-of-fleet")
      yield* first.stop
      server.fault = "none"
      const second = yield* start(held)
      yield* pass
      yield* agreed(second.registry)
      yield* second.stop
    }))

  it.scoped(`[A12] the next rotate finishes the one before (${fault})`, () =>
    Effect.gen(function*() {
      const { agreed, server, start } = yield* root
      const { registry, rotate, stop } = yield* start(held)
      server.fault = fault
      yield* Effect.flip(rotate)
      const pending = Option.getOrThrow(yield* registry.pendingCredentials)
      server.fault = "none"
      expect(yield* rotate).toBe(2)
      yield* agreed(registry)
      expect(server.fleetHash).toBe(hashOf(pending.fleetToken))
      yield* stop
    }))
}

it.scoped("[A12] saved and never asked for: without a lease nothing is changed, with one it goes on", () =>
  Effect.gen(function*() {
    const { agreed, server, start } = yield* root
    const first = yield* start(notHeld)
    expect(yield* Effect.flip(first.rotate)).toMatchObject({ problem: "not-held" })
    expect(server.asked).toBe(0)
    yield* first.registry.prepareCredentials({
      fleetToken: Redacted.make(`cff_${"n".repeat(43)}`),
      agentTokens: new Map([[editor, Redacted.make(`cfa_${"n".repeat(43)}`)]])
    })
    yield* first.stop
    const second = yield* start(notHeld)
    yield* pass
    expect(server.fleetHash).toBe(hashOf(Redacted.make("token-of-fleet")))
    yield* second.stop
    const third = yield* start(held)
    yield* pass
    yield* agreed(third.registry)
    yield* third.stop
  }))

it.scoped("[A12] taken before the crash: the lease cannot be had under the former one, and is not needed to find out", () =>
  Effect.gen(function*() {
    const { agreed, server, start } = yield* root
    const first = yield* start(held)
    server.fault = "lost-answer"
    yield* Effect.flip(first.rotate)
    yield* first.stop
    server.fault = "none"
    const second = yield* start(notHeld)
    yield* pass
    yield* agreed(second.registry)
    yield* second.stop
  }))

it.scoped("[A12] what crossfire refuses changes nothing, and a revoked fleet is told what to do", () =>
  Effect.gen(function*() {
    const { server, start } = yield* root
    const { registry, rotate, stop } = yield* start(held)
    server.fault = "refused"
    expect(yield* Effect.flip(rotate)).toMatchObject({ problem: "refused", reason: "one of them was revoked" })
    server.fleetHash = null
    const revoked = yield* Effect.flip(rotate)
    expect(revoked).toMatchObject({ problem: "credential-refused" })
    expect(revoked.message).toContain("--again --new-credentials")
    expect(Option.isNone(yield* registry.pendingCredentials)).toBe(true)
    expect(Redacted.value(yield* registry.fleetToken)).toBe("token-of-fleet")
    yield* stop
  }))

it.scoped("[A12] revoked over an unfinished rotation: the lease cannot be had, the rotation is over, and it is said what to do", () =>
  Effect.gen(function*() {
    const { server, start } = yield* root
    const first = yield* start(held)
    server.fault = "lost-answer"
    yield* Effect.flip(first.rotate)
    yield* first.stop
    server.fault = "none"
    server.fleetHash = null
    const second = yield* start(notHeld)
    yield* pass
    expect(Option.isNone(yield* second.registry.pendingCredentials)).toBe(true)
    yield* second.stop
  }))

it.scoped("[A12] [O-02] taken by crossfire and not kept for a full disk: it goes on by itself once there is space", () =>
  Effect.gen(function*() {
    const { agreed, disk, start } = yield* root
    const { registry, rotate, stop } = yield* start(held)
    yield* pass
    disk.full = true
    expect(yield* Effect.flip(rotate)).toMatchObject({ _tag: "RotationFailed", problem: "unfinished" })
    yield* pass
    disk.full = false
    yield* pass
    yield* agreed(registry)
    yield* stop
  }))
