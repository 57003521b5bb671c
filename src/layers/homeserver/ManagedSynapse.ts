// Runs Synapse as a child of this program for as long as the scope is open: started once it is known to work, started again
// when it dies, never left behind. Its files are the folder's and its settings the configuration's.
import {
  Clock,
  type Context,
  Deferred,
  Duration,
  Effect,
  Exit,
  Option,
  type Redacted,
  type Scope,
  Stream,
  SubscriptionRef
} from "effect"
import type { HomeserverProcess } from "../../services/HomeserverProcess.ts"
import * as HomeserverHttp from "../matrix/HomeserverHttp.ts"
import type { HomeserverAccess } from "../matrix/Masquerade.ts"
import { type ManagedProcess, type ProcessEnd, spawn } from "../process/ManagedProcess.ts"
import { sweepMarked } from "../process/ProcessSweep.ts"
import { fileNames } from "./SynapseConfig.ts"
import { exists, type FolderConfig, type Kept, prepare as prepareFolder } from "./SynapseFolder.ts"
import {
  HomeserverEnded,
  HomeserverSilent,
  LeftoverHomeserver,
  logTail,
  PortInUse,
  portIsFree,
  type StartFailed,
  SynapseMissing
} from "./SynapseStart.ts"

export interface ManagedSynapseConfig extends FolderConfig {
  /** The Python of the virtual environment that has Synapse. */
  readonly python: string
  /** `homeserver/launch.py`, absolute. */
  readonly launcher: string
}

/** A homeserver that is configured and not started: its tokens are known, so that crossfire can listen before it pushes. */
export interface PreparedSynapse {
  readonly config: ManagedSynapseConfig
  readonly kept: Kept
  readonly access: HomeserverAccess
  readonly hsToken: Redacted.Redacted
  readonly registrationSharedSecret: Redacted.Redacted
}

/** Its start takes 1 to 3 s; a large database that is brought to a new schema takes longer. */
const startWithinSeconds = 120
const stopWithinSeconds = 10
const pollMillis = 100
const firstRetrySeconds = 1
const maxRetrySeconds = 60
/** After one that answered for so long, the delays begin anew. */
const stableAfterSeconds = 60
const signingKeyWithinSeconds = 60

export const prepare = (config: ManagedSynapseConfig) =>
  Effect.map(prepareFolder(config), (kept): PreparedSynapse => ({
    config,
    kept,
    access: {
      baseUrl: `http://127.0.0.1:${kept.port}`,
      serverName: config.serverName,
      asToken: kept.asToken,
      serviceId: config.serviceId
    },
    hsToken: kept.hsToken,
    registrationSharedSecret: kept.registrationSharedSecret
  }))

const run = ({ config, kept }: PreparedSynapse, args: ReadonlyArray<string>) =>
  spawn({
    command: config.python,
    args: [config.launcher, String(process.pid), "--config-path", `${config.folder}/${fileNames.settings}`, ...args],
    cwd: config.folder,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", HOME: config.folder },
    marker: ["CROSSFIRE_HOMESERVER", kept.instanceId],
    grace: Duration.seconds(stopWithinSeconds),
    stopBy: "signal"
  }).pipe(
    Effect.catchTag("SpawnFailed", () => Effect.fail(new SynapseMissing({ python: config.python }))),
    // Nothing is expected there, and a full pipe would stop it.
    Effect.tap((child) => Effect.forkScoped(Stream.runDrain(child.stdout)))
  )

const ended = ({ config, kept }: PreparedSynapse, end: ProcessEnd) =>
  Effect.gen(function*() {
    if (end.stderrTail.includes("No module named")) return new SynapseMissing({ python: config.python })
    const log = yield* logTail(`${config.folder}/${fileNames.log}`)
    if (`${end.stderrTail}${log}`.includes("Address already in use")) return new PortInUse({ port: kept.port })
    return new HomeserverEnded({ code: end.code, signal: end.signal, lastLines: `${log}\n${end.stderrTail}`.trim() })
  })

