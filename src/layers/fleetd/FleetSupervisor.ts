// Runs one receiver per agent and answers the owner's commands. It starts no engine itself: a receiver does, when its
// context has something to be given and its gate is open.
import { Cause, Duration, Effect, FiberMap, Layer, Option, Schedule } from "effect"
import type { AgentStatus, ContextStatus, DeliveryState, SessionStatus } from "../../domain/api/FleetSocket.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import { type AgentId, sharedContext } from "../../domain/Ids.ts"
import { AgentLevels } from "../../services/AgentLevels.ts"
import { Controller } from "../../services/Controller.ts"
import { DirectInputs } from "../../services/DirectInputs.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { Lease } from "../../services/Lease.ts"
import { Publications } from "../../services/Publications.ts"
import { Signals } from "../../services/Signals.ts"
import * as Activation from "./Activation.ts"
import * as AgentIncidents from "./AgentIncidents.ts"
import * as Receiver from "./ContextReceiver.ts"
import * as CredentialWatch from "./CredentialWatch.ts"
import * as InputPreparation from "./InputPreparation.ts"
import * as Resolver from "./ReceiptResolver.ts"
import type { ReceiverLimits } from "./ReceiverLimits.ts"

/** How long a stop may take: the engine's own bounded end, and some. */
const stopWithin = Duration.seconds(20)
const stopLook = Duration.millis(50)
/** After a broken invariant: the agent is held, and its receiver looks again for the owner's start. */
const afterDefect = Duration.seconds(30)

export interface SupervisorConfig {
  /** The agent's private folder for its engine's state; absolute. */
  readonly homeOf: (agent: FleetAgent) => string
  /** Standing instructions for every agent of the fleet. */
  readonly instructions: string
  readonly maxInputBytes: number
  readonly limits: ReceiverLimits
}

