// The contract as a document: whole, sound, the same for anybody, and with the bounds that the doors enforce.
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Route, routes } from "../../../../src/programs/crossfire/doors/RouteTable.ts"
import { document } from "../../../../src/programs/crossfire/OpenApiRoute.ts"
import { encodeJson } from "./Ask.ts"
import { start } from "./DoorWorld.ts"

const Operation = Schema.Struct({
  operationId: Schema.NonEmptyString,
  tags: Schema.NonEmptyArray(Schema.String),
  parameters: Schema.Array(Schema.Struct({
    name: Schema.String,
    in: Schema.Literal("path", "query", "header", "cookie"),
    required: Schema.Boolean,
    schema: Schema.Object
  })),
  security: Schema.Array(Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) })),
  requestBody: Schema.optional(Schema.Struct({
    content: Schema.Record({ key: Schema.String, value: Schema.Struct({ schema: Schema.Object }) }),
    required: Schema.Boolean
  })),
  responses: Schema.Record({
    key: Schema.String.pipe(Schema.pattern(/^[1-5]\d\d$/u)),
    value: Schema.Struct({
      description: Schema.String,
      content: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Struct({ schema: Schema.Object }) }))
    })
  }),
  "x-crossfire-for": Schema.Literal("people", "programs"),
  "x-crossfire-bounds": Schema.Struct({
    maxBodyBytes: Schema.Int,
    withinMillis: Schema.Int,
    maxPerMinute: Schema.NullOr(Schema.Int),
    budget: Schema.String
  })
})

const Document = Schema.Struct({
  openapi: Schema.Literal("3.1.0"),
  info: Schema.Struct({ title: Schema.Literal("crossfire"), version: Schema.String }),
  paths: Schema.Record({
    key: Schema.String.pipe(Schema.pattern(/^\/v1\/[a-zA-Z0-9/{}-]+$/u)),
    value: Schema.Record({ key: Schema.String, value: Operation })
  }),
  components: Schema.Struct({
    schemas: Schema.Record({ key: Schema.String, value: Schema.Object }),
    securitySchemes: Schema.Record({ key: Schema.String, value: Schema.Object })
  }),
  security: Schema.Array(Schema.Unknown),
  tags: Schema.Array(Schema.Struct({ name: Schema.String }))
})

const text = encodeJson(document())
const read = Schema.decodeSync(Schema.parseJson(Document))(text)
const operations = Object.entries(read.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation }))
)

const isContract = ({ door }: Route) => door === "people" || door === "programs"
const addressOf = ({ method, path }: Route) => `${method.toLowerCase()} ${path.replaceAll(/:([A-Za-z]+)/gu, "{$1}")}`

it("[P-07] every route of the contract stands in the document, streams included, and nothing else", () => {
  expect(operations.map(({ method, path }) => `${method} ${path}`).toSorted())
    .toStrictEqual(routes.filter(isContract).map(addressOf).toSorted())
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length)
})

it("[P-07] references resolve, parameters stand in their paths, security is declared, bounds are the doors'", () => {
  const schemas = new Set(Object.keys(read.components.schemas))
  for (const [, name = ""] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/gu)) {
    expect(schemas).toContain(name)
  }
  expect(text.match(/"\$ref":"(?!#\/components\/schemas\/)/u)).toBeNull()
  const schemes = new Set(Object.keys(read.components.securitySchemes))
  expect([...schemes].toSorted()).toStrictEqual(["bearer", "csrf", "session"])
  expect(new Set(read.tags.map(({ name }) => name)).size).toBe(read.tags.length)
  const byAddress = new Map(routes.map((route) => [addressOf(route), route]))
  for (const { method, operation, path } of operations) {
    const named = [...path.matchAll(/\{([^}]+)\}/gu)].map(([, name]) => name)
    const described = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name)
    expect(described).toStrictEqual(named)
    for (const needed of operation.security) for (const name of Object.keys(needed)) expect(schemes).toContain(name)
    const needed = operation.security.flatMap((one) => Object.keys(one)).toSorted()
    const route = byAddress.get(`${method} ${path}`)
    expect(operation["x-crossfire-bounds"]).toStrictEqual(route?.bounds)
    expect(operation["x-crossfire-for"]).toBe(route?.door)
    const isOpen = path.startsWith("/v1/sign-in/") || path.startsWith("/v1/enrollments")
    expect([path, needed]).toStrictEqual([
      path,
      isOpen ? [] : route?.door === "programs" ? ["bearer"] : method === "get" ? ["session"] : ["csrf", "session"]
    ])
    for (const status of isOpen ? ["200", "429"] : ["200", "401", "429"]) {
      expect([path, Object.keys(operation.responses)]).toStrictEqual([path, expect.arrayContaining([status])])
    }
  }
})

it.scopedLive("[P-07] it is served to anybody, may be kept, and says when it has not changed", () =>
  Effect.gen(function*() {
    const { ask, url } = yield* start()
    const host = new URL(url).host
    const first = yield* ask({ path: "/openapi.json", headers: { host } })
    expect(first).toMatchObject({ status: 200, text })
    const etag = first.headers.etag ?? ""
    const again = yield* ask({ path: "/openapi.json", headers: { host, "if-none-match": etag } })
    expect([again.status, again.text]).toStrictEqual([304, ""])
  }))
