// How the built pages are served: by manifest, under a strict policy with a nonce of each answer's own.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServer from "@effect/platform/HttpServer"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { noncePlaceholder, pagePaths } from "../../../src/domain/WebPaths.ts"
import * as WebPages from "../../../src/programs/crossfire/WebPages.ts"
import { reviewPath, signInPath } from "../../../src/services/WebAddress.ts"

const page = `<!doctype html><title>crossfire</title><meta property="csp-nonce" nonce="${noncePlaceholder}">`

const built = {
  "index.html": page,
  "scheme.js": "1",
  "assets/index-abc123.js": "console.log(1)\n".repeat(200),
  "assets/index-abc123.css": "body{}"
}

const folderOf = (files: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "web-pages-"))
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, "web", name)), { recursive: true })
        writeFileSync(join(folder, "web", name), text)
      }
      writeFileSync(join(folder, "secret.js"), "outside")
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

const serve = (files: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const folder = yield* folderOf(files)
    const context = yield* Layer.build(
      HttpApiBuilder.serve().pipe(
        Layer.provide([HttpApiBuilder.api(HttpApi.make("nothing-else")), WebPages.routes(join(folder, "web"))]),
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
      )
    )
    const { address } = Context.get(context, HttpServer.HttpServer)
    if (address._tag !== "TcpAddress") return yield* Effect.dieMessage("no port")
    const { port } = address
    /** The path goes out as it is written here: nothing of it is tidied up before. */
    return (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
      Effect.async<{ status: number; headers: Readonly<Record<string, unknown>>; text: string }>((resume) => {
        const sent = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("end", () =>
            resume(Effect.succeed({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString("utf8")
            })))
        })
        sent.end()
      })
  })

it.scopedLive("[A16] serves every page's address alike: no-store, noindex, a neutral title, a nonce of its own", () =>
  Effect.gen(function*() {
    const get = yield* serve(built)
    const nonces = new Set<string>()
    const paths = Object.values(pagePaths).map((path) => path.replace(":enrollmentId", "some-request"))
    for (const path of [...paths, "/sign-in/link?x=1", `${pagePaths.requests}/1?choice=approve`]) {
      const { headers, status, text } = yield* get(path)
      expect(status).toBe(200)
      const nonce = /nonce="([\w-]{22})"/u.exec(text)?.[1] ?? ""
      expect(nonce).not.toBe("")
      nonces.add(nonce)
      expect(text).toBe(page.replace(noncePlaceholder, nonce))
      expect(headers).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; script-src 'self'; " +
          `style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; ` +
          "form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-robots-tag": "noindex, nofollow",
        "x-frame-options": "DENY"
      })
      expect(headers["permissions-policy"]).toContain("camera=()")
    }
    expect(nonces.size).toBe(paths.length + 2)
  }))

it.scopedLive("serves hashed assets for ever, other files anew, compressed where that is taken", () =>
  Effect.gen(function*() {
    const get = yield* serve(built)
    const plain = yield* get("/assets/index-abc123.js")
    expect(plain).toMatchObject({ status: 200, text: built["assets/index-abc123.js"] })
    expect(plain.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      vary: "accept-encoding"
    })
    expect(plain.headers["content-encoding"]).toBeUndefined()
    const zipped = yield* get("/assets/index-abc123.js", { "accept-encoding": "br, gzip" })
    expect(zipped.headers["content-encoding"]).toBe("gzip")
    expect(Number(zipped.headers["content-length"])).toBeLessThan(built["assets/index-abc123.js"].length)
    expect((yield* get("/scheme.js")).headers["cache-control"]).toBe("no-cache")
  }))

it.scopedLive("[A26] looks nothing up but what the manifest names, however a path is written", () =>
  Effect.gen(function*() {
    const get = yield* serve(built)
    for (
      const path of [
        "/../secret.js",
        "/assets/../../secret.js",
        "/assets/..%2f..%2fsecret.js",
        "/%2e%2e/secret.js",
        "/%252e%252e/secret.js",
        "/assets/%252e%252e%252f%252e%252e%252fsecret.js",
        "/assets\\..\\..\\secret.js",
        "/assets/..;/..;/secret.js",
        "/assets/index-abc123.js%00.css",
        "/assets/",
        "/assets",
        "/index.html",
        "/etc/passwd",
        "/%",
        "/unknown"
      ]
    ) {
      const { status, text } = yield* get(path)
      expect([path, status === 404 || status === 400]).toEqual([path, true])
      expect(text).not.toContain("outside")
    }
    expect((yield* get("/", {}, "POST")).status).toBe(404)
  }))

it.scopedLive("answers a word at which no page stands with the page, which says so, and status 404", () =>
  Effect.gen(function*() {
    const get = yield* serve(built)
    const { headers, status, text } = yield* get("/nowhere?x=1")
    expect([status, headers["content-type"], headers["cache-control"]])
      .toEqual([404, "text/html; charset=utf-8", "no-store"])
    expect(text).toContain("<title>crossfire</title>")
    for (const path of ["/favicon.ico", "/nowhere/else", "/%6eowhere"]) {
      expect(yield* get(path)).toMatchObject({ status: 404, text: "" })
    }
  }))

it.scopedLive("says what to run where nothing was built", () =>
  Effect.gen(function*() {
    const get = yield* serve({})
    const { headers, status, text } = yield* get("/requests")
    expect(status).toBe(503)
    expect(headers["content-type"]).toContain("text/plain")
    expect(text).toContain("npm run setup")
  }))

it.scopedLive("refuses a build that it cannot serve safely, and names the file", () =>
  Effect.gen(function*() {
    for (
      const [files, file, problem] of [
        [{ ...built, "assets/data.bin": "x" }, "assets/data.bin", "unknown-type"],
        [{ ...built, "index.html": "<p>no place" }, "index.html", "no-nonce-place"]
      ] as const
    ) {
      const exit = yield* Effect.exit(Effect.scoped(serve(files)))
      expect(exit).toEqual(Exit.fail(new WebPages.WebBuildUnusable({ file, problem })))
    }
  }))

it("has the addresses that the bot and fleetd are given among its pages", () => {
  expect(signInPath).toBe(pagePaths.signInLink)
  expect(reviewPath("1")).toBe(pagePaths.review.replace(":enrollmentId", "1"))
})
