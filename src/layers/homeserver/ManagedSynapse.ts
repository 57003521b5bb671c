// Runs Synapse as a child of this program for as long as the scope is open: started once it is known to work, started again
// when it dies or is to take other settings, never left behind. Its files are the folder's, its settings the configuration's.
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
import type { RegistrationGate } from "../../domain/Signup.ts"
import type { HomeserverProcess } from "../../services/HomeserverProcess.ts"
import { HomeserverUnavailable } from "../../services/Matrix.ts"
import * as HomeserverHttp from "../matrix/HomeserverHttp.ts"
import type { HomeserverAccess } from "../matrix/Masquerade.ts"
import { type ManagedProcess, type ProcessEnd, spawn } from "../process/ManagedProcess.ts"
import { sweepMarked } from "../process/ProcessSweep.ts"
import { fileNames } from "./SynapseConfig.ts"
import { exists, type FolderConfig, type Kept, prepare as prepareFolder, writeSettings } from "./SynapseFolder.ts"
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
/** Below the time that a person's request may take, so that whoever asked hears how it went. */
const changeWithinSeconds = 25

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

/** The process that answers, and the gate that it was started with. */
interface Running {
  readonly pid: number
  readonly gate: RegistrationGate
}

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
    const running = yield* SubscriptionRef.make<Running | null>(null)
    const first = yield* Deferred.make<void, StartFailed>()
    /** Open when the process is to be started anew, by the settings as they are written then. */
    const anew = yield* Effect.makeLatch(false)
    let gate = config.registration

    /** From the sweep to the end of the process; success tells for how long it answered. */
    const life = (gate: RegistrationGate) =>
      Effect.gen(function*() {
        const left = yield* sweepMarked(["CROSSFIRE_HOMESERVER", kept.instanceId])
        if (left.length > 0) return yield* new LeftoverHomeserver({ pids: left })
        if (!(yield* portIsFree(kept.port))) return yield* new PortInUse({ port: kept.port })
        yield* makeSigningKey(prepared)
        const child = yield* run(prepared, [])
        yield* untilReady(http, prepared, child)
        const readyAt = yield* Clock.currentTimeMillis
        yield* Effect.acquireRelease(
          SubscriptionRef.set(running, { pid: child.pid, gate }),
          () => SubscriptionRef.set(running, null)
        )
        yield* Deferred.succeed(first, undefined)
        const end = yield* child.end
        yield* Effect.logWarning("the homeserver ended and is started again").pipe(
          Effect.annotateLogs({ code: end.code, signal: end.signal })
        )
        return ((yield* Clock.currentTimeMillis) - readyAt) / 1000
      }).pipe(Effect.scoped)

    const supervise = Effect.gen(function*() {
      let delaySeconds = firstRetrySeconds
      while (true) {
        // In this order: whoever asks for another start after it finds this process ended by it.
        yield* anew.close
        const exit = yield* Effect.exit(Effect.raceFirst(life(gate), Effect.as(anew.await, null)))
        if (Exit.isSuccess(exit) && exit.value === null) {
          yield* Effect.logInfo("the homeserver is started anew with other settings")
          delaySeconds = firstRetrySeconds
          continue
        }
        if (Exit.isFailure(exit)) {
          if (yield* Deferred.failCause(first, exit.cause)) return
          yield* Effect.logError("the homeserver could not be started again", exit.cause)
        }
        if (Exit.isSuccess(exit) && (exit.value ?? 0) >= stableAfterSeconds) delaySeconds = firstRetrySeconds
        yield* Effect.raceFirst(Effect.sleep(Duration.seconds(delaySeconds)), anew.await)
        delaySeconds = Math.min(delaySeconds * 2, maxRetrySeconds)
      }
    })
    yield* Effect.forkScoped(supervise)
    yield* Deferred.await(first)

    const turn = yield* Effect.makeSemaphore(1)
    const unavailable = new HomeserverUnavailable({ operation: "change who may register", status: null })
    const until = (holds: (now: Running) => boolean) =>
      Effect.asVoid(Stream.runHead(Stream.filter(running.changes, (now) => now !== null && holds(now))))

    /** The change itself is not cut off by whoever asks no longer; only the wait for it is. */
    const change = (wanted: RegistrationGate) =>
      Effect.uninterruptible(Effect.gen(function*() {
        if (gate === wanted) return
        yield* writeSettings({ ...config, registration: wanted }, kept).pipe(
          Effect.catchTag(
            "FolderUnusable",
            ({ message }) => Effect.logError(message).pipe(Effect.zipRight(Effect.fail(unavailable)))
          )
        )
        gate = wanted
        yield* anew.open
      }))

    return {
      baseUrl: prepared.access.baseUrl,
      serverName: config.serverName,
      ready: until(() => true),
      pid: Effect.map(SubscriptionRef.get(running), (now) => now?.pid ?? null),
      setRegistration: (wanted) =>
        turn.withPermits(1)(
          Effect.zipRight(
            change(wanted),
            Effect.timeoutFail(until((now) => now.gate === wanted), {
              duration: Duration.seconds(changeWithinSeconds),
              onTimeout: () => unavailable
            })
          )
        )
    }
  })
