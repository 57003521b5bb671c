// Why a managed Synapse did not start, each with what to do about it, and the looks at port and log that tell.
import { Duration, Effect, Schema } from "effect"
import { open } from "node:fs/promises"
import { createServer } from "node:net"

export class SynapseMissing extends Schema.TaggedError<SynapseMissing>()("SynapseMissing", { python: Schema.String }) {
  override get message(): string {
    return `Synapse is not installed at ${this.python}. Install it with: npm run setup. If crossfire.toml names another Python, correct homeserver.python there`
  }
}

export class PortInUse extends Schema.TaggedError<PortInUse>()("PortInUse", { port: Schema.Int }) {
  override get message(): string {
    return `Another program listens on 127.0.0.1:${this.port}, where the homeserver is to answer. End that program, or set homeserver.port in crossfire.toml (at \`crossfire init\`: --homeserver-port)`
  }
}

export class LeftoverHomeserver extends Schema.TaggedError<LeftoverHomeserver>()("LeftoverHomeserver", {
  pids: Schema.Array(Schema.Int)
}) {
  override get message(): string {
    return `A homeserver of this folder still runs and could not be ended: process ${this.pids.join(", ")}`
  }
}

export class HomeserverEnded extends Schema.TaggedError<HomeserverEnded>()("HomeserverEnded", {
  code: Schema.NullOr(Schema.Int),
  signal: Schema.NullOr(Schema.String),
  lastLines: Schema.String
}) {
  override get message(): string {
    return `The homeserver ended before it answered (${
      this.signal ?? `code ${this.code}`
    }). Its last lines:\n${this.lastLines}`
  }
}

export class HomeserverSilent extends Schema.TaggedError<HomeserverSilent>()("HomeserverSilent", {
  port: Schema.NullOr(Schema.Int),
  seconds: Schema.Int
}) {
  override get message(): string {
    return this.port === null
      ? `The homeserver did not make its signing key within ${this.seconds} s`
      : `The homeserver did not answer on 127.0.0.1:${this.port} within ${this.seconds} s`
  }
}

export type StartFailed = SynapseMissing | PortInUse | LeftoverHomeserver | HomeserverEnded | HomeserverSilent

const portPollMillis = 50
const portWithinSeconds = 3

/** Whether the port is free, or becomes so soon: an ended process's sockets close a moment after it is gone (seen). */
export const portIsFree = (port: number): Effect.Effect<boolean> =>
  portIsFreeNow(port).pipe(
    Effect.tap((free) => free ? Effect.void : Effect.sleep(Duration.millis(portPollMillis))),
    Effect.repeat({ until: (free) => free }),
    Effect.timeoutTo({
      duration: Duration.seconds(portWithinSeconds),
      onSuccess: (free) => free,
      onTimeout: () => false
    })
  )

const portIsFreeNow = (port: number): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(true))))
  })

const tailBytes = 4096
const tailLines = 20

/** The log's last lines, for a person; empty where there is no log. */
export const logTail = (path: string): Effect.Effect<string> =>
  Effect.tryPromise(async () => {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(tailBytes),
        0,
        tailBytes,
        Math.max(0, size - tailBytes)
      )
      return buffer.subarray(0, bytesRead).toString("utf8").trim().split("\n").slice(-tailLines).join("\n")
    } finally {
      await file.close()
    }
  }).pipe(Effect.orElseSucceed(() => ""))
