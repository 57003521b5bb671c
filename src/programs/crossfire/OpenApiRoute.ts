// `/openapi.json`: the contract as a document, the same for anybody. Made from the contract and the route table, so it can
// neither lag behind nor promise other bounds than the doors enforce.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { CrossfireApi, levelsPath } from "../../domain/api/Crossfire.ts"
import { changesPath, csrfHeader } from "../../domain/api/People.ts"
import { type Route, routes } from "./doors/RouteTable.ts"

const refused = (name: string, description: string) => ({
  description,
  content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } }
})

const stream = (described: {
  readonly operationId: string
  readonly tag: string
  readonly security: string
  readonly description: string
  readonly parameters: ReadonlyArray<OpenApi.OpenAPISpecParameter>
  readonly refusals: Readonly<Record<string, ReturnType<typeof refused>>>
}) => ({
  get: {
    operationId: described.operationId,
    tags: [described.tag],
    description: described.description,
    parameters: described.parameters,
    security: [{ [described.security]: [] }],
    responses: {
      "200": { description: "The stream", content: { "text/event-stream": { schema: { type: "string" } } } },
      "401": refused("Unauthorized", "No credential, or one that is not good"),
      "429": refused("TooManyAttempts", "Too many refused credentials, requests or streams"),
      "503": refused("ServerBusy", "The database refused"),
      ...described.refusals
    }
  }
})

const leaseHeader = (name: string, schema: OpenApi.OpenAPISpecParameter["schema"]): OpenApi.OpenAPISpecParameter => ({
  name,
  in: "header",
  required: true,
  schema
})

/** The two streams, which the contract's form cannot say. */
const streams = {
  [levelsPath]: stream({
    operationId: "fleet.levels",
    tag: "fleet",
    security: "bearer",
    description:
      "Server-sent events named `level`; each `data:` is one agent's level as JSON. All agents' levels come first, then each again when it changed. A comment line comes at least every 15 s. The stream ends with the lease or the credential.",
    parameters: [
      leaseHeader("x-crossfire-generation", { type: "string" }),
      leaseHeader("x-crossfire-incarnation", { type: "string", format: "uuid" })
    ],
    refusals: { "409": refused("StaleGeneration", "The lease is over") }
  }),
  [changesPath]: stream({
    operationId: "session.changes",
    tag: "session",
    security: "session",
    description:
      "Server-sent events named `change`; each `data:` is `{\"topic\": …}`, saying what to ask for again. A comment line comes at least every 15 s. The stream ends with the session.",
    parameters: [],
    refusals: { "403": refused("OriginRefused", "A browser sent it from another page") }
  })
}

const templated = (path: string): string => path.replaceAll(/:([A-Za-z]+)/gu, "{$1}")

const boundsOf = ({ bounds, door }: Route) => ({
  "x-crossfire-for": door,
  "x-crossfire-bounds": {
    maxBodyBytes: bounds.maxBodyBytes,
    withinMillis: bounds.withinMillis,
    maxPerMinute: bounds.maxPerMinute,
    budget: bounds.budget
  }
})

/** What changes something carries both secrets of the session. */
const withProof = (security: ReadonlyArray<OpenApi.OpenAPISecurityRequirement>, method: string) =>
  security.map((needed) => "session" in needed && method !== "get" ? { ...needed, csrf: [] } : needed)

export const document = () => {
  const spec = OpenApi.fromApi(CrossfireApi)
  const byAddress = new Map(routes.map((route) => [`${route.method.toLowerCase()} ${templated(route.path)}`, route]))
  const paths = Object.fromEntries(
    Object.entries({ ...spec.paths, ...streams }).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).map(([method, operation]) => {
          const route = byAddress.get(`${method} ${path}`)
          return [method, {
            ...operation,
            security: withProof(operation.security, method),
            ...route === undefined ? {} : boundsOf(route)
          }]
        })
      )
    ])
  )
  const components = {
    ...spec.components,
    securitySchemes: {
      ...spec.components.securitySchemes,
      bearer: {
        type: "http",
        scheme: "bearer",
        description: "A fleet's credential (cff_…) for the group fleet, an agent's (cfa_…) for the group agent"
      },
      csrf: {
        type: "apiKey",
        in: "header",
        name: csrfHeader,
        description: "The session's second secret, from GET /v1/session; with it goes the exact Origin of the web pages"
      }
    }
  }
  return { ...spec, paths, components }
}

const encode = Schema.encodeSync(Schema.parseJson(Schema.Unknown))
const maxAgeSeconds = 300

export const openApiRoute = HttpApiBuilder.Router.use((router) => {
  const text = encode(document())
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`
  const headers = { etag, "cache-control": `public, max-age=${maxAgeSeconds}` }
  return router.get(
    "/openapi.json",
    Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
      request.headers["if-none-match"] === etag
        ? HttpServerResponse.empty({ status: 304, headers })
        : HttpServerResponse.text(text, { contentType: "application/json", headers }))
  )
})
