// The way of the command line to the server that runs in a data folder: checks whose socket it is before a word is said.
// Why it could not is told with what to do.
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import { Duration, Effect, ParseResult, Schema } from "effect"
import { OperatorApi } from "../../domain/api/Operator.ts"
import * as OwnSocket from "../../layers/files/OwnSocket.ts"
import * as SocketHttpClient from "../../layers/http/SocketHttpClient.ts"
import { operatorSocketPath } from "./OperatorSocket.ts"

export class ServerNotRunning extends Schema.TaggedError<ServerNotRunning>()("ServerNotRunning", {
  data: Schema.String
}) {
  override get message(): string {
    return `crossfire does not run in ${this.data}. Start it with: crossfire serve --data ${this.data}`
  }
}

/** Nothing was sent: whoever listens there may not be this user's server. */
export class OperatorSocketUntrusted extends Schema.TaggedError<OperatorSocketUntrusted>()("OperatorSocketUntrusted", {
  path: Schema.String,
  problem: Schema.Literal("not-a-socket", "foreign", "not-private", "unreachable")
}) {
  override get message(): string {
    const told = {
      "not-a-socket": `${this.path} is not a socket. Move it away and start crossfire again`,
      foreign: `${this.path} belongs to another user, and nothing was sent to it. Run this as the user of crossfire`,
      "not-private":
        `${this.path} can be used by other users, and nothing was sent to it. Start crossfire again to make it anew`,
      unreachable: `${this.path} cannot be reached`
    }
    return told[this.problem]
  }
}

/** The command may have been carried out or not. */
export class ServerSilent extends Schema.TaggedError<ServerSilent>()("ServerSilent", {}) {
  override get message(): string {
    return "crossfire gave no usable answer. Look at how things stand before you run the command again"
  }
}

const maxAnswerBytes = 4 * 1024 * 1024
/** A homeserver that is started anew answers within it, or crossfire says that it did not. */
const deadline = Duration.seconds(60)

/** What a change of one person can fail with. */
export type CallError = Effect.Effect.Error<ReturnType<Client["setRole"]>>

type Unreached = HttpClientError | ParseResult.ParseError

const isUnreached = (error: unknown): error is Unreached =>
  ParseResult.isParseError(error) ||
  (typeof error === "object" && error !== null && "_tag" in error &&
    (error._tag === "RequestError" || error._tag === "ResponseError" || error._tag === "HttpApiDecodeError"))

const checkSocket = (data: string) => {
  const path = operatorSocketPath(data)
  return OwnSocket.checked(path).pipe(
    Effect.mapError((problem) =>
      problem === "absent" || problem === "stale"
        ? new ServerNotRunning({ data })
        : new OperatorSocketUntrusted({ path, problem })
    ),
    Effect.as(path)
  )
}

const makeClient = (path: string) =>
  HttpApiClient.makeWith(OperatorApi, {
    baseUrl: "http://localhost",
    httpClient: SocketHttpClient.make(path, maxAnswerBytes)
  })
export type Client = Effect.Effect.Success<ReturnType<typeof makeClient>>

/** Calls the server once. */
export const call = <A, E>(data: string, exchange: (client: Client) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const client = yield* makeClient(yield* checkSocket(data))
    return yield* exchange(client).pipe(
      Effect.catchIf(
        (error): error is Extract<E, Unreached> => isUnreached(error),
        () => Effect.fail(new ServerSilent())
      ),
      Effect.timeoutFail({ duration: deadline, onTimeout: () => new ServerSilent() })
    )
  })
