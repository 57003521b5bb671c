// fleetd's own socket in its root: the owner's commands, handed to the Controller. Who can open it is this user; the folder
// and the file's mode see to that.
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { SocketServer, SocketServerError } from "@effect/platform/SocketServer"
import * as RpcSerialization from "@effect/rpc/RpcSerialization"
import * as RpcServer from "@effect/rpc/RpcServer"
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { chmod, rm } from "node:fs/promises"
import { join } from "node:path"
import { AgentRetired } from "../../domain/api/AccessErrors.ts"
import {
  AgentAmbiguous,
  type AgentChange,
  type AgentSelection,
  AgentUnknown,
  type DeliveryState,
  fleetSocketProtocol,
  FleetSocketRpcs,
  FleetStoreFailed,
  InputRejected,
  maxDirectBytes,
  NotEnrolled
} from "../../domain/api/FleetSocket.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { OperationId } from "../../domain/Ids.ts"
import { Controller } from "../../services/Controller.ts"
import { CredentialRotation } from "../../services/CredentialRotation.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { DeliveryLog } from "../../services/DeliveryLog.ts"
import { FleetOutbox } from "../../services/FleetOutbox.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"

export const fleetSocketPath = (root: string): string => join(root, "fleetd.sock")

/** The longest message in UTF-16 units: a direct input with every character escaped, and its frame. */
export const maxSocketMessageUnits = 8 * 1024 * 1024

const deliveryLook = Duration.millis(100)
/** Between the answer to `shutdown` and the end of the connection that carries it. */
const lastAnswer = Duration.millis(100)

export interface FleetSocketConfig {
  readonly root: string
  /** Asks the daemon to end. */
  readonly shutdown: Effect.Effect<void>
}

const notStored = (failed: StoreFailed) => Effect.fail(new FleetStoreFailed({ reason: failed.message }))

const handlers = (config: FleetSocketConfig) =>
  FleetSocketRpcs.toLayer(Effect.gen(function*() {
    const controller = yield* Controller
    const registry = yield* FleetRegistry
    const outbox = yield* FleetOutbox
    const log = yield* DeliveryLog
    const rotation = yield* CredentialRotation
    const scope = yield* Effect.scope

    const enrolled = Effect.gen(function*() {
      if (Option.isNone(yield* registry.identity)) return yield* new NotEnrolled({ root: config.root })
      return yield* registry.agents
    })
    const named = (agents: ReadonlyArray<FleetAgent>, name: string) =>
      Effect.gen(function*() {
        const [agent, another] = agents.filter((candidate) => candidate.name === name)
        if (agent === undefined) return yield* new AgentUnknown({ name, known: agents.map((known) => known.name) })
        if (another !== undefined) return yield* new AgentAmbiguous({ name })
        return agent.retired ? yield* new AgentRetired({ name }) : agent
      })
    /** All names are known before anything is done to one of them. */
    const select = (selection: AgentSelection) =>
      Effect.gen(function*() {
        const agents = yield* enrolled
        return selection === "all"
          ? agents.filter(({ retired }) => !retired)
          : yield* Effect.forEach([...new Set(selection)], (name) => named(agents, name))
      })

    const delivery = (operationId: OperationId) =>
      Effect.flatMap(
        controller.delivery(operationId),
        Option.match({
          onNone: () => Effect.dieMessage("an input that was just stored is not there"),
          onSome: Effect.succeed
        })
      )
    /** How far it is after the wait, or as soon as it is delivered. */
    const awaitDelivery = (operationId: OperationId, waitMillis: number) =>
      Effect.gen(function*() {
        const until = (yield* Clock.currentTimeMillis) + waitMillis
        let state: DeliveryState = yield* delivery(operationId)
        while (state.state !== "delivered" && (yield* Clock.currentTimeMillis) < until) {
          yield* Effect.sleep(deliveryLook)
          state = yield* delivery(operationId)
        }
        return state
      })

    return {
      status: () =>
        Effect.gen(function*() {
          const identity = yield* registry.identity
          const { agents, lease } = yield* controller.status
          return {
            protocol: fleetSocketProtocol,
            processId: process.pid,
            root: config.root,
            fleet: Option.match(identity, {
              onNone: () => null,
              onSome: ({ fleetId, fleetKey, owner, serverUrl }) => ({ fleetId, fleetKey, owner, serverUrl })
            }),
            lease,
            outbox: yield* outbox.depth,
            agents
          }
        }).pipe(Effect.catchTag("StoreFailed", notStored)),
      start: ({ selection }) =>
        Effect.gen(function*() {
          const agents = yield* select(selection)
          return yield* Effect.forEach(
            agents,
            ({ agentId, name }) =>
              Effect.map(controller.start(agentId), (changed): AgentChange => ({ name, desired: "started", changed }))
          )
        }).pipe(Effect.catchTag("StoreFailed", notStored)),
      stop: ({ selection }) =>
        Effect.gen(function*() {
          const agents = yield* select(selection)
          return yield* Effect.forEach(
            agents,
            ({ agentId, name }) =>
              Effect.map(controller.stop(agentId), (changed): AgentChange => ({ name, desired: "stopped", changed })),
            { concurrency: "unbounded" }
          )
        }).pipe(Effect.catchTag("StoreFailed", notStored)),
      send: ({ agent, operationId, text, waitMillis }) =>
        Effect.gen(function*() {
          if (text.trim() === "") return yield* new InputRejected({ reason: "The text is empty: nothing was sent" })
          const bytes = Buffer.byteLength(text)
          if (bytes > maxDirectBytes) {
            return yield* new InputRejected({
              reason: `The text has ${bytes} bytes, and at most ${maxDirectBytes} are taken: nothing was sent`
            })
          }
          const { agentId } = yield* named(yield* enrolled, agent)
          yield* controller.send({ agentId, text, operationId })
          return yield* awaitDelivery(operationId, waitMillis)
        }).pipe(Effect.catchTag("StoreFailed", notStored)),
      deliveries: ({ limit }) => log.recent(limit).pipe(Effect.catchTag("StoreFailed", notStored)),
      rotateCredentials: () =>
        Effect.gen(function*() {
          yield* enrolled
          return { agents: yield* rotation.rotate }
        }).pipe(Effect.catchTag("StoreFailed", notStored)),
      shutdown: () =>
        Effect.as(
          Effect.forkIn(Effect.delay(config.shutdown, lastAnswer), scope),
          { processId: process.pid }
        )
    }
  }))

/** Under the root lock: a socket that stands there belongs to a daemon that is gone. */
const listening = (root: string) => {
  const path = fleetSocketPath(root)
  const prepared = (work: () => Promise<void>) =>
    Effect.tryPromise({ try: work, catch: (cause) => new SocketServerError({ reason: "Open", cause }) })
  return Layer.scoped(
    SocketServer,
    prepared(() => rm(path, { force: true })).pipe(
      Effect.zipRight(NodeSocketServer.make({ path })),
      Effect.tap(() => prepared(() => chmod(path, 0o600)))
    )
  )
}

export const layer = (
  config: FleetSocketConfig
): Layer.Layer<never, SocketServerError, Controller | CredentialRotation | DeliveryLog | FleetRegistry | FleetOutbox> =>
  RpcServer.layer(FleetSocketRpcs, { disableTracing: true }).pipe(
    Layer.provide(handlers(config)),
    Layer.provide(RpcServer.layerProtocolSocketServer),
    Layer.provide(listening(config.root)),
    Layer.provide(RpcSerialization.layerNdjsonWith({ maxBufferSize: maxSocketMessageUnits }))
  )
