// A small HTTP server on loopback or a Unix socket, for few local callers. Closing its scope ends its connections at once,
// and with them what they asked for.
import { Effect, Schema, type Scope } from "effect"
import { chmod } from "node:fs/promises"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", { reason: Schema.String }) {
  override get message(): string {
    return `The server could not listen: ${this.reason}`
  }
}

/** A local caller sends its request at once; a call itself may take longer. */
const headersWithinMillis = 10_000
const requestWithinMillis = 60_000
const maxHeaderBytes = 16 * 1024
const maxConnections = 64

/** The kernel's room for a socket's path, without its closing zero. */
export const maxSocketPathBytes = 107

export type Listening =
  | { readonly port: number }
  /** Reachable for this user alone. The folder must be private already: between bind and chmod only it protects. */
  | { readonly socketPath: string }

const codeOf = (cause: Error): string => "code" in cause && typeof cause.code === "string" ? cause.code : cause.message

const listen = (server: Server, where: Listening) =>
  Effect.async<void, ListenFailed>((resume) => {
    const failed = (cause: Error) => resume(Effect.fail(new ListenFailed({ reason: codeOf(cause) })))
    server.once("error", failed)
    const options = "port" in where ? { host: "127.0.0.1", port: where.port } : { path: where.socketPath }
    server.listen(options, () => {
      server.off("error", failed)
      resume(Effect.void)
    })
  })

/** Listens until the scope closes. Answers the port that was taken (0 for a socket). */
export const serve = (
  where: Listening,
  handle: (request: IncomingMessage, response: ServerResponse) => void
): Effect.Effect<number, ListenFailed, Scope.Scope> =>
  Effect.gen(function*() {
    if ("socketPath" in where && Buffer.byteLength(where.socketPath) > maxSocketPathBytes) {
      return yield* new ListenFailed({
        reason: `its path is longer than ${maxSocketPathBytes} bytes; use a folder with a shorter one`
      })
    }
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const server = createServer({
          headersTimeout: headersWithinMillis,
          requestTimeout: requestWithinMillis,
          maxHeaderSize: maxHeaderBytes
        }, handle)
        server.maxConnections = maxConnections
        return server
      }),
      (server) =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    yield* listen(server, where)
    if ("socketPath" in where) {
      const { socketPath } = where
      yield* Effect.tryPromise({
        try: () => chmod(socketPath, 0o600),
        catch: () => new ListenFailed({ reason: "the socket's mode could not be set" })
      })
      return 0
    }
    return (server.address() as AddressInfo).port
  })
