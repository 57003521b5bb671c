// The program's one listener, on loopback: bounded, and closed within a bound. TLS and other hosts are a reverse proxy's.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer, Schema } from "effect"
import { createServer } from "node:http"
import { keepRoom } from "./WaitingConnections.ts"

export class HttpPortInUse extends Schema.TaggedError<HttpPortInUse>()("HttpPortInUse", { port: Schema.Int }) {
  override get message(): string {
    return `Port ${this.port} is taken by another program. End that one, or set http.port in crossfire.toml`
  }
}

export class HttpListenFailed extends Schema.TaggedError<HttpListenFailed>()("HttpListenFailed", {
  port: Schema.Int,
  reason: Schema.String
}) {
  override get message(): string {
    return `crossfire could not listen on port ${this.port}: ${this.reason}`
  }
}

const headersWithinMillis = 10_000
const requestWithinMillis = 60_000
/** How often connections are looked at for the two bounds above. */
const lookMillis = 2_000
const maxHeaderBytes = 16 * 1024
const maxHeaders = 100
const maxConnections = 1_024
/** From here on waiting connections make room. */
const roomyConnections = 896
/** A kept connection without a next request. */
const keepAliveMillis = 15_000
/** How long requests under way may take at the end. Level streams never end by themselves and are cut then. */
const closeWithinMillis = 1_000

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "unknown"

export const layer = (port: number) =>
  Layer.unwrapEffect(Effect.sync(() => {
    const server = createServer({
      headersTimeout: headersWithinMillis,
      requestTimeout: requestWithinMillis,
      connectionsCheckingInterval: lookMillis,
      keepAliveTimeout: keepAliveMillis,
      maxHeaderSize: maxHeaderBytes,
      // Nothing here is a web socket: a request to become one is a request like any other, with the same bounds.
      shouldUpgradeCallback: () => false
    })
    // Where the runtime is older than that, it leaves a socket that asked to be upgraded without anybody who hears its
    // errors: one that is reset would end the program.
    server.on("connection", (socket) => socket.on("error", () => {}))
    server.maxHeadersCount = maxHeaders
    server.maxConnections = maxConnections
    keepRoom(server, roomyConnections)
    const closed = Effect.async<void>((resume) => {
      server.close(() => resume(Effect.void))
    })
    const close = closed.pipe(
      Effect.interruptible,
      Effect.timeoutOption(Duration.millis(closeWithinMillis)),
      Effect.zipRight(Effect.sync(() => server.closeAllConnections()))
    )
    const listening = NodeHttpServer.layer(() => server, { port, host: "127.0.0.1" }).pipe(
      Layer.mapError(({ cause }) =>
        codeOf(cause) === "EADDRINUSE"
          ? new HttpPortInUse({ port })
          : new HttpListenFailed({ port, reason: codeOf(cause) })
      )
    )
    // Built after it, so closed before it: the server's own end waits for every connection.
    return Layer.scopedDiscard(Effect.addFinalizer(() => close)).pipe(Layer.provideMerge(listening))
  }))
