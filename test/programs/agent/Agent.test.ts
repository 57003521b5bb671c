import { expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Ref, Scope } from "effect"
import { createServer } from "node:net"
import { join } from "node:path"
import { ToolUnavailable } from "../../../src/domain/api/AgentSocket.ts"
import { EventId, RunId, sharedContext } from "../../../src/domain/Ids.ts"
import * as LocalToolAccess from "../../../src/layers/fleetd/LocalToolAccess.ts"
import { checkMessage } from "../../../src/layers/fleetd/OutboxAgentTools.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { claimRoot } from "../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { AgentTools } from "../../../src/services/AgentTools.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { ToolAccess } from "../../../src/services/ToolAccess.ts"
import { editor, registryIn, scratchFolder, smallFleet } from "../../support/FleetFile.ts"
import { binary, parsed, run } from "../../support/ProgramRun.ts"

const runId = RunId.make("10000000-0000-4000-8000-000000000000")

/** The socket of a running activation; what passes the checks is recorded and sent, or queued where its text says so. */
const activation = Effect.gen(function*() {
  const root = yield* scratchFolder
  const sent = yield* Ref.make<ReadonlyArray<unknown>>([])
  const tools = Layer.succeed(
    AgentTools,
    AgentTools.of({
      send: (_agentId, wish) =>
        Effect.gen(function*() {
          const { roomId, text, replyTo, mentions } = yield* checkMessage(wish)
          if (text === "busy") return yield* new ToolUnavailable({ reason: "The disk is full" })
          yield* Ref.update(sent, (before) => [...before, { roomId, text, replyTo, mentions }])
          return text === "queue"
            ? { status: "queued" as const, eventId: null }
            : { status: "sent" as const, eventId: EventId.make("$sent") }
        })
    })
  )
  const registry = Layer.provideMerge(
    Layer.effectDiscard(Effect.gen(function*() {
      yield* claimRoot(root)
      yield* (yield* FleetRegistry).introduce(smallFleet())
    })),
    Layer.provideMerge(SqliteRegistry.layer, registryIn(root))
  )
  const context = yield* Layer.build(LocalToolAccess.layer(root).pipe(Layer.provide(Layer.merge(tools, registry))))
  const scope = yield* Scope.make()
  const { socketPath } = yield* Effect.provide(ToolAccess, context).pipe(
    Effect.flatMap((access) => access.open(editor, sharedContext, runId)),
    Scope.extend(scope)
  )
  const agent = (args: ReadonlyArray<string>, input = "") =>
    run(binary("agent"), args, { env: { FLEET_SOCKET: socketPath }, input })
  return { agent, sent, socketPath, close: Scope.close(scope, Exit.void) }
})

it.scopedLive(
  "[M-08] agent send names its room, sends as the socket's agent, and says what became of it",
  () =>
    Effect.gen(function*() {
      const { agent, sent } = yield* activation
      const whole = [
        "send",
        "--room",
        "!r:test",
        "--reply-to",
        "$e",
        "--mention",
        "@a:test",
        "--mention",
        "@b:test",
        "Hi"
      ]
      const one = yield* agent(whole)
      expect([one.code, one.stdout, one.stderr]).toStrictEqual([0, "Sent as $sent\n", ""])
      const piped = yield* agent(["send", "--json", "--room", "!r:test", "-"], "from standard input")
      expect([piped.code, parsed(piped.stdout)]).toStrictEqual([0, { status: "sent", eventId: "$sent" }])
      const queued = yield* agent(["send", "--room", "!r:test", "queue"])
      expect([queued.code, queued.stdout]).toStrictEqual([
        0,
        "Queued: it is stored and will be sent. Do not send it again\n"
      ])
      expect(yield* Ref.get(sent)).toStrictEqual([
        { roomId: "!r:test", text: "Hi", replyTo: "$e", mentions: ["@a:test", "@b:test"] },
        { roomId: "!r:test", text: "from standard input", replyTo: null, mentions: [] },
        { roomId: "!r:test", text: "queue", replyTo: null, mentions: [] }
      ])
      const who = yield* agent(["whoami", "--json"])
      expect(parsed(who.stdout)).toMatchObject({ name: "editor", owner: "@alice:test", context: "shared" })
    }),
  60_000
)

it.scopedLive(
  "[M-08] a room that is not an ID, and a missing one, send nothing and say what to write",
  () =>
    Effect.gen(function*() {
      const { agent, sent } = yield* activation
      const alias = yield* agent(["send", "--room", "#general:test", "Hi"])
      expect([alias.code, alias.stdout]).toStrictEqual([4, ""])
      expect(alias.stderr).toContain("alias")
      expect(alias.stderr).toContain("begins with !")
      const name = yield* agent(["send", "--json", "--room", "General", "Hi"])
      expect(name.code).toBe(4)
      expect(parsed(name.stderr)).toMatchObject({ error: { tag: "ToolRefused" } })
      expect((yield* agent(["send", "Hi"])).code).toBe(2)
      const busy = yield* agent(["send", "--room", "!r:test", "busy"])
      expect([busy.code, busy.stderr]).toStrictEqual([1, "agent: The disk is full\n"])
      expect(yield* Ref.get(sent)).toStrictEqual([])
    }),
  60_000
)

it.scopedLive("outside of a session, and after it, the command says so with code 3", () =>
  Effect.gen(function*() {
    const outside = yield* run(binary("agent"), ["whoami"])
    expect(outside.code).toBe(3)
    expect(outside.stderr).toContain("FLEET_SOCKET is not set")
    const { agent, close } = yield* activation
    yield* close
    const after = yield* agent(["send", "--room", "!r:test", "Hi"])
    expect(after.code).toBe(3)
    expect(after.stderr).toContain("Nothing was sent")
  }), 60_000)

it.scopedLive("an answer that breaks off is told as unknown, never as sent", () =>
  Effect.gen(function*() {
    const path = join(yield* scratchFolder, "broken.sock")
    yield* Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((connection) => connection.once("data", () => connection.destroy()))
        server.listen(path, () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
    )
    const cut = yield* run(binary("agent"), ["send", "--room", "!r:test", "Hi"], { env: { FLEET_SOCKET: path } })
    expect(cut.code).toBe(1)
    expect(cut.stderr).toContain("not known whether")
  }), 60_000)
