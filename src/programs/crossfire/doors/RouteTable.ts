// Every route that crossfire serves, with what the doors need to know of it. The contract's are read from the contract;
// what stands outside of it is listed here. A request that no row fits reaches no handler.
import * as HttpApi from "@effect/platform/HttpApi"
import { Context, Option } from "effect"
import { CrossfireApi, levelsPath } from "../../../domain/api/Crossfire.ts"
import { Bounds, peopleBounds, programBounds, type RequestBounds, Surface } from "../../../domain/api/Doors.ts"
import { changesPath } from "../../../domain/api/People.ts"
import { pagePaths } from "../../../domain/WebPaths.ts"

/**
 * For whom a route is. `pages`: the web pages themselves, which anybody may open. `people`, `programs`: the contract's two
 * surfaces. `homeserver`: its pushes. `public`: the same answer to anybody.
 */
export type Door = "pages" | "people" | "programs" | "homeserver" | "public"

export interface RouteBounds extends Omit<RequestBounds, "maxPerMinute"> {
  /** Null: not counted, because whoever may not ask is told so before anything else is done. */
  readonly maxPerMinute: number | null
}

export interface Route {
  readonly method: string
  /** As the router writes it: `:name` is one segment, a last `*` the rest. */
  readonly path: string
  readonly door: Door
  /** The body is JSON. */
  readonly takesJson: boolean
  readonly bounds: RouteBounds
}

const kibi = 1024

/** A browser asks for the page and its files at once, so these are more than the pages' calls. */
export const pageBounds: RouteBounds = {
  maxBodyBytes: 0,
  withinMillis: 10_000,
  maxPerMinute: 3_000,
  budget: "pages"
}

export const publicBounds: RouteBounds = {
  maxBodyBytes: 0,
  withinMillis: 10_000,
  maxPerMinute: 600,
  budget: "public"
}

/** A transaction holds up to 100 events of 64 KiB. The endpoint's own deadlines are shorter. */
export const pushBounds: RouteBounds = {
  maxBodyBytes: 32 * kibi * kibi,
  withinMillis: 60_000,
  maxPerMinute: null,
  budget: "homeserver"
}

const reading = (path: string, door: Door, bounds: RouteBounds): Route => ({
  method: "GET",
  path,
  door,
  takesJson: false,
  bounds
})

const outside: ReadonlyArray<Route> = [
  reading(levelsPath, "programs", { ...programBounds, maxBodyBytes: 0 }),
  reading(changesPath, "people", { ...peopleBounds, maxBodyBytes: 0 }),
  {
    method: "PUT",
    path: "/_matrix/app/v1/transactions/:txn",
    door: "homeserver",
    takesJson: false,
    bounds: pushBounds
  },
  { method: "POST", path: "/_matrix/app/v1/ping", door: "homeserver", takesJson: false, bounds: pushBounds },
  reading("/_matrix/app/v1/users/:user", "homeserver", pushBounds),
  reading("/_matrix/app/v1/rooms/:alias", "homeserver", pushBounds),
  reading("/healthz", "public", publicBounds),
  reading("/openapi.json", "public", publicBounds),
  ...Object.values(pagePaths).map((path) => reading(path, "pages", pageBounds)),
  reading("/assets/:file", "pages", pageBounds),
  reading("/:file", "pages", pageBounds)
]

const contract = (): ReadonlyArray<Route> => {
  const routes: Array<Route> = []
  HttpApi.reflect(CrossfireApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, mergedAnnotations, payloads }) => {
      routes.push({
        method: endpoint.method,
        path: endpoint.path,
        // Without them it would be served to anybody: the program does not start.
        door: Context.unsafeGet(mergedAnnotations, Surface),
        bounds: Context.unsafeGet(mergedAnnotations, Bounds),
        takesJson: payloads.size > 0
      })
    }
  })
  return routes
}

export const routes: ReadonlyArray<Route> = [...contract(), ...outside]

/** What needs no escape is not escaped: the router would read `%68ealthz` as another row's `healthz`. */
const escape = "%(?!3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|2[DdEe]|5[Ff]|7[Ee])[0-9A-Fa-f]{2}"
const parameter = `(?:[A-Za-z0-9._~!$&'()*+,=:@-]|${escape})+`

/**
 * Narrower than the router: what is written in another way than the table writes it (an escaped letter, two slashes) is no
 * route here, so the router never serves by another row than the one that was checked.
 */
const pattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.]/gu, "\\.").replaceAll(/:[A-Za-z]+/gu, parameter)}$`, "u")

export interface RouteTable {
  readonly find: (method: string, url: string) => Option.Option<Route>
  /** The methods of every row that fits the address; empty where none does. */
  readonly methodsOf: (url: string) => ReadonlyArray<string>
}

const pathOf = (url: string): string => url.split("?", 1)[0] ?? url

export const make = (rows: ReadonlyArray<Route>): RouteTable => {
  const isStatic = (route: Route) => !route.path.includes(":")
  // As the router does: what is written out goes before what has parameters.
  const compiled = [...rows.filter(isStatic), ...rows.filter((route) => !isStatic(route))].map((route) => ({
    route,
    fits: pattern(route.path)
  }))
  const fitting = (url: string) => {
    const path = pathOf(url)
    return compiled.flatMap(({ fits, route }) => fits.test(path) ? [route] : [])
  }
  return {
    find: (method, url) => {
      const asked = method === "HEAD" ? "GET" : method
      return Option.fromNullable(fitting(url).find((route) => route.method === asked))
    },
    methodsOf: (url) => {
      const methods = new Set(fitting(url).map((route) => route.method))
      if (methods.has("GET")) methods.add("HEAD")
      if (methods.size > 0) methods.add("OPTIONS")
      return [...methods].toSorted()
    }
  }
}
