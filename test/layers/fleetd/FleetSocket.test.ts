import { expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Layer, Option, Ref, Scope } from "effect"
import { chmodSync, existsSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { createConnection, createServer } from "node:net"
import { join } from "node:path"
import type { DeliveryState } from "../../../src/domain/api/FleetSocket.ts"
import { DeliveryId, Generation, OperationId } from "../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import * as FleetSocketClient from "../../../src/layers/fleetd/FleetSocketClient.ts"
import * as FleetSocketServer from "../../../src/layers/fleetd/FleetSocketServer.ts"
import * as RootFolder from "../../../src/layers/fleetd/RootFolder.ts"
import * as SqliteDeliveryLog from "../../../src/layers/fleetd/sqlite/SqliteDeliveryLog.ts"
import * as SqliteOutbox from "../../../src/layers/fleetd/sqlite/SqliteOutbox.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { claimRoot } from "../../../src/layers/fleetd/sqlite/SqliteRoot.ts"
import { Controller } from "../../../src/services/Controller.ts"
import { CredentialRotation } from "../../../src/services/CredentialRotation.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { editor, registryIn, reporter, scratchFolder, smallFleet } from "../../support/FleetFile.ts"

const operationId = OperationId.make("00000000-0000-4000-8000-000000000001")
const delivered: DeliveryState = {
  state: "delivered",
  deliveryId: DeliveryId.make("55555555-5555-4555-8555-555555555555"),
  entry: "e7",
  history: "/histories/n1.jsonl"
}

/** A daemon with a controller that records what it is asked; a direct input is delivered at the third look. */
const daemon = (options: { readonly enrolled?: boolean } = {}) =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    const asked = yield* Ref.make<ReadonlyArray<string>>([])
    const looks = yield* Ref.make(0)
    const ended = yield* Deferred.make<void>()
    const note = (text: string) => Ref.update(asked, (before) => [...before, text])
    const controller = Layer.succeed(
      Controller,
      Controller.of({
        status: Effect.succeed({ lease: { state: "held", generation: Generation.make(3) }, agents: [] }),
        start: (agentId) => Effect.as(note(`start ${agentId}`), true),
        stop: (agentId) => Effect.as(note(`stop ${agentId}`), agentId === editor),
        send: (item) => note(`send ${item.agentId} ${item.text} ${item.operationId}`),
        delivery: () =>
          Effect.map(
            Ref.updateAndGet(looks, (n) => n + 1),
            (n) => Option.some(n < 3 ? { state: "waiting" } : delivered)
          )
      })
    )
    const rotation = Layer.succeed(
      CredentialRotation,
      CredentialRotation.of({ rotate: Effect.as(note("rotate"), 2) })
    )
    const stores = Layer.provideMerge(
      Layer.effectDiscard(Effect.gen(function*() {
        yield* claimRoot(root)
        if (options.enrolled !== false) yield* (yield* FleetRegistry).introduce(smallFleet())
      })),
      Layer.provideMerge(
        Layer.mergeAll(SqliteRegistry.layer, SqliteOutbox.layer, SqliteDeliveryLog.layer),
        registryIn(root)
      )
    )
    const shutdown = Effect.asVoid(Deferred.succeed(ended, undefined))
    const server = FleetSocketServer.layer({ root, shutdown }).pipe(
      Layer.provide(Layer.mergeAll(controller, rotation, stores))
    )
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const registry = Context.get(yield* Scope.extend(Layer.build(Layer.merge(server, stores)), scope), FleetRegistry)
    return { root, registry, asked, ended, close: Scope.close(scope, Exit.void) }
  })

