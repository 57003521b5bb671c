// Both real engines send through the doors that fleetd opens for them: Codex by MCP, Pi by the socket.
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { EventId } from "../../../src/domain/Ids.ts"
import * as LocalToolAccess from "../../../src/layers/fleetd/LocalToolAccess.ts"
import { checkMessage } from "../../../src/layers/fleetd/OutboxAgentTools.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import type { Step } from "../../../src/layers/model/Script.ts"
import { AgentTools } from "../../../src/services/AgentTools.ts"
import { ToolAccess } from "../../../src/services/ToolAccess.ts"
import * as Engine from "../../support/EngineSession.ts"
import { registryIn, scratchFolder } from "../../support/FleetFile.ts"
import * as Codex from "../codex/CodexFixture.ts"
import * as Pi from "../pi/PiFixture.ts"

type Wish = Parameters<typeof AgentTools.Service.send>[1]

const doors = Effect.gen(function*() {
  const root = yield* scratchFolder
  const sent = yield* Ref.make<ReadonlyArray<Wish>>([])
  const tools = Layer.succeed(
    AgentTools,
    AgentTools.of({
      send: (_agentId, wish) =>
        Effect.gen(function*() {
          yield* checkMessage(wish)
          yield* Ref.update(sent, (before) => [...before, wish])
          return { status: "sent" as const, eventId: EventId.make("$sent") }
        })
    })
  )
  const registry = SqliteRegistry.layer.pipe(Layer.provide(registryIn(root)))
  const context = yield* Layer.build(LocalToolAccess.layer(root).pipe(Layer.provide(Layer.merge(tools, registry))))
  return { sent, access: yield* Effect.provide(ToolAccess, context) }
})

const call = (args: Record<string, unknown>): Step => ({ tool: { name: "room_send", args } })
const message = { room: "!a:test", text: "hello", reply_to: "$before", mentions: ["@bob:test"] }

/** One turn that sends to a name, is told, and sends to the ID; then the same message again, on purpose. */
const turn = (test: Engine.EngineTest) =>
  Effect.gen(function*() {
    const { access, sent } = yield* doors
    const { agentId, context, runId } = test.activation
    const tools = yield* access.open(agentId, context, runId)
    const session = yield* Engine.activate(test, { tools })
    const deliveryId = Engine.newDelivery()
    const text = Engine.inputOf(
      deliveryId,
      call({ ...message, room: "General" }),
      call(message),
      call(message),
      { text: "done" }
    )
    yield* session.submit({ deliveryId, text })
    yield* session.until("TurnEnded", ({ status }) => status === "completed")
    const wishes = yield* Ref.get(sent)
    const asked = { room: "!a:test", text: "hello", replyTo: "$before", mentions: ["@bob:test"] }
    expect(wishes).toMatchObject([asked, asked])
    // Two calls are two operations, also where their words are the same.
    expect(new Set(wishes.map(({ operationId }) => operationId)).size).toBe(2)
  })

it.scopedLive(
  "[M-08] Codex sends by MCP with its activation's token",
  () => Effect.flatMap(Codex.setUp(), turn),
  60_000
)

it.scopedLive(
  "[M-08] Pi sends by its activation's socket",
  () => Effect.flatMap(Pi.setUp(), turn),
  60_000
)
