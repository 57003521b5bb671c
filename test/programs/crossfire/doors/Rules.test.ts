// The doors' rules by themselves: addresses of peers, the table against the router, secrets compared one way only.
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as fc from "fast-check"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { isSame } from "../../../../src/layers/crypto/Secret.ts"
import { peerOf, trustedOf } from "../../../../src/programs/crossfire/doors/PeerAddress.ts"
import { make, routes } from "../../../../src/programs/crossfire/doors/RouteTable.ts"

it("[A8] the peer is the right-most address that no trusted proxy vouches for", () => {
  const trusted = trustedOf(["127.0.0.1", "10.0.0.2", "2001:db8::5"])
  const of = (connection: string | undefined, forwarded?: string) => peerOf(trusted, { connection, forwarded })
  expect(of("203.0.113.9", "1.1.1.1")).toBe("203.0.113.9")
  expect(of("127.0.0.1", "1.1.1.1")).toBe("1.1.1.1")
  expect(of("::ffff:127.0.0.1", "1.1.1.1, 2.2.2.2")).toBe("2.2.2.2")
  expect(of("127.0.0.1", "1.1.1.1, 2.2.2.2, 10.0.0.2")).toBe("2.2.2.2")
  expect(of("127.0.0.1", " 2.2.2.2 ,10.0.0.2 ")).toBe("2.2.2.2")
  expect(of("127.0.0.1", "10.0.0.2")).toBe("10.0.0.2")
  expect(of("127.0.0.1", "1.1.1.1, unknown")).toBe("127.0.0.1")
  expect(of("127.0.0.1", "")).toBe("127.0.0.1")
  expect(of("127.0.0.1")).toBe("127.0.0.1")
  expect(of(undefined, "1.1.1.1")).toBe("unknown")
})

it("[A13] an IPv6 subscriber counts once, however it is written", () => {
  const of = (forwarded: string) => peerOf(trustedOf(["127.0.0.1"]), { connection: "127.0.0.1", forwarded })
  const one = of("2001:db8:1:2:3:4:5:6")
  for (const same of ["2001:db8:1:2::9", "2001:0DB8:0001:0002::", "2001:db8:1:2:ffff::1"]) expect(of(same)).toBe(one)
  for (const other of ["2001:db8:1:3::9", "2001:db8::9", "::1"]) expect(of(other)).not.toBe(one)
})

const asInput = (path: string): HttpRouter.PathInput => path.startsWith("/") ? `/${path.slice(1)}` : "*"

const methods = [...new Set(routes.map(({ method }) => method))]

/** The routers that serve, one a method, with every route answering its own path. */
const routers = new Map(methods.map((method) => [
  method,
  HttpRouter.fromIterable(
    routes.filter((route) => route.method === method).map(({ path }) =>
      HttpRouter.makeRoute("GET", asInput(path), Effect.succeed(HttpServerResponse.text(path)))
    )
  )
]))

const served = (method: string, url: string) =>
  Effect.flatMap(HttpRouter.toHttpApp(routers.get(method) ?? HttpRouter.empty), (app) => app).pipe(
    Effect.map(({ body }) => body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""),
    Effect.provideService(
      HttpServerRequest.HttpServerRequest,
      HttpServerRequest.fromWeb(new Request("http://x/")).modify({ url })
    ),
    Effect.scoped,
    Effect.option,
    Effect.map(Option.getOrNull)
  )

const table = make(routes)

const segment = fc.oneof(
  fc.constantFrom(...new Set(routes.flatMap(({ path }) => path.split("/")))),
  // An escaped letter within what the table writes out.
  fc.constantFrom("%68ealthz", "openapi%2ejson", "sign%2Din", "revoke%2dothers"),
  fc.constantFrom("%76%31", "v1", "..", ".", "%2e%2e", "%2F", "a%2fb", "x;y", "a\\b", "%", "%zz", "é", "#", "@a:b", ""),
  fc.string({ maxLength: 6 })
)

it("what the table finds is what the router serves, however the address is written", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { minLength: 1, maxLength: 5 }), async (segments) => {
      const url = `/${segments.join("/")}`
      for (const method of methods) {
        const found = Option.getOrNull(table.find(method, url))?.path
        // An escape that is none is found by the router nowhere, which is a 404 as well.
        if (found !== undefined) expect([found, null]).toContain(await Effect.runPromise(served(method, url)))
      }
    }),
    { numRuns: 2_000 }
  )
  for (const { method, path } of routes) {
    const url = path.replaceAll(/:[A-Za-z]+/gu, "x-1")
    expect(await Effect.runPromise(served(method, url))).toBe(path)
    expect(Option.getOrThrow(table.find(method, url)).path).toBe(path)
  }
})

it("the bounds in the documentation are the doors' own", () => {
  const size = (bytes: number) =>
    bytes === 0 ? "none" : bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes / 1_024} KiB`
  const lines = new Set(
    routes.filter(({ bounds }) => bounds.maxBodyBytes > 0 || bounds.budget === "pages" || bounds.budget === "public")
      .map(({ bounds: { budget, maxBodyBytes, maxPerMinute, withinMillis } }) =>
        `| \`${budget}\` | ${size(maxBodyBytes)} | ${withinMillis / 1_000} s | ${maxPerMinute ?? "not counted"} |`
      )
  )
  const documented = readFileSync(join(import.meta.dirname, "../../../../docs/http.md"), "utf8").split("\n")
    .filter((line) => /^\| `[a-z-]+` \|.* s \|/u.test(line))
  expect(documented.toSorted()).toStrictEqual([...lines].toSorted())
})

it("[A13] a secret that was sent is compared by one function alone", () => {
  expect(isSame("a", "a")).toBe(true)
  for (const other of ["", "b", "aa", "A"]) expect(isSame(other, "a")).toBe(false)
  const folder = join(import.meta.dirname, "../../../../src")
  const using = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && readFileSync(join(folder, file), "utf8").includes("timingSafeEqual"))
  expect(using).toStrictEqual(["layers/crypto/Secret.ts"])
})
