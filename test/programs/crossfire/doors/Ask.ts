// One HTTP request as it stands on the wire: `Host` and `Origin` are the test's to choose, nothing is added or followed.
import { Effect, Schema } from "effect"
import { type IncomingHttpHeaders, request } from "node:http"

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Of a JSON answer; null otherwise. */
  readonly body: unknown
}

const Json = Schema.parseJson(Schema.Unknown)
export const encodeJson = Schema.encodeSync(Json)
const decodeJson = Schema.decodeSync(Json)

/** A stream's answer counts with its headers, and is left then. */
export const ask = (url: string, { body, headers = {}, method = "GET", path }: Ask): Effect.Effect<Answer> =>
  Effect.async((resume) => {
    const { hostname, port } = new URL(url)
    const sent = body === undefined ? undefined : typeof body === "string" ? body : encodeJson(body)
    const call = request({
      hostname,
      port,
      method,
      path,
      agent: false,
      headers: {
        ...sent === undefined
          ? {}
          : { "content-type": "application/json", "content-length": String(Buffer.byteLength(sent)) },
        ...headers
      }
    }, (response) => {
      const told = (text: string) => {
        const isJson = response.headers["content-type"]?.startsWith("application/json") === true
        resume(Effect.succeed({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: isJson && text !== "" ? decodeJson(text) : null
        }))
      }
      if (response.headers["content-type"]?.startsWith("text/event-stream") === true) {
        told("")
        call.destroy()
        return
      }
      const parts: Array<Buffer> = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("end", () => told(Buffer.concat(parts).toString("utf8")))
      response.on("error", (error) => resume(Effect.die(error)))
    })
    call.on("error", (error) => resume(Effect.die(error)))
    call.end(sent)
    return Effect.sync(() => call.destroy())
  })
