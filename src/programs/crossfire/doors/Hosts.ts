// Which of this server's names a request was sent to, and what is served there. Names are exact: another one is a page that
// had its name point here, and finds nothing.
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Option } from "effect"
import { IncomingMessage } from "node:http"
import { HostUnknown } from "../../../domain/api/AccessErrors.ts"
import type { Door } from "./RouteTable.ts"

export interface HostConfig {
  /** Of the web pages: scheme, host and port. */
  readonly origin: string
  /** The port that this program listens on. */
  readonly port: number
  /** How the homeserver reaches this program. */
  readonly pushUrl: string
}

export interface Hosts {
  /** By the request's own `Host` alone; what a proxy says of another one is passed over. */
  readonly check: (host: string | undefined, door: Option.Option<Door>) => Option.Option<HostUnknown>
}

/** The one name that the request was sent to. Of two, whoever stands before this server may have gone by the other. */
export const hostNamed = ({ headers, source }: HttpServerRequest.HttpServerRequest): string | undefined =>
  source instanceof IncomingMessage && source.headersDistinct["host"]?.length !== 1 ? undefined : headers["host"]

const hostOf = (url: string): string => new URL(url).host

export const make = ({ origin, port, pushUrl }: HostConfig): Hosts => {
  const served = new Map<string, Set<Door>>()
  const serve = (host: string, doors: ReadonlyArray<Door>) => {
    const known = served.get(host) ?? new Set()
    for (const door of doors) known.add(door)
    served.set(host, known)
  }
  serve(`127.0.0.1:${port}`, ["programs", "public"])
  serve(`localhost:${port}`, ["programs", "public"])
  serve(hostOf(pushUrl), ["homeserver", "public"])
  serve(hostOf(origin), ["pages", "people", "programs", "public"])
  const unknown = Option.some(new HostUnknown({ open: origin }))
  return {
    check: (host, door) => {
      const doors = host === undefined ? undefined : served.get(host.toLowerCase())
      if (doors === undefined) return unknown
      return Option.isSome(door) && !doors.has(door.value) ? unknown : Option.none()
    }
  }
}
