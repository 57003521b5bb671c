// The homeserver as a service from before it runs: what needs it can be built first, and listen, and sees one that is down
// until it is started. It starts nothing itself.
import { type Context, Deferred, Duration, Effect } from "effect"
import type { RegistrationGate } from "../../domain/Signup.ts"
import { HomeserverProcess } from "../../services/HomeserverProcess.ts"
import { HomeserverUnavailable } from "../../services/Matrix.ts"

type Process = Context.Tag.Service<typeof HomeserverProcess>

/** As long as a change of a running one may take. */
const startedWithinSeconds = 25

export interface AwaitedProcess {
  readonly process: Process
  /** From then on it is that one. */
  readonly started: (process: Process) => Effect.Effect<void>
}

export const make = (known: { readonly baseUrl: string; readonly serverName: string }): Effect.Effect<AwaitedProcess> =>
  Effect.map(Deferred.make<Process>(), (running) => {
    const process = Deferred.await(running)
    /** Asked for last. It holds though nobody waits for it any more: the homeserver was configured before it was known. */
    let wanted: RegistrationGate | null = null
    const asWanted = ({ setRegistration }: Process) =>
      Effect.suspend(() => wanted === null ? Effect.void : setRegistration(wanted))
    return {
      process: HomeserverProcess.of({
        baseUrl: known.baseUrl,
        serverName: known.serverName,
        ready: Effect.flatMap(process, ({ ready }) => ready),
        pid: Effect.flatMap(
          Deferred.isDone(running),
          (isDone) => isDone ? Effect.flatMap(process, ({ pid }) => pid) : Effect.succeed(null)
        ),
        setRegistration: (gate) =>
          Effect.suspend(() => {
            wanted = gate
            return process
          }).pipe(
            Effect.timeoutFail({
              duration: Duration.seconds(startedWithinSeconds),
              onTimeout: () => new HomeserverUnavailable({ operation: "change who may register", status: null })
            }),
            Effect.flatMap(asWanted)
          )
      }),
      started: (process) =>
        Deferred.succeed(running, process).pipe(
          Effect.zipRight(asWanted(process)),
          // It goes on by itself; only the wait for it is over.
          Effect.catchAll(() => Effect.logWarning("the homeserver does not yet register people by the rule that holds"))
        )
    }
  })
