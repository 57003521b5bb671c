// Acting as a user of crossfire's namespace: addresses with `user_id` and the stable device on every call, reads over the
// bounded exchange, and the Matrix SDK's client for what it does well. It holds the access token and shows it to nobody.
import { Cause, Effect, Redacted, Runtime, type Schema } from "effect"
import { MatrixClient } from "matrix-js-sdk/lib/client.js"
import type { Logger } from "matrix-js-sdk/lib/logger.js"
import type { UserId } from "../../domain/Ids.ts"
import { HomeserverUnavailable, type MatrixError, MatrixRefused, namespacePrefix } from "../../services/Matrix.ts"
import {
  decodeAnswer,
  type Exchange,
  failureOf,
  type HomeserverHttp,
  readDeadlineSeconds,
  writeDeadlineSeconds
} from "./HomeserverHttp.ts"

export interface HomeserverAccess {
  /** Where the homeserver's client API answers, `http://127.0.0.1:8008`. */
  readonly baseUrl: string
  readonly serverName: string
  /** The application service's token: crossfire to homeserver. */
  readonly asToken: Redacted.Redacted
  /** The application service's ID in its registration. */
  readonly serviceId: string
}

/**
 * The one device of every user that crossfire acts as. With it a transaction ID keeps its meaning over a homeserver
 * restart; without it the same send is stored twice (seen).
 */
export const deviceId = "CFDEV"

/** Encoded for a path, or null: a lone dot segment would be resolved by the URL itself and reach another endpoint. */
const segment = (text: string): string | null =>
  text === "." || text === ".." ? null : encodeURIComponent(text.toWellFormed())

/** The path of these parts, or null where one of them cannot stand in a path. */
export const pathOf = (parts: ReadonlyArray<string>): string | null => {
  const encoded = parts.map(segment)
  return encoded.includes(null) ? null : `/${encoded.join("/")}`
}

export interface Masquerade {
  readonly access: HomeserverAccess
  /** Whether the user belongs to crossfire's namespace on this server; every call for another one is refused here. */
  readonly owns: (user: UserId) => boolean
  /** GET as that user; the path's parts are encoded here. `read` turns the exchange into the answer's value. */
  readonly get: <A, E>(
    operation: string,
    as: UserId | null,
    path: ReadonlyArray<string>,
    query: Readonly<Record<string, string>>,
    read: (exchange: Exchange) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E | MatrixRefused>
  readonly getJson: <A, I>(
    operation: string,
    as: UserId | null,
    path: ReadonlyArray<string>,
    query: Readonly<Record<string, string>>,
    schema: Schema.Schema<A, I>
  ) => Effect.Effect<A, MatrixError>
  /**
   * One call with an SDK client that acts as the user, as itself without one. Interruption and the deadline reach the
   * request; the SDK's own errors are not looked at.
   */
  readonly withClient: <A>(
    operation: string,
    as: UserId | null,
    call: (client: MatrixClient) => Promise<A>
  ) => Effect.Effect<A, MatrixError>
}

const silent: Logger = {
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  getChild: () => silent
}

const bodyBytes = (body: unknown): Uint8Array | undefined => {
  if (body instanceof Uint8Array) return body
  return typeof body === "string" ? new TextEncoder().encode(body) : undefined
}

export const make = (http: HomeserverHttp, access: HomeserverAccess): Masquerade => {
  const authorization = { authorization: `Bearer ${Redacted.value(access.asToken)}` }
  const base = access.baseUrl.replace(/\/+$/u, "")
  const identity = (as: UserId | null): Readonly<Record<string, string>> =>
    as === null ? {} : { user_id: as, device_id: deviceId }
  const owns = (user: UserId) => user.startsWith(`@${namespacePrefix}`) && user.endsWith(`:${access.serverName}`)
  const notOurs = (operation: string) => new MatrixRefused({ operation, status: 403, errcode: "M_FORBIDDEN" })

  const get: Masquerade["get"] = (operation, as, path, query, read) => {
    const encoded = pathOf(path)
    if (encoded === null) return Effect.fail(new MatrixRefused({ operation, status: 400, errcode: "M_INVALID_PARAM" }))
    if (as !== null && !owns(as)) return Effect.fail(notOurs(operation))
    const url = new URL(`${base}${encoded}`)
    for (const [name, value] of Object.entries({ ...query, ...identity(as) })) url.searchParams.set(name, value)
    return read({ operation, method: "GET", url, headers: authorization, deadlineSeconds: readDeadlineSeconds })
  }

  const getJson: Masquerade["getJson"] = (operation, as, path, query, schema) =>
    get(
      operation,
      as,
      path,
      query,
      (exchange) => Effect.flatMap(http.exchange(exchange), decodeAnswer(operation, schema))
    )

  const withClient: Masquerade["withClient"] = (operation, as, call) =>
    Effect.gen(function*() {
      if (as !== null && !owns(as)) return yield* notOurs(operation)
      const runPromise = Runtime.runPromise(yield* Effect.runtime())
      // What the SDK throws depends on what it made of the answer; the answer itself says it better.
      let failure: MatrixError | null = null
      return yield* Effect.tryPromise({
        try: (signal) => {
          const fetchFn: typeof globalThis.fetch = async (input, init) => {
            const body = bodyBytes(init?.body)
            const method = init?.method === "PUT" || init?.method === "POST" ? init.method : "GET"
            const exchange = http.exchange({
              operation,
              method,
              url: new URL(String(input)),
              headers: Object.fromEntries(new Headers(init?.headers)),
              ...body === undefined ? {} : { body },
              deadlineSeconds: method === "GET" ? readDeadlineSeconds : writeDeadlineSeconds
            })
            failure = new HomeserverUnavailable({ operation, status: null })
            const answer = await runPromise(exchange, { signal })
            failure = failureOf(operation, answer) ?? new HomeserverUnavailable({ operation, status: answer.status })
            return new Response(new Uint8Array(answer.body), { status: answer.status, headers: answer.headers })
          }
          const client = new MatrixClient({
            baseUrl: base,
            accessToken: Redacted.value(access.asToken),
            ...as === null ? {} : { userId: as, queryParams: { ...identity(as) } },
            fetchFn,
            logger: silent
          })
          return call(client)
        },
        // Without any request, the SDK itself was called wrongly.
        catch: (cause) => failure ?? new Cause.UnknownException(cause)
      }).pipe(Effect.catchTag("UnknownException", (unknown) => Effect.die(unknown.cause)))
    })

  return { access, owns, get, getJson, withClient }
}
