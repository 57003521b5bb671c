// The way of the `agent` command to the socket of its activation. It keeps nothing and retries nothing.
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import { Duration, Effect, Schema } from "effect"
import { AgentSocketApi, type SendRequest } from "../../domain/api/AgentSocket.ts"
import { systemCode } from "../files/SystemCode.ts"
import * as SocketHttpClient from "../http/SocketHttpClient.ts"

/** Nothing was sent. */
export class AgentSocketAbsent extends Schema.TaggedError<AgentSocketAbsent>()("AgentSocketAbsent", {
  reason: Schema.Literal("absent", "refused", "not-permitted")
}) {
  override get message(): string {
    const told = {
      absent: "The messaging socket of this session is gone: the daemon has stopped, or this session has ended",
      refused: "Nobody listens at the messaging socket of this session: the daemon has stopped or is starting again",
      "not-permitted": "This sandbox does not permit the messaging socket. Use the tool `room_send` instead"
    }
    return `${told[this.reason]}. Nothing was sent`
  }
}

/** The call broke off: it is not known whether the message was taken. */
export class AgentSocketSilent extends Schema.TaggedError<AgentSocketSilent>()("AgentSocketSilent", {}) {
  override get message(): string {
    return "The messaging socket gave no usable answer. It is not known whether the message was sent: " +
      "look into the room before you send it again"
  }
}

const maxAnswerBytes = 64 * 1024
const deadline = Duration.seconds(30)

const absences: Readonly<Record<string, AgentSocketAbsent["reason"]>> = {
  ENOENT: "absent",
  ECONNREFUSED: "refused",
  EPERM: "not-permitted",
  EACCES: "not-permitted"
}

export const connect = (socketPath: string) =>
  Effect.gen(function*() {
    const client = yield* HttpApiClient.makeWith(AgentSocketApi, {
      baseUrl: "http://localhost",
      httpClient: SocketHttpClient.make(socketPath, maxAnswerBytes)
    })
    const silent = () => new AgentSocketSilent()
    const bounded = Effect.timeoutFail({ duration: deadline, onTimeout: silent })
    const reached = (cause: unknown) => {
      const reason = absences[systemCode(cause) ?? ""]
      return Effect.fail(reason === undefined ? silent() : new AgentSocketAbsent({ reason }))
    }
    return {
      send: (payload: SendRequest) =>
        client.send({ payload }).pipe(
          Effect.catchTags({
            RequestError: ({ cause }) => reached(cause),
            ResponseError: () => Effect.fail(silent()),
            ParseError: () => Effect.fail(silent()),
            HttpApiDecodeError: () => Effect.fail(silent())
          }),
          bounded
        ),
      whoami: client.whoami({}).pipe(
        Effect.catchTags({
          RequestError: ({ cause }) => reached(cause),
          ResponseError: () => Effect.fail(silent()),
          ParseError: () => Effect.fail(silent()),
          HttpApiDecodeError: () => Effect.fail(silent())
        }),
        bounded
      )
    }
  })
