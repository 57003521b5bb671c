// The two programs of a simulated fleet over what outlives them: homeserver, databases, histories, host. Each has lives:
// a kill ends one at any point, with nothing of it written afterwards; a start begins the next over the same state.
import { Deferred, Effect, Exit, Layer, Option, Redacted, Ref, Scope } from "effect"
import { AgentId, FleetId, UserId } from "../../src/domain/Ids.ts"
import { defaultMaxInputBytes } from "../../src/domain/InputText.ts"
import { FleetKey, InstanceKey, nameSkeleton, RegisteredName } from "../../src/domain/Roster.ts"
import { botUser } from "../../src/domain/SystemUsers.ts"
import { coreLayer } from "../../src/layers/crossfire/CoreLayer.ts"
import * as FleetCore from "../../src/layers/fleetd/FleetCore.ts"
import { defaultLimits } from "../../src/layers/fleetd/ReceiverLimits.ts"
import { claimRoot } from "../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import type { PushedEvent } from "../../src/layers/matrix/ApplicationServicePush.ts"
import type { MemoryMatrix } from "../../src/layers/matrix/MemoryMatrix.ts"
import type { MemoryEngines } from "../../src/layers/memory/MemoryEngine.ts"
import { Announcements } from "../../src/services/Announcements.ts"
import { Controller } from "../../src/services/Controller.ts"
import { CrossfireDb, type Database, FleetDb } from "../../src/services/Database.ts"
import { FleetOutbox, type OutgoingMessage } from "../../src/services/FleetOutbox.ts"
import { FleetRegistry } from "../../src/services/FleetRegistry.ts"
import { Matrix } from "../../src/services/Matrix.ts"
import { Signals } from "../../src/services/Signals.ts"
import { announcementOf } from "../layers/crossfire/World.ts"
import * as MemoryHost from "../support/MemoryHost.ts"
import * as DirectClient from "./DirectClient.ts"

export const serverName = "sim.test"
export const alice = UserId.make(`@alice:${serverName}`)
const fleetId = FleetId.make("00000000-0000-4000-8000-00000000f1ee")
const rootId = "00000000-0000-4000-8000-000000000007"

export interface SimulatedAgent {
  readonly agentId: AgentId
  readonly userId: UserId
  readonly name: string
  readonly engine: "codex" | "pi"
}

export const agents: ReadonlyArray<SimulatedAgent> = (["codex", "pi"] as const).map((engine, index) => ({
  agentId: AgentId.make(`00000000-0000-4000-8000-00000000000${index + 1}`),
  userId: UserId.make(`@cf-${engine}:${serverName}`),
  name: `agent-${engine}`,
  engine
}))

interface CrossfireLife extends DirectClient.Life {
  readonly push: (events: ReadonlyArray<PushedEvent>) => Effect.Effect<boolean>
  readonly kill: Effect.Effect<void>
}

interface FleetdLife {
  readonly kill: Effect.Effect<void>
  readonly startHeld: Effect.Effect<void>
}

/** A database that a killed life can no longer use: what it had begun is rolled back, what it asks for later dies. */
const mortal = (database: Database, alive: () => boolean): Database => {
  const check = Effect.suspend(() => alive() ? Effect.void : Effect.dieMessage("this life is over"))
  return {
    name: database.name,
    sql: database.sql,
    read: (body) => Effect.zipRight(check, database.read(body)),
    transaction: (body) => Effect.zipRight(check, database.transaction(Effect.zipLeft(body, check)))
  }
}

