// Which page a browser's request came from. People's routes are for the web pages' own origin alone, programs' routes for no
// browser at all; that needs no secret, so it comes before any credential.
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Option } from "effect"
import { OriginRefused } from "../../../domain/api/AccessErrors.ts"
import type { Door } from "./RouteTable.ts"

type Refused = Option.Option<OriginRefused>

const refused = (problem: OriginRefused["problem"]): Refused => Option.some(new OriginRefused({ problem }))

const isReading = (method: string): boolean => method === "GET" || method === "HEAD"

const people = (request: HttpServerRequest.HttpServerRequest, own: string): Refused => {
  const origin = request.headers["origin"]
  const site = request.headers["sec-fetch-site"]
  if (origin !== undefined && origin !== own) return refused("another-origin")
  if (isReading(request.method)) {
    // Typed by hand is "none", which reads nothing to anybody else.
    return site === undefined || site === "same-origin" || site === "none" ? Option.none() : refused("another-origin")
  }
  if (origin === undefined) return refused("no-origin")
  return site === undefined || site === "same-origin" ? Option.none() : refused("another-origin")
}

/** Node's own `fetch` sends `Sec-Fetch-Mode`, so that one tells nothing. */
const programs = ({ headers }: HttpServerRequest.HttpServerRequest): Refused =>
  headers["origin"] !== undefined || headers["sec-fetch-site"] !== undefined || headers["sec-fetch-dest"] !== undefined
    ? refused("from-a-browser")
    : Option.none()

/** `own`: the web pages' origin, letter by letter. */
export const check = (request: HttpServerRequest.HttpServerRequest, door: Door, own: string): Refused => {
  switch (door) {
    case "people":
      return people(request, own)
    case "programs":
    case "homeserver":
      return programs(request)
    case "pages":
    case "public":
      return Option.none()
  }
}
