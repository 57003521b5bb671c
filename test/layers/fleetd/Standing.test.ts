import { expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { type AgentId, OperationId } from "../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import * as MemoryEngine from "../../../src/layers/memory/MemoryEngine.ts"
import { Controller } from "../../../src/services/Controller.ts"
import { CredentialRotation } from "../../../src/services/CredentialRotation.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import * as FakeCrossfire from "../../support/FakeCrossfire.ts"
import { start } from "../../support/FleetDaemon.ts"
import { editor, reporter, scratchFolder } from "../../support/FleetFile.ts"
import { makeHost } from "../../support/MemoryHost.ts"

const steady: MemoryEngine.EngineBehaviour = {
  onSubmit: () => Effect.succeed({ delayMillis: 10, turn: "completed" }),
  onTurn: () => Effect.void,
  onActivate: () => Effect.succeed(true)
}

/** A daemon of two agents; crossfire's room and levels are the editor's. */
const running = (behaviour: Partial<MemoryEngine.EngineBehaviour> = {}) =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const crossfire = yield* FakeCrossfire.make(editor)
    const memory = MemoryEngine.make({ ...steady, ...behaviour })
    const machine = makeHost()
    const daemon = yield* Effect.acquireRelease(
      Effect.interruptible(start({ folder, memory, machine, crossfire: crossfire.layer })),
      (running) => running.stop
    )
    const agent = (agentId: AgentId) => daemon.run(Effect.flatMap(FleetRegistry, (registry) => registry.agent(agentId)))
    const status = daemon.run(Effect.flatMap(Controller, (controller) => controller.status))
    const session = (agentId: AgentId) =>
      Effect.map(status, ({ agents }) => agents.find((one) => one.agentId === agentId)?.session)
    const inputs = () =>
      [...memory.histories.files.values()].flatMap((file) => file.lines.filter((line) => line.kind === "user"))
    return { agent, crossfire, daemon, inputs, machine, memory, session, status }
  })

const pass = TestClock.adjust("10 seconds").pipe(Effect.repeatN(5))

it.scoped("[I-10] a renamed agent keeps its UUID and its history; a level older than seen renames nobody", () =>
  Effect.gen(function*() {
    const { agent, crossfire, inputs, memory } = yield* running()
    yield* crossfire.say("before")
    yield* pass
    const [history] = [...memory.histories.files.keys()]
    yield* crossfire.become("redactor")
    yield* pass
    expect(yield* agent(editor)).toMatchObject({ agentId: editor, name: "redactor" })
    yield* crossfire.tell({ number: 1, name: RegisteredName.make("editor") })
    yield* crossfire.say("after")
    yield* pass
    expect((yield* agent(editor)).name).toBe("redactor")
    expect([...memory.histories.files.keys()]).toStrictEqual([history])
    expect(inputs()).toHaveLength(2)
  }))

it.scoped("[I-10] two agents that exchange their names keep what is theirs", () =>
  Effect.gen(function*() {
    const { agent, crossfire } = yield* running()
    const other = { agentId: reporter, wakes: [], rooms: [] }
    yield* crossfire.tell({ ...other, name: RegisteredName.make("reporter") })
    yield* pass
    yield* crossfire.become("reporter")
    yield* crossfire.tell({ ...other, name: RegisteredName.make("editor"), number: 9 })
    yield* pass
    expect(yield* agent(editor)).toMatchObject({ name: "reporter", key: "editor" })
    expect(yield* agent(reporter)).toMatchObject({ name: "editor", key: "reporter" })
  }))