export const make = (world: {
  readonly memory: MemoryMatrix
  readonly crossfireDb: Database
  readonly fleetDb: Database
  readonly engines: MemoryEngines
  readonly machine: MemoryHost.MemoryHost
  readonly faults: DirectClient.NetworkFaults
}) =>
  Effect.gen(function*() {
    const crossfire = yield* Ref.make(Option.none<CrossfireLife>())
    const fleetd = yield* Ref.make(Option.none<FleetdLife>())
    /** The room tool of whatever daemon lives: stores the message, then it is sent. */
    const tool = yield* Ref.make(Option.none<(agentId: AgentId, message: OutgoingMessage) => Effect.Effect<boolean>>())

    /** Ends a life without waiting for it: its fibers are interrupted, its writes already die. */
    const killed = (scope: Scope.CloseableScope, ended: Deferred.Deferred<void>) =>
      Effect.gen(function*() {
        yield* Deferred.succeed(ended, undefined)
        yield* Effect.forkDaemon(Effect.exit(Scope.close(scope, Exit.void)))
      })

    const startCrossfire = Effect.gen(function*() {
      if (Option.isSome(yield* Ref.get(crossfire))) return
      let alive = true
      const scope = yield* Scope.make()
      const ended = yield* Deferred.make<void>()
      const outside = Layer.mergeAll(
        Layer.succeed(Matrix, world.memory.matrix),
        Layer.succeed(CrossfireDb, mortal(world.crossfireDb, () => alive))
      )
      const built = yield* Effect.exit(
        Layer.buildWithScope(coreLayer.pipe(Layer.provideMerge(outside)), scope)
      )
      if (Exit.isFailure(built)) return yield* Effect.exit(Scope.close(scope, Exit.void))
      yield* Ref.set(
        crossfire,
        Option.some({
          run: (effect) => Effect.provide(effect, built.value),
          ended: Deferred.await(ended),
          over: () => !alive,
          push: (events: ReadonlyArray<PushedEvent>) =>
            Effect.provide(
              Effect.flatMap(Announcements, (announcements) => announcements.accept(events.map(announcementOf))),
              built.value
            ).pipe(Effect.exit, Effect.map(Exit.isSuccess)),
          kill: Effect.suspend(() => {
            alive = false
            return Effect.zipRight(Ref.set(crossfire, Option.none()), killed(scope, ended))
          })
        })
      )
    })

    const startFleetd = Effect.gen(function*() {
      if (Option.isSome(yield* Ref.get(fleetd))) return
      let alive = true
      const scope = yield* Scope.make()
      const ended = yield* Deferred.make<void>()
      const registry = FleetCore.stores.pipe(
        Layer.provideMerge(Layer.succeed(FleetDb, mortal(world.fleetDb, () => alive)))
      )
      const faults = {
        ...world.faults,
        plan: Effect.suspend(() => alive ? world.faults.plan : Effect.succeed("lost-request" as const))
      }
      const given = Layer.mergeAll(
        registry,
        DirectClient.make(crossfire, fleetId, alice, faults),
        MemoryHost.layer(world.machine, world.engines).pipe(Layer.provide(registry))
      )
      const core = FleetCore.layer({
        supervisor: {
          homeOf: (agent) => `/home/${agent.name}`,
          instructions: "",
          maxInputBytes: defaultMaxInputBytes,
          limits: { ...defaultLimits, receiptWithin: "20 seconds", startsWithoutDelivery: 50 }
        }
      })
      const lease = FleetCore.lease({ rootId, holder: "simulation", takeOver: false })
      const context = yield* Layer.buildWithScope(
        core.pipe(Layer.provideMerge(lease), Layer.provideMerge(FleetCore.board), Layer.provideMerge(given)),
        scope
      )
      const store = (agentId: AgentId, message: OutgoingMessage) =>
        Effect.provide(
          Effect.gen(function*() {
            yield* (yield* FleetOutbox).storeMessage(agentId, message)
            yield* (yield* Signals).outbox
          }),
          context
        ).pipe(Effect.exit, Effect.map(Exit.isSuccess))
      yield* Ref.set(tool, Option.some(store))
      yield* Ref.set(
        fleetd,
        Option.some({
          startHeld: Effect.provide(
            Effect.gen(function*() {
              const controller = yield* Controller
              const { agents: shown } = yield* controller.status
              for (const agent of shown) {
                if (agent.session.state === "held") yield* controller.start(agent.agentId)
              }
            }),
            context
          ).pipe(Effect.exit, Effect.asVoid),
          kill: Effect.suspend(() => {
            alive = false
            return Ref.set(fleetd, Option.none()).pipe(
              Effect.zipRight(Ref.set(tool, Option.none())),
              // Without their daemon the engines' input ends, and so do they.
              Effect.zipRight(world.engines.killAll),
              Effect.zipRight(killed(scope, ended))
            )
          })
        })
      )
    })

    const kill = <L extends { readonly kill: Effect.Effect<void> }>(life: Ref.Ref<Option.Option<L>>) =>
      Effect.flatMap(Ref.get(life), (present) => Option.isSome(present) ? present.value.kill : Effect.void)

    return {
      startCrossfire,
      startFleetd,
      killCrossfire: kill(crossfire),
      killFleetd: kill(fleetd),
      /** The owner reads that an agent is held and starts it again. */
      startHeld: Effect.flatMap(Ref.get(fleetd), (life) => Option.isSome(life) ? life.value.startHeld : Effect.void),
      /** False: nothing was stored; the homeserver tries again or gives up. */
      push: (events: ReadonlyArray<PushedEvent>) =>
        Effect.flatMap(Ref.get(crossfire), (life) =>
          Option.isSome(life) ? life.value.push(events) : Effect.succeed(false)),
      send: (agentId: AgentId, message: OutgoingMessage) =>
        Effect.flatMap(Ref.get(tool), (present) =>
          Option.isSome(present) ? present.value(agentId, message) : Effect.succeed(false))
    }
  })

