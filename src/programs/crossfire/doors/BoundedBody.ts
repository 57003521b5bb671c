// The request with a body that cannot grow over its bound: told by its declared length before anything is read, and counted
// while it is read. Nothing is read here before the handler asks, so an unknown caller's body never is.
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Option, Schema } from "effect"
import { Readable } from "node:stream"
import { BodyTooLarge } from "../../../domain/api/AccessErrors.ts"
import { ServerBusy } from "../../../domain/api/CrossfireErrors.ts"

const length = /^\d{1,15}$/u

/** Of a length that was declared; one that was not is seen while reading. */
export const declaredTooLarge = (
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number
): Option.Option<BodyTooLarge> => {
  const declared = request.headers["content-length"]
  if (declared === undefined) return Option.none()
  return length.test(declared) && Number(declared) <= maxBytes
    ? Option.none()
    : Option.some(new BodyTooLarge({ maxBytes }))
}

export const hasBody = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0

/** Of bodies that have come in part, by budget: whoever sends many and ends none fills no more memory than this. */
const maxHeldBytes = 64 * 1024 * 1024

/** How much is held, by the routes' budgets: one kind of request refuses no other. */
export type HeldBytes = Map<string, number>

/** Beyond this many times the bound the rest is not waited for. */
const maxOverrun = 4

interface BodyBounds {
  readonly budget: string
  readonly maxBodyBytes: number
}

const noRoom = "Too many large requests are under way"
const parse = Schema.decode(Schema.parseJson(Schema.Unknown))
const notJson = new HttpApiDecodeError({ issues: [], message: "The request's body is not JSON" })

/**
 * What is too large is read on for a while without being kept: an answer before the body's end can be lost with the
 * connection. For the same reason the request is left as it is when nobody waits any more: the platform's own readers
 * destroy it, and the connection with it, before the answer is written.
 */
const bytesOf = (source: Readable, { budget, maxBodyBytes: maxBytes }: BodyBounds, held: HeldBytes) =>
  Effect.async<Buffer>((resume) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    let counted = 0
    /** How much of this body is held now; the answer is whether there is room for it. */
    const hold = (now: number): boolean => {
      const all = (held.get(budget) ?? 0) + now - counted
      counted = now
      held.set(budget, all)
      return all <= maxHeldBytes
    }
    const stop = () => {
      hold(0)
      source.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut)
      // The rest goes nowhere.
      source.resume()
    }
    const finish = (body: Effect.Effect<Buffer>) => {
      stop()
      resume(body)
    }
    // The contract's error in the contract's words, whichever endpoint was reading.
    const tooLarge = Effect.die(new BodyTooLarge({ maxBytes }))
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBytes) chunks.push(chunk)
      else chunks.length = 0
      if (bytes > maxBytes * maxOverrun) finish(tooLarge)
      else if (!hold(bytes <= maxBytes ? bytes : 0)) finish(Effect.die(new ServerBusy({ reason: noRoom })))
    }
    const onEnd = () => finish(bytes > maxBytes ? tooLarge : Effect.succeed(Buffer.concat(chunks)))
    const onCut = () => finish(Effect.die(notJson))
    source.on("data", onData).once("end", onEnd).once("error", onCut).once("close", onCut)
    return Effect.sync(stop)
  })

/** The same request, whose text and JSON are read within the bound, once, and kept for as long as the request. */
export const bounded = (request: HttpServerRequest.HttpServerRequest, bounds: BodyBounds, held: HeldBytes) => {
  const { source } = request
  let kept: string | null = null
  const text = Effect.suspend(() => {
    if (kept !== null) return Effect.succeed(kept)
    return source instanceof Readable
      ? Effect.map(bytesOf(source, bounds, held), (bytes) => {
        kept = bytes.toString("utf8")
        return kept
      })
      : Effect.dieMessage("a request that does not come from the listener has no body here")
  })
  const json = Effect.flatMap(
    text,
    (read) => read === "" ? Effect.succeed(null) : Effect.catchAll(parse(read), () => Effect.die(notJson))
  )
  return new Proxy(request, {
    get: (target, key) => {
      if (key === "text") return text
      if (key === "json") return json
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
}