it.scopedLive("[I-10] a retired agent takes no command, and names that are being exchanged name nobody", () =>
  Effect.gen(function*() {
    const { asked, registry, root } = yield* daemon()
    yield* registry.setStanding(reporter, { name: RegisteredName.make("reporter"), standing: "retired" })
    const client = yield* FleetSocketClient.connect(root)
    const item = { agent: "reporter", text: "hello", operationId, waitMillis: 0 }
    expect(yield* Effect.flip(client.send(item))).toMatchObject({ _tag: "AgentRetired", name: "reporter" })
    expect(yield* Effect.flip(client.start(["reporter"]))).toMatchObject({ _tag: "AgentRetired" })
    expect((yield* client.start("all")).map(({ name }) => name)).toStrictEqual(["editor"])
    yield* registry.setStanding(reporter, { name: RegisteredName.make("editor"), standing: "active" })
    expect(yield* Effect.flip(client.send({ ...item, agent: "editor" }))).toMatchObject({ _tag: "AgentAmbiguous" })
    yield* registry.setStanding(editor, { name: RegisteredName.make("reporter"), standing: "active" })
    yield* client.send({ ...item, agent: "editor" })
    expect(yield* client.rotateCredentials).toStrictEqual({ agents: 2 })
    expect(yield* Ref.get(asked)).toStrictEqual([
      `start ${editor}`,
      `send ${reporter} hello ${operationId}`,
      "rotate"
    ])
  }))

it.scopedLive("[C-02] the owner's commands reach the controller over the socket, names resolved", () =>
  Effect.gen(function*() {
    const { root, asked, ended } = yield* daemon()
    const path = FleetSocketServer.fleetSocketPath(root)
    expect((statSync(path).mode & 0o777).toString(8)).toBe("600")
    const client = yield* FleetSocketClient.connect(root)
    expect(yield* client.status).toMatchObject({
      root,
      processId: process.pid,
      fleet: { fleetKey: "street", owner: "@alice:test" },
      lease: { state: "held", generation: 3 },
      outbox: { acknowledgments: 0, messages: 0, notices: 0 }
    })
    expect(yield* client.start(["reporter"])).toStrictEqual([{ name: "reporter", desired: "started", changed: true }])
    expect(yield* client.stop("all")).toStrictEqual([
      { name: "editor", desired: "stopped", changed: true },
      { name: "reporter", desired: "stopped", changed: false }
    ])
    const item = { agent: "editor", text: "Say hello", operationId, waitMillis: 5_000 }
    expect(yield* client.send(item)).toStrictEqual(delivered)
    expect(yield* Ref.get(asked)).toStrictEqual([
      `start ${reporter}`,
      `stop ${editor}`,
      `stop ${reporter}`,
      `send ${editor} Say hello ${operationId}`
    ])
    expect(yield* client.shutdown).toStrictEqual({ processId: process.pid })
    yield* Deferred.await(ended)
  }))

it.scopedLive("a direct input is answered as it stands when the wait is over", () =>
  Effect.gen(function*() {
    const { root } = yield* daemon()
    const client = yield* FleetSocketClient.connect(root)
    const item = { agent: "editor", text: "Say hello", operationId, waitMillis: 0 }
    expect(yield* client.send(item)).toStrictEqual({ state: "waiting" })
  }))

it.scopedLive("what cannot be done is refused whole, with the names that exist", () =>
  Effect.gen(function*() {
    const { root, asked } = yield* daemon()
    const client = yield* FleetSocketClient.connect(root)
    const unknown = yield* Effect.flip(client.stop(["editor", "nobody"]))
    expect(unknown).toMatchObject({ _tag: "AgentUnknown", name: "nobody", known: ["editor", "reporter"] })
    expect(unknown.message).toContain("Its agents are: editor, reporter")
    const item = { agent: "editor", text: " ", operationId, waitMillis: 0 }
    expect((yield* Effect.flip(client.send(item)))._tag).toBe("InputRejected")
    const long = yield* Effect.flip(client.send({ ...item, text: "x".repeat(1_000_001) }))
    expect(long.message).toContain("at most 1000000")
    expect(yield* Ref.get(asked)).toStrictEqual([])

    const empty = yield* daemon({ enrolled: false })
    const other = yield* FleetSocketClient.connect(empty.root)
    expect((yield* other.status).fleet).toBeNull()
    const refused = yield* Effect.flip(other.start("all"))
    expect(refused._tag).toBe("NotEnrolled")
    expect(refused.message).toContain("fleet enroll")
  }))

