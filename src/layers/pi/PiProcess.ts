// Starts Pi in RPC mode: its arguments, its environment, and the end that leaves nothing behind.
import { Effect, type Scope } from "effect"
import { join } from "node:path"
import type { RunId } from "../../domain/Ids.ts"
import type { EngineUnavailable } from "../../services/NativeEngine.ts"
import { engineEnvironment } from "../engine/EngineEnvironment.ts"
import { type ManagedProcess, spawn } from "../process/ManagedProcess.ts"
import { runMarker } from "../process/RunMarker.ts"
import type { PiHome } from "./PiHome.ts"
import { unavailable } from "./PiInstall.ts"

export interface PiProgram {
  /** Pi's `cli.js`; absolute. */
  readonly cliPath: string
  /** The Node binary that runs it; absolute. */
  readonly nodePath: string
  /** The daemon's own environment. Only the allowed names go on to Pi: no `PI_*`, no provider key, no token. */
  readonly hostEnvironment: Readonly<Record<string, string | undefined>>
  /** What the owner gives on purpose, a proxy for instance. */
  readonly extraEnvironment: Readonly<Record<string, string>>
}

/**
 * Pi keeps compiled code for its next start, by itself in a folder of `/tmp` that all users share. Named here, it is
 * private; by an argument, since a variable would make every Node that the agent runs write there too.
 */
const compileCache = (home: PiHome): ReadonlyArray<string> => {
  const folder = JSON.stringify(join(home.folder, "compile-cache"))
  const module = `import { enableCompileCache } from "node:module"; enableCompileCache(${folder})`
  return ["--import", `data:text/javascript,${encodeURIComponent(module)}`]
}

/** How long each of stdin close and SIGTERM may take. Pi itself needs 30 ms. */
const grace = "5 seconds"

export const environmentOf = (
  program: Pick<PiProgram, "hostEnvironment" | "extraEnvironment">,
  home: PiHome,
  socketPath: string | null
): Record<string, string> => ({
  ...engineEnvironment(program),
  PI_CODING_AGENT_DIR: home.folder,
  // Else the translated extension is read from a folder of `/tmp` that all users share, whoever wrote it (120 ms a start).
  JITI_FS_CACHE: "false",
  PI_OFFLINE: "1",
  PI_SKIP_VERSION_CHECK: "1",
  PI_TELEMETRY: "0",
  ...(socketPath === null ? {} : { FLEET_SOCKET: socketPath })
})

/**
 * `--no-approve` and `--no-extensions`: nothing that lies in a work folder runs inside Pi, only what is named here.
 * (Pi has no flag for "RPC without a session file", hence the caller's `session` arguments.)
 */
export const start = (
  program: PiProgram,
  home: PiHome,
  run: {
    readonly runId: RunId
    readonly workFolder: string
    readonly socketPath: string | null
    readonly args: ReadonlyArray<string>
  }
): Effect.Effect<ManagedProcess, EngineUnavailable, Scope.Scope> =>
  spawn({
    command: program.nodePath,
    args: [...compileCache(home), program.cliPath, "--mode", "rpc", "-na", "-ne", ...run.args],
    cwd: run.workFolder,
    env: environmentOf(program, home, run.socketPath),
    marker: runMarker(run.runId),
    grace,
    stopBy: "stdin"
  }).pipe(Effect.mapError((error) => unavailable(error.message)))
