// One running stage for all the tests of a file, in a folder of its own: made before them, ended after them, and nothing of
// it may be left then. Tests that break a part of it put it right again.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import { Context, Effect, Layer, Schema } from "effect"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FleetStatus } from "../../src/domain/api/FleetSocket.ts"
import * as Stage from "../../src/programs/demo/Stage.ts"
import { binary, run } from "../support/ProgramRun.ts"
import { processesOf } from "./MarkedProcesses.ts"

export interface RunningStage extends Stage.Stage {
  readonly folder: string
}

export class SharedStage extends Context.Tag("crossfire/test/e2e/SharedStage")<SharedStage, RunningStage>() {}

/** An own folder, gone with the scope; a process that still belongs to it then is a failure. */
export const stageFolder = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "crossfire-e2e-")))),
  (path) =>
    Effect.gen(function*() {
      const left = processesOf(path)
      for (const { processId } of left) process.kill(processId, "SIGKILL")
      rmSync(path, { recursive: true, force: true })
      const told = left.map(({ command, processId }) => `${processId} ${command}`)
      if (told.length > 0) return yield* Effect.dieMessage(`left behind: ${told.join("; ")}`)
    })
)

export const layer: Layer.Layer<SharedStage | HttpClient.HttpClient> = Layer.scoped(
  SharedStage,
  Effect.gen(function*() {
    const folder = yield* stageFolder
    const stage = yield* Stage.make({ folder, models: null, thinkMillis: 20, say: () => Effect.void })
    return { ...stage, folder }
  })
).pipe(Layer.orDie, Layer.provideMerge(NodeHttpClient.layerUndici))

export const fleet = (...args: ReadonlyArray<string>) => run(binary("fleet"), args)
export const crossfire = (...args: ReadonlyArray<string>) => run(binary("crossfire"), args)

/** A port of this machine that something listens on until the scope closes, or until it is let go. */
export const takenAt = (port: number) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly release: Effect.Effect<void> }>((resume) => {
      const server = createServer((connection) => void connection.destroy())
      const release = Effect.async<void>((done) => void server.close(() => done(Effect.void)))
      server.listen(port, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed({ port: typeof address === "object" && address !== null ? address.port : 0, release }))
      })
    }),
    ({ release }) => release
  )
export const takenPort = takenAt(0)

const readStatus = Schema.decodeUnknown(Schema.parseJson(FleetStatus))

/** What `fleet status --json` says. */
export const statusOf = (root: string) =>
  Effect.orDie(Effect.flatMap(fleet("status", "--json", "--root", root), ({ stdout }) => readStatus(stdout)))