it.scopedLive("a caller that talks nonsense or hangs up costs the daemon nothing", () =>
  Effect.gen(function*() {
    const { root } = yield* daemon()
    const path = FleetSocketServer.fleetSocketPath(root)
    for (const words of ["GET / HTTP/1.1\r\n\r\n", "{}\n", "[1,2\n", "null\n", "x".repeat(9 * 1024 * 1024)]) {
      yield* Effect.async<void>((resume) => {
        const connection = createConnection({ path })
        connection.on("error", () => {})
        connection.on("close", () => resume(Effect.void))
        connection.end(words)
        connection.resume()
      }).pipe(Effect.timeoutOption("2 seconds"))
    }
    const client = yield* FleetSocketClient.connect(root)
    expect((yield* client.status).root).toBe(root)
  }))

/** A socket whose listener is gone, as `kill -9` leaves it. */
const staleSocket = (path: string) =>
  Effect.async<void>((resume) => {
    const server = createServer()
    server.listen(`${path}.first`, () => {
      renameSync(`${path}.first`, path)
      server.close(() => resume(Effect.void))
    })
  })

it.scopedLive("[C-02] why the daemon cannot be reached is told with what to do", () =>
  Effect.gen(function*() {
    const root = yield* scratchFolder
    const path = FleetSocketServer.fleetSocketPath(root)
    const refusal = Effect.flip(Effect.scoped(FleetSocketClient.connect(root)))
    const absent = yield* refusal
    expect(absent).toMatchObject({ _tag: "FleetdNotRunning", socket: "absent" })
    expect(absent.message).toContain(`fleet up --root ${root}`)

    yield* staleSocket(path)
    chmodSync(path, 0o600)
    expect(yield* refusal).toMatchObject({ _tag: "FleetdNotRunning", socket: "stale" })
    chmodSync(path, 0o666)
    expect(yield* refusal).toMatchObject({ _tag: "SocketUntrusted", problem: "not-private" })

    const other = yield* scratchFolder
    writeFileSync(FleetSocketServer.fleetSocketPath(other), "")
    expect(yield* Effect.flip(FleetSocketClient.connect(other))).toMatchObject({ problem: "not-a-socket" })
  }))

it.scopedLive("a daemon that ends in the middle of a call is told as silent, and its socket is gone", () =>
  Effect.gen(function*() {
    const { root, close } = yield* daemon()
    const client = yield* FleetSocketClient.connect(root)
    expect((yield* client.status).root).toBe(root)
    yield* close
    expect(existsSync(FleetSocketServer.fleetSocketPath(root))).toBe(false)
    expect((yield* Effect.flip(client.status))._tag).toBe("FleetdSilent")
    expect(yield* Effect.flip(FleetSocketClient.connect(root))).toMatchObject({ socket: "absent" })
  }))

it.scopedLive("[C-01] a root is this user's own private folder, known by its real path", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const root = join(folder, "made", "here")
    expect(yield* RootFolder.create(root)).toBe(root)
    expect((statSync(root).mode & 0o777).toString(8)).toBe("700")
    expect(yield* RootFolder.create(root)).toBe(root)
    symlinkSync(root, join(folder, "link"))
    expect(yield* RootFolder.open(join(folder, "link"))).toBe(root)

    const problem = (path: string, make = false) =>
      Effect.map(Effect.flip(make ? RootFolder.create(path) : RootFolder.open(path)), (error) => error.problem)
    expect(yield* problem(join(folder, "absent"))).toBe("missing")
    mkdirSync(join(folder, "open"), { mode: 0o755 })
    expect(yield* problem(join(folder, "open"), true)).toBe("not-private")
    writeFileSync(join(folder, "file"), "")
    expect(yield* problem(join(folder, "file"), true)).toBe("not-a-folder")
    expect(yield* problem(join(folder, "file", "below"), true)).toBe("not-a-folder")
    symlinkSync(join(folder, "nowhere"), join(folder, "dangling"))
    expect(yield* problem(join(folder, "dangling"), true)).toBe("broken-link")
    expect(yield* problem(join(folder, "d".repeat(100)), true)).toBe("too-long")
    expect(existsSync(join(folder, "d".repeat(100)))).toBe(false)
  }))
