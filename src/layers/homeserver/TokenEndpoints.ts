// The way of the registrar's access token to the homeserver: to the endpoints of registration tokens and to nothing else,
// whatever is asked for. An administrator's token could take over every account.
import { Effect, Redacted, Schema } from "effect"
import * as HomeserverHttp from "../matrix/HomeserverHttp.ts"

const prefix = "/_synapse/admin/v1/registration_tokens"

/** It would lead elsewhere. Nothing was sent. */
export class AddressRefused extends Schema.TaggedError<AddressRefused>()("AddressRefused", {}) {
  override get message(): string {
    return "The administrator's token of the homeserver is for its registration tokens only"
  }
}

/** The address of the collection, or of one token below it; dots and slashes of a name lead nowhere else. */
export const addressOf = (baseUrl: string, name: string | null): Effect.Effect<URL, AddressRefused> => {
  const path = name === null ? prefix : `${prefix}/${encodeURIComponent(name.toWellFormed())}`
  const url = URL.parse(`${baseUrl}${path}`)
  const isWithin = url !== null && url.origin === URL.parse(baseUrl)?.origin && url.pathname.endsWith(path) &&
    name !== "" && url.search === "" && url.hash === ""
  return isWithin ? Effect.succeed(url) : Effect.fail(new AddressRefused())
}

export interface TokenRequest {
  readonly operation: string
  readonly method: "GET" | "POST" | "DELETE"
  /** The token, or null for all of them. */
  readonly name: string | null
  readonly body?: Readonly<Record<string, unknown>>
}

const writeBody = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

export const make = (baseUrl: string) =>
  Effect.map(
    HomeserverHttp.make,
    (http) => <A, I>(accessToken: Redacted.Redacted, request: TokenRequest, schema: Schema.Schema<A, I>) =>
      Effect.gen(function*() {
        const url = yield* addressOf(baseUrl, request.name)
        const answer = yield* http.exchange({
          operation: request.operation,
          method: request.method,
          url,
          headers: {
            authorization: `Bearer ${Redacted.value(accessToken)}`,
            ...request.body === undefined ? {} : { "content-type": "application/json" }
          },
          ...request.body === undefined ? {} : { body: new TextEncoder().encode(writeBody(request.body)) },
          deadlineSeconds: HomeserverHttp.writeDeadlineSeconds
        })
        return yield* HomeserverHttp.decodeAnswer(request.operation, schema)(answer)
      })
  )