const makeSigningKey = (prepared: PreparedSynapse) =>
  Effect.gen(function*() {
    if (yield* exists(`${prepared.config.folder}/${fileNames.signingKey}`)) return
    const child = yield* run(prepared, ["--generate-keys"])
    const end = yield* Effect.timeoutOption(child.end, Duration.seconds(signingKeyWithinSeconds))
    if (Option.isNone(end)) return yield* new HomeserverSilent({ port: null, seconds: signingKeyWithinSeconds })
    if (end.value.code !== 0) return yield* Effect.flip(ended(prepared, end.value))
  }).pipe(Effect.scoped)

/** Waits for the first answer; the process's end or too long a silence fails. */
const untilReady = (http: HomeserverHttp.HomeserverHttp, prepared: PreparedSynapse, child: ManagedProcess) =>
  HomeserverHttp.answers(http, prepared.access.baseUrl).pipe(
    Effect.tap((ready) => ready ? Effect.void : Effect.sleep(Duration.millis(pollMillis))),
    Effect.repeat({ until: (ready) => ready }),
    Effect.raceFirst(Effect.flatMap(child.end, (end) => Effect.flip(ended(prepared, end)))),
    Effect.timeoutFail({
      duration: Duration.seconds(startWithinSeconds),
      onTimeout: () => new HomeserverSilent({ port: prepared.kept.port, seconds: startWithinSeconds })
    })
  )

/**
 * Starts it and answers once it does. From then on a homeserver that ends is started again, with growing delays; that
 * it is down is told by `ready` and `pid`.
 */
export const start = (
  prepared: PreparedSynapse
): Effect.Effect<Context.Tag.Service<typeof HomeserverProcess>, StartFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const { config, kept } = prepared
    if (!(yield* exists(config.python))) return yield* new SynapseMissing({ python: config.python })
    const http = yield* HomeserverHttp.make
    const pid = yield* SubscriptionRef.make<number | null>(null)
    const first = yield* Deferred.make<void, StartFailed>()

    /** From the sweep to the end of the process; success tells for how long it answered. */
    const life = Effect.gen(function*() {
      const left = yield* sweepMarked(["CROSSFIRE_HOMESERVER", kept.instanceId])
      if (left.length > 0) return yield* new LeftoverHomeserver({ pids: left })
      if (!(yield* portIsFree(kept.port))) return yield* new PortInUse({ port: kept.port })
      yield* makeSigningKey(prepared)
      const child = yield* run(prepared, [])
      yield* untilReady(http, prepared, child)
      const readyAt = yield* Clock.currentTimeMillis
      yield* SubscriptionRef.set(pid, child.pid)
      yield* Deferred.succeed(first, undefined)
      const end = yield* child.end
      yield* SubscriptionRef.set(pid, null)
      yield* Effect.logWarning("the homeserver ended and is started again").pipe(
        Effect.annotateLogs({ code: end.code, signal: end.signal })
      )
      return ((yield* Clock.currentTimeMillis) - readyAt) / 1000
    }).pipe(Effect.scoped)

    const supervise = Effect.gen(function*() {
      let delaySeconds = firstRetrySeconds
      while (true) {
        const exit = yield* Effect.exit(life)
        if (Exit.isFailure(exit)) {
          if (yield* Deferred.failCause(first, exit.cause)) return
          yield* Effect.logError("the homeserver could not be started again", exit.cause)
        }
        if (Exit.isSuccess(exit) && exit.value >= stableAfterSeconds) delaySeconds = firstRetrySeconds
        yield* Effect.sleep(Duration.seconds(delaySeconds))
        delaySeconds = Math.min(delaySeconds * 2, maxRetrySeconds)
      }
    })
    yield* Effect.forkScoped(supervise)
    yield* Deferred.await(first)

    const isUp = (current: number | null) => current !== null
    return {
      baseUrl: prepared.access.baseUrl,
      serverName: config.serverName,
      ready: Effect.asVoid(Stream.runHead(Stream.filter(pid.changes, isUp))),
      pid: SubscriptionRef.get(pid)
    }
  })
