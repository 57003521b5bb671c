// `Signals` by queues of one: a signal that is already waiting swallows the next.
import { Effect, Layer, Queue } from "effect"
import type { AgentId } from "../../domain/Ids.ts"
import { Signals } from "../../services/Signals.ts"

export const make = Effect.gen(function*() {
  const outboxes = yield* Queue.sliding<void>(1)
  const agents = new Map<AgentId, Queue.Queue<void>>()
  const queueOf = (agentId: AgentId) =>
    Effect.suspend(() => {
      const known = agents.get(agentId)
      if (known !== undefined) return Effect.succeed(known)
      return Queue.sliding<void>(1).pipe(Effect.tap((queue) => Effect.sync(() => agents.set(agentId, queue))))
    })
  return Signals.of({
    agent: (agentId) => Effect.flatMap(queueOf(agentId), (queue) => queue.offer(undefined)),
    everyAgent: Effect.suspend(() =>
      Effect.forEach([...agents.values()], (queue) => queue.offer(undefined), { discard: true })
    ),
    awaitAgent: (agentId, atMost) =>
      Effect.flatMap(queueOf(agentId), (queue) => Effect.asVoid(Effect.timeoutOption(queue.take, atMost))),
    outbox: outboxes.offer(undefined),
    awaitOutbox: (atMost) => Effect.asVoid(Effect.timeoutOption(outboxes.take, atMost))
  })
})

export const layer = Layer.effect(Signals, make)
