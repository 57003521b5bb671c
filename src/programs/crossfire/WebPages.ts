// Serves the built web pages: what was read from the build's folder at the start, by its manifest, under a strict policy.
// Who may reach them, and from which address, is decided before it.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { extname, join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { noncePlaceholder, pagePaths } from "../../domain/WebPaths.ts"

/** Where `npm run setup` puts the pages. */
export const builtFolder = fileURLToPath(new URL("../../../dist/web", import.meta.url))

/** The build is not what this program can serve. Nothing of it is served then. */
export class WebBuildUnusable extends Schema.TaggedError<WebBuildUnusable>()("WebBuildUnusable", {
  file: Schema.String,
  problem: Schema.Literal("unknown-type", "too-many", "too-large", "no-nonce-place")
}) {
  override get message(): string {
    return `The built web pages cannot be served (${this.problem}: ${this.file}). Build them anew: npm run setup`
  }
}

const maxFiles = 200
const maxBytes = 32 * 1024 * 1024
const nonceBytes = 16
const oneYearSeconds = 365 * 24 * 60 * 60

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2"
}

interface BuiltFile {
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzipped: Uint8Array
}

/** By the path under which it is asked for. */
const readBuild = (folder: string): Effect.Effect<ReadonlyMap<HttpRouter.PathInput, BuiltFile>, WebBuildUnusable> =>
  Effect.suspend(() => {
    const files = new Map<HttpRouter.PathInput, BuiltFile>()
    if (!existsSync(join(folder, "index.html"))) return Effect.succeed(files)
    let total = 0
    for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()) {
      const path = join(folder, entry)
      if (!statSync(path).isFile()) continue
      const file = relative(folder, path).split(sep).join("/")
      const type = types[extname(file)]
      if (type === undefined) return Effect.fail(new WebBuildUnusable({ file, problem: "unknown-type" }))
      const bytes = readFileSync(path)
      total += bytes.byteLength
      if (total > maxBytes) return Effect.fail(new WebBuildUnusable({ file, problem: "too-large" }))
      files.set(`/${file}`, { type, bytes, gzipped: gzipSync(bytes) })
      if (files.size > maxFiles) return Effect.fail(new WebBuildUnusable({ file, problem: "too-many" }))
    }
    return Effect.succeed(files)
  })

const contentSecurityPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join("; ")

/** For every answer of the pages' own address. */
export const guardingHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()",
  "x-robots-tag": "noindex, nofollow"
} as const

const pageHeaders = (nonce: string) => ({
  ...guardingHeaders,
  "content-security-policy": contentSecurityPolicy(nonce),
  "x-frame-options": "DENY",
  "cache-control": "no-store"
})

const newNonce = Effect.sync(() => randomBytes(nonceBytes).toString("base64url"))

const page = (html: string, status = 200) =>
  Effect.map(newNonce, (nonce) =>
    HttpServerResponse.text(html.replaceAll(noncePlaceholder, nonce), {
      status,
      contentType: "text/html; charset=utf-8",
      headers: pageHeaders(nonce)
    }))

const notBuilt = Effect.map(
  newNonce,
  (nonce) =>
    HttpServerResponse.text("The web pages are not built here. On the server's machine, run: npm run setup\n", {
      status: 503,
      contentType: "text/plain; charset=utf-8",
      headers: pageHeaders(nonce)
    })
)

const asset = (path: string, { bytes, gzipped, type }: BuiltFile) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const zipped = gzipped.byteLength < bytes.byteLength && /\bgzip\b/u.test(headers["accept-encoding"] ?? "")
    return HttpServerResponse.uint8Array(zipped ? gzipped : bytes, {
      contentType: type,
      headers: {
        ...guardingHeaders,
        // An SVG opened by itself is a document.
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        // Only what Vite names by its content never changes under its name.
        "cache-control": path.startsWith("/assets/") ? `public, max-age=${oneYearSeconds}, immutable` : "no-cache",
        vary: "accept-encoding",
        ...(zipped ? { "content-encoding": "gzip" } : {})
      }
    })
  })

/** Where a file could have been meant, nothing is shown. */
const nothingHere = (html: string | null) =>
  Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    ({ url }) =>
      html === null || /[.%\\]/u.test(url.split("?", 1)[0] ?? url)
        ? HttpServerResponse.empty({ status: 404 })
        : page(html, 404)
  )

/** One route per page and per built file; a path that is neither is not looked for anywhere. The page says so of a single word. */
export const routes = (folder: string) =>
  HttpApiBuilder.Router.use((router) =>
    Effect.gen(function*() {
      const files = yield* readBuild(folder)
      const index = files.get("/index.html")
      const html = index === undefined ? null : new TextDecoder().decode(index.bytes)
      if (html !== null && !html.includes(noncePlaceholder)) {
        return yield* new WebBuildUnusable({ file: "index.html", problem: "no-nonce-place" })
      }
      for (const path of Object.values(pagePaths)) yield* router.get(path, html === null ? notBuilt : page(html))
      for (const [path, file] of files) {
        if (path !== "/index.html") yield* router.get(path, asset(path, file))
      }
      yield* router.get("/:word", nothingHere(html))
    })
  )
