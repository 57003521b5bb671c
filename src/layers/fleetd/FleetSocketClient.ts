// The way of `fleet` to the daemon of a root: checks whose socket it is before a word is said, then calls it, each call
// within a deadline. Why it could not is told with what to do.
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import { isSocketError, Socket } from "@effect/platform/Socket"
import * as RpcClient from "@effect/rpc/RpcClient"
import type { RpcClientError } from "@effect/rpc/RpcClientError"
import * as RpcSerialization from "@effect/rpc/RpcSerialization"
import { Duration, Effect, Layer, Option, Schedule, Schema } from "effect"
import { type AgentSelection, FleetSocketRpcs } from "../../domain/api/FleetSocket.ts"
import type { OperationId } from "../../domain/Ids.ts"
import * as OwnSocket from "../files/OwnSocket.ts"
import { fleetSocketPath, maxSocketMessageUnits } from "./FleetSocketServer.ts"

export class FleetdNotRunning extends Schema.TaggedError<FleetdNotRunning>()("FleetdNotRunning", {
  root: Schema.String,
  /** `stale`: a daemon that was killed left its socket behind. */
  socket: Schema.Literal("absent", "stale")
}) {
  override get message(): string {
    const left = this.socket === "stale" ? " (a daemon that was killed left its socket; the next start removes it)" : ""
    return `fleetd does not run in ${this.root}${left}. Start it with: fleet up --root ${this.root}`
  }
}

/** Nothing was sent: whoever listens there may not be this user's fleetd. */
export class SocketUntrusted extends Schema.TaggedError<SocketUntrusted>()("SocketUntrusted", {
  path: Schema.String,
  problem: Schema.Literal("not-a-socket", "foreign", "not-private", "unreachable")
}) {
  override get message(): string {
    const told = {
      "not-a-socket": `${this.path} is not a socket. Move it away and start fleetd again with: fleet up`,
      foreign: `${this.path} belongs to another user, and nothing was sent to it. Move it away, then: fleet up`,
      "not-private": `${this.path} can be used by other users, and nothing was sent to it. ` +
        "Restart fleetd to make it anew: fleet down, then fleet up",
      unreachable: `${this.path} cannot be reached`
    }
    return told[this.problem]
  }
}

/** The connection ended or the answer did not come: the command may have been carried out or not. */
export class FleetdSilent extends Schema.TaggedError<FleetdSilent>()("FleetdSilent", {
  operation: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `fleetd gave no answer to "${this.operation}": ${this.reason}. See how things stand with: fleet status`
  }
}

const connectDeadline = Duration.seconds(5)
const callDeadline = Duration.seconds(15)
/** Up to three exchanges with crossfire. */
const rotateDeadline = Duration.seconds(100)
/** fleetd gives the engines their own bounded time to end. */
const stopDeadline = Duration.seconds(90)

const checkSocket = (root: string, path: string) =>
  Effect.mapError(
    OwnSocket.checked(path),
    (problem) =>
      problem === "absent" || problem === "stale"
        ? new FleetdNotRunning({ root, socket: problem })
        : new SocketUntrusted({ path, problem })
  )

/** `root` is a folder that was checked to be this user's own. */
export const connect = (root: string) =>
  Effect.gen(function*() {
    const path = fleetSocketPath(root)
    yield* checkSocket(root, path)
    const protocol = RpcClient.layerProtocolSocket({ retrySchedule: Schedule.stop }).pipe(
      Layer.provide(Layer.effect(Socket, NodeSocket.makeNet({ path, openTimeout: connectDeadline }))),
      Layer.provide(RpcSerialization.layerNdjsonWith({ maxBufferSize: maxSocketMessageUnits }))
    )
    const context = yield* Effect.orDie(Layer.build(protocol))
    const client = yield* Effect.provide(RpcClient.make(FleetSocketRpcs, { disableTracing: true }), context)

    const call = <A, E>(
      operation: string,
      deadline: Duration.Duration,
      exchange: Effect.Effect<A, E | RpcClientError>
    ) =>
      exchange.pipe(
        Effect.catchIf(
          (error): error is RpcClientError & E =>
            typeof error === "object" && error !== null && "_tag" in error && error._tag === "RpcClientError",
          () => Effect.fail(new FleetdSilent({ operation, reason: "the connection ended" }))
        ),
        // A write to a connection that the daemon has closed is reported as a defect.
        Effect.catchSomeDefect((defect) =>
          isSocketError(defect)
            ? Option.some(Effect.fail(new FleetdSilent({ operation, reason: "the connection ended" })))
            : Option.none()
        ),
        Effect.timeoutFail({
          duration: deadline,
          onTimeout: () => new FleetdSilent({ operation, reason: `none within ${Duration.toSeconds(deadline)} s` })
        })
      )
    return {
      status: call("status", callDeadline, client.status()),
      start: (selection: AgentSelection) => call("start", callDeadline, client.start({ selection })),
      stop: (selection: AgentSelection) => call("stop", stopDeadline, client.stop({ selection })),
      send: (item: {
        readonly agent: string
        readonly text: string
        readonly operationId: OperationId
        readonly waitMillis: number
      }) => call("send", Duration.sum(callDeadline, Duration.millis(item.waitMillis)), client.send(item)),
      deliveries: (limit: number) => call("deliveries", callDeadline, client.deliveries({ limit })),
      rotateCredentials: call("credentials rotate", rotateDeadline, client.rotateCredentials()),
      shutdown: call("shutdown", callDeadline, client.shutdown())
    }
  })

export type FleetSocketClient = Effect.Effect.Success<ReturnType<typeof connect>>