it.scoped("a retired agent's turn is ended, nothing is started or delivered any more, its history stays, others go on", () =>
  Effect.gen(function*() {
    const { agent, crossfire, daemon, inputs, memory, session } = yield* running({
      onTurn: ({ agentId }) => agentId === editor ? Effect.never : Effect.void
    })
    yield* crossfire.say("work for ever")
    yield* pass
    expect(memory.running().map(({ agentId }) => agentId)).toStrictEqual([editor])
    yield* crossfire.become("editor", "retired")
    yield* pass
    expect(memory.running()).toStrictEqual([])
    expect((yield* session(editor))?.state).toBe("retired")
    const histories = [...memory.histories.files.keys()]
    yield* crossfire.say("too late")
    yield* crossfire.tell({
      agentId: reporter,
      wakes: [],
      rooms: [],
      name: RegisteredName.make("reporter"),
      standing: "active"
    })
    const operationId = OperationId.make("00000000-0000-4000-8000-000000000001")
    yield* daemon.run(Effect.flatMap(Controller, (one) => one.send({ agentId: reporter, text: "hello", operationId })))
    yield* pass
    expect((yield* agent(editor)).retired).toBe(true)
    expect([...memory.histories.files.keys()].slice(0, histories.length)).toStrictEqual(histories)
    expect(inputs()).toHaveLength(2)
    expect(memory.running().map(({ agentId }) => agentId)).toStrictEqual([reporter])
    expect(crossfire.notices).toStrictEqual([])
  }))

it.scoped("[A12] an agent whose credential is refused is held by name until its credentials are replaced", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, inputs, session, status } = yield* running()
    yield* pass
    crossfire.refused.agent = true
    yield* crossfire.say("hello")
    yield* pass
    expect(yield* session(editor)).toMatchObject({ state: "held" })
    expect((yield* session(editor))?.reason).toContain("fleet credentials rotate")
    expect((yield* status).lease.state).toBe("held")
    expect(crossfire.notices).toHaveLength(1)
    expect(inputs()).toHaveLength(0)
    expect(yield* daemon.run(Effect.flatMap(CredentialRotation, ({ rotate }) => rotate))).toBe(2)
    yield* pass
    expect(inputs()).toHaveLength(1)
    expect((yield* session(editor))?.reason).toBe(null)
    expect(crossfire.acknowledgments).toHaveLength(1)
  }))

it.scoped("[A12] the fleet's refused credential shuts delivery, by name and with what to do", () =>
  Effect.gen(function*() {
    const { crossfire, inputs, session, status } = yield* running()
    yield* pass
    Object.assign(crossfire.refused, { fleet: true, agent: true })
    yield* crossfire.say("hello")
    yield* pass
    const { lease } = yield* status
    expect(lease.state).toBe("credential-refused")
    expect(lease.state === "held" ? "" : lease.reason).toContain("--again --new-credentials")
    expect(inputs()).toHaveLength(0)
    expect(yield* session(editor)).toMatchObject({ reason: null })
    Object.assign(crossfire.refused, { fleet: false, agent: false })
    yield* pass
    expect(inputs()).toHaveLength(1)
  }))

it.scoped("[A12] a refusal that was on its way when the credentials were replaced holds nobody", () =>
  Effect.gen(function*() {
    const { crossfire, daemon, inputs, session } = yield* running()
    yield* pass
    crossfire.refused.agent = true
    yield* crossfire.say("hello")
    yield* TestClock.adjust("1 seconds")
    yield* daemon.run(Effect.flatMap(CredentialRotation, ({ rotate }) => rotate))
    yield* pass
    expect((yield* session(editor))?.reason).toBe(null)
    expect(inputs()).toHaveLength(1)
    expect(crossfire.notices).toStrictEqual([])
  }))

for (const known of ["absent", "unknown"] as const) {
  it.scoped(`retired while an input is submitted that becomes ${known}: its owner is not told that the agent hears of it`, () =>
    Effect.gen(function*() {
      const { agent, crossfire, machine, memory, session, status } = yield* running({ onSubmit: () => Effect.never })
      yield* crossfire.say("lost on its way")
      yield* TestClock.adjust("5 seconds")
      const open = Effect.map(status, ({ agents }) => agents.find((one) => one.agentId === editor)?.contexts[0]?.open)
      expect((yield* open)?.state).toBe("submitted")
      if (known === "unknown") machine.bootId = "boot-2"
      yield* crossfire.become("editor", "retired")
      yield* pass
      expect(memory.running()).toStrictEqual([])
      expect(yield* session(editor)).toStrictEqual({ state: "retired", reason: null })
      expect((yield* open)?.state).toBe(known === "absent" ? "prepared" : "unknown")
      expect((yield* agent(editor)).problem).toBe(null)
      expect(crossfire.notices.join()).not.toContain("The agent is told")
      expect(crossfire.notices).toHaveLength(known === "absent" ? 0 : 1)
    }))
}