export const make = (config: SupervisorConfig) =>
  Effect.gen(function*() {
    const inputs = yield* DirectInputs
    const lease = yield* Lease
    const levels = yield* AgentLevels
    const incidents = yield* AgentIncidents.make
    const publications = yield* Publications
    const registry = yield* FleetRegistry
    const signals = yield* Signals
    const activation = yield* Activation.make(config)
    const credentials = yield* CredentialWatch.make
    const preparation = yield* InputPreparation.make(config)
    const resolver = yield* Resolver.make
    const receivers = new Map<AgentId, Receiver.ContextReceiver>()
    const fibers = yield* FiberMap.make<AgentId>()

    /** A broken invariant stops that agent, never the others, and is told. */
    const heldByDefect = (agent: FleetAgent, cause: Cause.Cause<never>) =>
      Effect.gen(function*() {
        yield* Effect.logError("receiver failed", cause).pipe(Effect.annotateLogs({ agent: agent.name }))
        const reason = "an internal check failed; the daemon's log has the details"
        yield* registry.setProblem(agent.agentId, reason)
        yield* incidents.held(agent, reason)
      }).pipe(
        Effect.catchTag("StoreFailed", (failed) => Effect.logError(failed.message)),
        Effect.zipRight(Effect.sleep(afterDefect))
      )

    const launch = (agent: FleetAgent) =>
      Effect.gen(function*() {
        const receiver = yield* Receiver.make({
          agentId: agent.agentId,
          context: sharedContext,
          limits: config.limits,
          activation,
          credentials,
          preparation,
          resolver
        })
        receivers.set(agent.agentId, receiver)
        yield* FiberMap.run(
          fibers,
          agent.agentId,
          receiver.run.pipe(
            Effect.catchAllCause((cause) =>
              Cause.isInterruptedOnly(cause) ? Effect.failCause(cause) : heldByDefect(agent, cause)
            ),
            Effect.forever
          )
        )
      })

    yield* Effect.forEach(yield* registry.agents, launch, { discard: true })

    const sessionOf = (agent: FleetAgent): SessionStatus => {
      const view = receivers.get(agent.agentId)?.view() ?? { state: "sleeping", processId: null }
      if (agent.retired) return { state: "retired", reason: null }
      if (agent.credentialRefused && agent.problem === null) {
        const reason = `${AgentIncidents.credentialReason}; it goes on by itself after: fleet credentials rotate`
        return { state: "held", reason }
      }
      if (agent.problem !== null) return { state: "held", reason: agent.problem }
      if (!agent.enabled && view.processId === null) return { state: "stopped", reason: null }
      return { state: view.state, reason: null }
    }

    const contextOf = (agent: FleetAgent) =>
      Effect.gen(function*() {
        const { agentId } = agent
        const binding = yield* registry.binding(agentId, sharedContext)
        const open = yield* publications.open(agentId, sharedContext)
        const unknown = yield* publications.unknown(agentId, sharedContext)
        const shown = Option.orElse(open, () => unknown)
        const status: ContextStatus = {
          context: sharedContext,
          history: Option.getOrNull(Option.map(binding, (known) => known.binding.path)),
          open: Option.match(shown, {
            onNone: () => null,
            onSome: ({ deliveryId, state }) =>
              state === "prepared" || state === "submitted" || state === "unknown" ? { deliveryId, state } : null
          }),
          waitingItems: yield* inputs.waitingCount(agentId, sharedContext),
          lastDelivery: Option.getOrNull(yield* inputs.lastDelivery(agentId, sharedContext))
        }
        return status
      })

    const statusOf = (agent: FleetAgent) =>
      Effect.gen(function*() {
        const level = yield* levels.get(agent.agentId)
        const status: AgentStatus = {
          agentId: agent.agentId,
          name: agent.name,
          userId: agent.userId,
          engine: agent.engine,
          model: agent.model,
          desired: agent.enabled ? "started" : "stopped",
          paused: agent.paused,
          session: sessionOf(agent),
          openWakes: Option.getOrNull(Option.map(level, (known) => known.wakes.length)),
          stoppedRooms: Option.toArray(level).flatMap((known) =>
            known.rooms.flatMap(({ name, roomId, stopped }) => stopped === null ? [] : [{ roomId, name, ...stopped }])
          ),
          contexts: [yield* contextOf(agent)]
        }
        return status
      })

    const processGone = (agentId: AgentId) =>
      // One that is starting has no process to show yet, and is not gone.
      Effect.sync(() => receivers.get(agentId)?.view().state ?? "sleeping").pipe(
        Effect.repeat({ until: (state) => state === "sleeping", schedule: Schedule.spaced(stopLook) }),
        Effect.timeoutOption(stopWithin)
      )

    return Controller.of({
      status: Effect.gen(function*() {
        const held = yield* lease.state
        return {
          lease: held._tag === "Held"
            ? { state: "held" as const, generation: held.stamp.generation }
            : {
              state: held.credentialRefused === true ? "credential-refused" as const : "not-held" as const,
              reason: held.reason
            },
          agents: yield* Effect.forEach(yield* registry.agents, statusOf)
        }
      }),
      start: (agentId) =>
        Effect.gen(function*() {
          const agent = yield* registry.agent(agentId)
          yield* registry.setEnabled(agentId, true)
          yield* registry.setProblem(agentId, null)
          yield* incidents.freed(agentId)
          yield* signals.agent(agentId)
          return !agent.enabled || agent.problem !== null
        }),
      stop: (agentId) =>
        Effect.gen(function*() {
          const agent = yield* registry.agent(agentId)
          yield* registry.setEnabled(agentId, false)
          yield* signals.agent(agentId)
          yield* processGone(agentId)
          return agent.enabled
        }),
      send: (item) =>
        Effect.gen(function*() {
          yield* inputs.store({ ...item, context: sharedContext, kind: "direct" })
          yield* signals.agent(item.agentId)
        }),
      delivery: (operationId) =>
        Effect.flatMap(
          inputs.state(operationId),
          Option.match({
            onNone: () => Effect.succeedNone,
            onSome: (state) =>
              Effect.gen(function*() {
                if (state._tag === "Waiting") return Option.some<DeliveryState>({ state: "waiting" })
                if (state._tag === "Open") {
                  const { deliveryId } = state
                  return Option.some<DeliveryState>({ state: "open", publication: { deliveryId, state: state.state } })
                }
                const binding = yield* registry.binding(state.agentId, sharedContext)
                return Option.some<DeliveryState>({
                  state: "delivered",
                  deliveryId: state.deliveryId,
                  entry: state.entry,
                  history: Option.getOrNull(Option.map(binding, (known) => known.binding.path))
                })
              })
          })
        )
    })
  })

export const layer = (config: SupervisorConfig) => Layer.scoped(Controller, make(config))