export type SimulatedFleet = Effect.Effect.Success<ReturnType<typeof make>>

/** What enrollment would have written on both sides. */
export const enroll = (crossfireDb: Database, fleetDb: Database, memory: MemoryMatrix) =>
  Effect.gen(function*() {
    const { sql, transaction } = crossfireDb
    yield* memory.matrix.ensureUser(botUser(serverName), "crossfire")
    yield* transaction(sql`INSERT INTO person (user_id, role, created_at) VALUES (${alice}, 'member', 0)`)
    yield* transaction(
      sql`INSERT INTO fleet ${
        sql.insert({ fleet_id: fleetId, owner: alice, fleet_key: "street", token_hash: "fleet", created_at: 0 })
      }`
    )
    for (const agent of agents) {
      yield* memory.matrix.ensureUser(agent.userId, agent.name)
      yield* transaction(sql`INSERT INTO agent ${
        sql.insert({
          agent_id: agent.agentId,
          fleet_id: fleetId,
          instance_key: agent.name,
          owner: alice,
          name: agent.name,
          name_skeleton: nameSkeleton(agent.name),
          user_id: agent.userId,
          engine: agent.engine,
          created_at: 0
        })
      }`)
      yield* transaction(sql`INSERT INTO wake_policy (agent_id, room_id, revision, updated_at)
        VALUES (${agent.agentId}, '', 1, 0)`)
      yield* transaction(sql`INSERT INTO wake_selection (agent_id, room_id, kind, subject)
        VALUES (${agent.agentId}, '', 'person', ${alice})`)
    }
    yield* Effect.provideService(claimRoot("/root"), FleetDb, fleetDb)
    const registry = FleetCore.stores.pipe(Layer.provide(Layer.succeed(FleetDb, fleetDb)))
    yield* Effect.provide(
      Effect.flatMap(FleetRegistry, (fleet) =>
        fleet.introduce({
          identity: {
            fleetId,
            fleetKey: FleetKey.make("street"),
            owner: alice,
            serverUrl: "http://127.0.0.1:1"
          },
          token: Redacted.make("fleet"),
          agents: agents.map((agent) => ({
            token: Redacted.make(agent.name),
            agent: {
              agentId: agent.agentId,
              key: InstanceKey.make(agent.name),
              name: RegisteredName.make(agent.name),
              userId: agent.userId,
              engine: agent.engine,
              model: "scripted-1",
              effort: null,
              workFolder: "/work",
              historyMode: "shared" as const,
              instructions: null
            }
          }))
        })),
      registry
    )
  })
