// The one fiber that serves one context of one agent: it alone prepares, submits and resolves there, so that its place in
// the code is the context's lock. Each pass looks at what is stored, does one step, and says when to look again.
import { Clock, Duration, Effect, Option } from "effect"
import { StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { AgentId, ContextKey } from "../../domain/Ids.ts"
import type { Level } from "../../domain/Level.ts"
import { maxFailures, type Publication } from "../../domain/Publication.ts"
import { AgentLevels } from "../../services/AgentLevels.ts"
import { Checkpoints } from "../../services/Checkpoints.ts"
import type { LeaseStamp } from "../../services/CrossfireClient.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"
import { Lease } from "../../services/Lease.ts"
import { EngineGone, NativeEngines } from "../../services/NativeEngine.ts"
import { Publications } from "../../services/Publications.ts"
import { Redactions } from "../../services/Redactions.ts"
import { RunSweep } from "../../services/RunSweep.ts"
import { Signals } from "../../services/Signals.ts"
import type { Activation, Active } from "./Activation.ts"
import * as AgentIncidents from "./AgentIncidents.ts"
import * as ContextState from "./ContextState.ts"
import type { CredentialWatch } from "./CredentialWatch.ts"
import type { InputPreparation } from "./InputPreparation.ts"
import type { ReceiptResolver } from "./ReceiptResolver.ts"
import type { ReceiverLimits, ReceiverView } from "./ReceiverLimits.ts"

type Next = { readonly _tag: "Again" } | { readonly _tag: "Wait"; readonly atMost: Duration.DurationInput }

const again: Next = { _tag: "Again" }
const wait = (atMost: Duration.DurationInput): Next => ({ _tag: "Wait", atMost })

/** Nothing to do: signals bring what is new, this is only the net below them. */
const idleLook = Duration.seconds(30)
const afterFailure = Duration.seconds(5)
const leftoverLook = Duration.seconds(10)
const continueWaits = [Duration.seconds(5), Duration.seconds(30), Duration.minutes(2)]
const longestEmptyWaitMillis = 60_000

export const make = (parts: {
  readonly agentId: AgentId
  readonly context: ContextKey
  readonly limits: ReceiverLimits
  readonly activation: Activation
  readonly credentials: CredentialWatch
  readonly preparation: InputPreparation
  readonly resolver: ReceiptResolver
}) =>
  Effect.gen(function*() {
    const { agentId, context, limits } = parts
    const checkpoints = yield* Checkpoints
    const engines = yield* NativeEngines
    const contextState = yield* ContextState.make(agentId, context)
    const lease = yield* Lease
    const levels = yield* AgentLevels
    const incidents = yield* AgentIncidents.make
    const publications = yield* Publications
    const registry = yield* FleetRegistry
    const redactions = yield* Redactions
    const signals = yield* Signals
    const sweeper = yield* RunSweep

    let active: Active | null = null
    let starting = false
    /** What the owner was told last of how the work ends; null: not known in this daemon's life. */
    let toldOutcome: "worked" | "failing" | null = null
    let settled = false
    let startsWithoutDelivery = 0
    /** For the one that is submitted: when it was, and how long the next look at the file waits. */
    let receipt = { sinceNanos: 0n, pollMillis: 25 }
    let emptyWaitMillis = 1_000

    const view = (): ReceiverView =>
      active === null
        ? { state: starting ? "starting" : "sleeping", processId: null }
        : { state: active.turn() === null ? "idle" : "working", processId: active.session.processId }

    const close = (slept: boolean) =>
      Effect.suspend(() => {
        const closing = active
        active = null
        return closing === null ? Effect.succeed<ReadonlyArray<number>>([]) : closing.close(slept)
      })

    /** Stops this agent until its owner acts, and tells them once. Nothing that waits is dropped. */
    const hold = (agent: FleetAgent, reason: string) =>
      Effect.gen(function*() {
        // Whoever frees the agent wants it tried again.
        startsWithoutDelivery = 0
        yield* registry.setProblem(agentId, reason)
        yield* incidents.held(agent, reason)
        yield* close(false)
        return wait(idleLook)
      })

    const resolve = (agent: FleetAgent, open: Publication) =>
      Effect.gen(function*() {
        const live = active !== null && active.exited() === null && active.runId === open.runId ? active : null
        const resolution = yield* live === null
          ? parts.resolver.resolveDead(agent, open)
          : parts.resolver.resolveLive(agent, open, live)
        switch (resolution._tag) {
          case "Confirmed":
            // A reminder is given at every start over unfinished work: it proves nothing of the engine's health.
            if (open.kind !== "reminder") startsWithoutDelivery = 0
            return again
          case "Unknown":
            yield* incidents.unknownInput(agent, open.deliveryId)
            return again
          case "Absent":
            return resolution.failures >= maxFailures && !agent.retired
              ? yield* hold(agent, `an input did not reach its history in ${resolution.failures} tries`)
              : again
          case "WriterAlive":
            yield* incidents.leftover(agent, resolution.processIds)
            return wait(leftoverLook)
          case "Wait": {
            const waited = (yield* Clock.currentTimeNanos) - receipt.sinceNanos
            if (waited > BigInt(Duration.toMillis(limits.receiptWithin)) * 1_000_000n) {
              // A time-out proves nothing: the engine is ended first, then its file is read.
              yield* Effect.logWarning("no user entry in time; ending the engine").pipe(
                Effect.annotateLogs({ agent: agent.name, delivery: open.deliveryId })
              )
              yield* close(false)
              return again
            }
            receipt.pollMillis = Math.min(receipt.pollMillis * 2, 1_000)
            return wait(receipt.pollMillis)
          }
        }
      })

    const submit = (agent: FleetAgent, engine: Active, publication: Publication) =>
      Effect.gen(function*() {
        const run = { runId: engine.runId, bootId: yield* sweeper.bootId }
        yield* publications.submitted(publication.deliveryId, run)
        receipt = { sinceNanos: yield* Clock.currentTimeNanos, pollMillis: 25 }
        const answer = yield* engine.session.submit({ deliveryId: publication.deliveryId, text: publication.text })
          .pipe(
            Effect.timeoutFail({
              duration: limits.receiptWithin,
              onTimeout: () => new EngineGone({ engine: agent.engine, reason: "it did not answer to an input" })
            }),
            Effect.either
          )
        if (answer._tag === "Right") {
          if (answer.right.turnId !== null) {
            engine.turnBegan(answer.right.turnId)
            yield* publications.turnKnown(publication.deliveryId, answer.right.turnId)
          }
          return again
        }
        if (answer.left._tag === "EngineGone") {
          yield* close(false)
          return again
        }
        // Refused: the engine says that it is in no history. Nothing is dropped: it waits for the owner's next start.
        yield* publications.absent(publication.deliveryId, publication.position)
        return yield* hold(agent, answer.left.message)
      })

    const activate = (agent: FleetAgent) =>
      Effect.gen(function*() {
        if (startsWithoutDelivery >= limits.startsWithoutDelivery) {
          return yield* hold(
            agent,
            `its engine ended ${startsWithoutDelivery} times in a row before it took an input or finished one`
          )
        }
        starting = true
        const started = yield* Effect.gen(function*() {
          if (startsWithoutDelivery > 1) yield* Effect.sleep(Duration.seconds(2 ** (startsWithoutDelivery - 1)))
          // Stopped while it waited: whoever stopped it is told only when nothing starts any more.
          const now = yield* registry.agent(agentId)
          if (!now.enabled || now.retired) return null
          startsWithoutDelivery++
          return yield* Effect.either(parts.activation.activate(agent, context))
        }).pipe(
          Effect.ensuring(Effect.sync(() => {
            starting = false
          }))
        )
        if (started === null) return again
        if (started._tag === "Right") {
          active = started.right
          yield* incidents.nothingLeft(agentId)
          return again
        }
        const failure = started.left
        yield* Effect.logWarning("activation failed").pipe(
          Effect.annotateLogs({ agent: agent.name, reason: failure.message })
        )
        switch (failure._tag) {
          case "EngineGone":
          case "ToolAccessFailed":
            return again
          case "StoreFailed":
            return yield* failure
          default:
            return yield* hold(agent, failure.message)
        }
      })

    /** With the gate open and no turn running: what comes next here, and the step towards it. */
    const advance = (agent: FleetAgent, stamp: LeaseStamp, level: Level, prepared: Publication | null) =>
      Effect.gen(function*() {
        // Before anything is read or collected, so that what is removed meanwhile counts as later.
        const removed = yield* redactions.known(agentId)
        const { checkpoint, next, outcome, unknown, wakes } = yield* contextState.read(
          level,
          active?.runId ?? null,
          prepared
        )
        if (outcome !== null && outcome !== toldOutcome) {
          yield* outcome === "failing" ? incidents.failing(agent) : incidents.workedAgain(agentId)
          toldOutcome = outcome
        }
        if (prepared !== null) {
          const fits = prepared.kind === next && prepared.authorityRevision === level.authorityRevision
          if (!fits) {
            yield* publications.discarded(prepared.deliveryId)
            return again
          }
          return active === null ? yield* activate(agent) : yield* submit(agent, active, prepared)
        }
        if (next === "none") return yield* rest()
        if (active === null) return yield* activate(agent)
        const known = yield* registry.binding(agentId, context)
        if (Option.isNone(known)) return yield* Effect.dieMessage("an active context without a binding")
        const position = yield* engines.get(agent.engine).history.guard(known.value.binding, known.value.position)
        switch (next) {
          case "notice":
            if (Option.isSome(unknown)) {
              yield* parts.preparation.notice(agent, context, level, position, unknown.value, checkpoint, removed)
            }
            return again
          case "reminder":
            yield* parts.preparation.reminder(agent, context, level, position)
            return again
          case "continue": {
            const done = Option.match(checkpoint, { onNone: () => 0, onSome: (one) => one.continues })
            const idle = Duration.nanos((yield* Clock.currentTimeNanos) - active.idleSinceNanos())
            const due = Duration.subtract(continueWaits[done] ?? Duration.minutes(2), idle)
            if (Duration.greaterThan(due, Duration.zero)) return wait(due)
            yield* parts.preparation.goOn(agent, context, level, position)
            return again
          }
          case "batch": {
            if (yield* parts.preparation.batch(stamp, agent, context, level, wakes, position, removed)) {
              emptyWaitMillis = 1_000
              return again
            }
            // A wake that no page shows (yet): look again later, ever more rarely.
            emptyWaitMillis = Math.min(emptyWaitMillis * 2, longestEmptyWaitMillis)
            return wait(emptyWaitMillis)
          }
        }
      })

    /** Nothing waits: an engine that idled long enough is closed; the next message starts it again. */
    const rest = () =>
      Effect.gen(function*() {
        if (active === null) return wait(idleLook)
        const idle = Duration.nanos((yield* Clock.currentTimeNanos) - active.idleSinceNanos())
        if (Duration.lessThan(idle, limits.idleSleepAfter)) return wait(idleLook)
        yield* Effect.logInfo("agent sleeps")
        yield* close(true)
        startsWithoutDelivery = 0
        return again
      })

    const step = Effect.gen(function*() {
      const agent = yield* registry.agent(agentId)
      if (active !== null && active.exited() !== null) {
        yield* Effect.logWarning("engine ended").pipe(
          Effect.annotateLogs({ agent: agent.name, reason: active.exited() ?? "" })
        )
        yield* close(false)
      }
      if (!agent.enabled || agent.retired) yield* close(false)
      const open = yield* publications.open(agentId, context)
      // A held agent's input stays submitted: what broke the history has to be mended first.
      if (Option.isSome(open) && open.value.state === "submitted") {
        return agent.problem === null ? yield* resolve(agent, open.value) : wait(idleLook)
      }
      if (agent.retired) return wait(idleLook)
      if (!settled) {
        const checkpoint = yield* checkpoints.get(agentId, context)
        if (Option.isSome(checkpoint)) {
          yield* parts.resolver.settleCheckpoint(agent, engines.get(agent.engine), checkpoint.value)
        }
        settled = true
      }
      if (!agent.enabled || agent.paused || agent.problem !== null) return wait(idleLook)
      const held = yield* lease.state
      const level = yield* levels.get(agentId)
      if (held._tag === "NotHeld" || Option.isNone(level)) return wait(idleLook)
      if (active !== null && active.turn() !== null) return wait(idleLook)
      if (agent.credentialRefused || level.value.standing === "retired") return yield* rest()
      return yield* advance(agent, held.stamp, level.value, Option.getOrNull(open)).pipe(
        Effect.tapError((error) =>
          error instanceof StaleGeneration ? lease.lost(held.stamp, error.message) : Effect.void
        ),
        Effect.tapErrorTag("CredentialRefused", () => parts.credentials.refused(held.stamp, agentId))
      )
    })

    /** A step's typed failures become a state or a later look; the loop itself goes on for the daemon's life. */
    const guarded = step.pipe(
      Effect.catchTags({
        HistoryMissing: (broken) => Effect.flatMap(registry.agent(agentId), (agent) => hold(agent, broken.message)),
        HistoryForeign: (broken) => Effect.flatMap(registry.agent(agentId), (agent) => hold(agent, broken.message)),
        HistoryShorter: (broken) => Effect.flatMap(registry.agent(agentId), (agent) => hold(agent, broken.message)),
        HistoryUnreadable: (broken) => Effect.flatMap(registry.agent(agentId), (agent) => hold(agent, broken.message)),
        BaseChanged: () =>
          Effect.flatMap(publications.open(agentId, context), (open) =>
            Option.isSome(open)
              ? Effect.as(publications.discarded(open.value.deliveryId), again)
              : Effect.succeed(again)),
        CrossfireUnavailable: (failed) => Effect.as(Effect.logWarning(failed.message), wait(afterFailure)),
        CredentialRefused: (failed) => Effect.as(Effect.logWarning(failed.message), wait(afterFailure)),
        StaleGeneration: (failed) => Effect.as(Effect.logWarning(failed.message), wait(afterFailure)),
        ArtifactFailed: (failed) => Effect.as(Effect.logError(failed.message), wait(afterFailure))
      }),
      Effect.catchTag("StoreFailed", (failed) => Effect.as(Effect.logError(failed.message), wait(afterFailure)))
    )

    const run = Effect.forever(
      Effect.flatMap(
        guarded,
        (next) => next._tag === "Again" ? Effect.yieldNow() : signals.awaitAgent(agentId, next.atMost)
      )
    ).pipe(Effect.ensuring(Effect.suspend(() => close(false))))

    return { run, view }
  })

export type ContextReceiver = Effect.Effect.Success<ReturnType<typeof make>>
