// What stands before every handler: hosts, misplaced credentials, origins, media types, bounds, and what answers carry.
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Option, TestClock } from "effect"
import { connect } from "node:net"
import { routes } from "../../../../src/programs/crossfire/doors/RouteTable.ts"
import { alice, until } from "../../../layers/crossfire/World.ts"
import { hsToken, origin, pushHost } from "../Crossfire.ts"
import { ask as askAt } from "./Ask.ts"
import { ownPage, ownReading, pagesHost, secret, start } from "./DoorWorld.ts"
import { homeserverHeaders } from "./Expected.ts"

const hostUnknown = { status: 421, body: { _tag: "HostUnknown", open: origin } }
const another = { status: 403, body: { _tag: "OriginRefused", problem: "another-origin" } }

it.scopedLive("[A7] names are exact: each serves its own kind of route, any other is told where the pages are", () =>
  Effect.gen(function*() {
    const { ask, url } = yield* start()
    const port = new URL(url).port
    const get = (path: string, host: string, more: Record<string, string> = {}) =>
      ask({ path, headers: { host, ...more } })

    for (const host of ["evil.test", `evil.test:${port}`, "127.0.0.1", `127.0.0.1:${Number(port) + 1}`]) {
      for (const path of ["/", "/v1/session", "/v1/fleet/levels", "/healthz", "/openapi.json", "/nowhere"]) {
        expect((yield* get(path, host)).status, `${host} ${path}`).toBe(421)
      }
    }
    // A name that was pointed here by somebody else's: no answer of the API, whatever it brings.
    expect(yield* get("/v1/session", "evil.test", { origin: "http://evil.test" })).toMatchObject(hostUnknown)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      expect(yield* get("/v1/session", host)).toMatchObject(hostUnknown)
      const page = yield* get("/", host)
      expect(page.status).toBe(421)
      expect(page.text).toContain(origin)
      expect((yield* get("/v1/fleet/levels", host)).status).toBe(401)
      expect((yield* get("/healthz", host)).status).toBe(200)
      expect((yield* get("/_matrix/app/v1/users/x", host)).status).toBe(421)
    }
    expect((yield* get("/", pagesHost)).status).toBe(200)
    expect((yield* get("/", pagesHost.toUpperCase())).status).toBe(200)
    expect((yield* get("/v1/fleet/levels", pagesHost)).status).toBe(401)
    expect((yield* get("/_matrix/app/v1/users/x", pagesHost)).status).toBe(421)
    expect((yield* get("/_matrix/app/v1/users/x", pushHost)).status).toBe(403)
    expect((yield* get("/v1/session", pushHost)).status).toBe(421)
    expect((yield* get("/v1/fleet/levels", pushHost)).status).toBe(421)
    // A whole address in the request line does not choose the host either.
    expect((yield* ask({ path: `http://${pagesHost}/v1/session`, headers: { host: "evil.test" } })).status).toBe(421)
  }))

it.scopedLive("[A8] a proxy's word on host and scheme is never taken, on the address only a named proxy's", () =>
  Effect.gen(function*() {
    const open = yield* start({ trustedProxies: [] })
    const forwarded = {
      "x-forwarded-host": pagesHost,
      "x-forwarded-proto": "https",
      forwarded: `host=${pagesHost}`,
      "x-original-url": "/v1/session",
      "x-http-method-override": "POST"
    }
    const fooled = yield* open.ask({ path: "/v1/session", headers: { host: "evil.test", ...forwarded } })
    expect(fooled.status).toBe(421)
    const asked = (world: typeof open, from: string) =>
      askAt(world.url, {
        method: "POST",
        path: "/v1/sign-in/ask",
        headers: { ...ownPage, "x-forwarded-for": from },
        body: { user: "nobody" }
      })
    // Nobody is trusted: whatever addresses a request invents, they are one.
    for (let tries = 0; tries < 20; tries++) expect((yield* asked(open, `203.0.113.${tries}`)).status).toBe(200)
    const refused = yield* asked(open, "203.0.113.200")
    expect(refused).toMatchObject({ status: 429, body: { _tag: "TooManyAttempts" } })
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0)

    const behind = yield* start({ trustedProxies: ["127.0.0.1", "198.51.100.7"] })
    // The client invents what stands left; the proxies wrote the rest.
    for (let tries = 0; tries < 20; tries++) {
      expect((yield* asked(behind, `10.0.0.${tries}, 203.0.113.1, 198.51.100.7`)).status).toBe(200)
    }
    expect((yield* asked(behind, "10.9.9.9, 203.0.113.1, 198.51.100.7")).status).toBe(429)
    expect((yield* asked(behind, "10.9.9.9, 203.0.113.2, 198.51.100.7")).status).toBe(200)
  }))

it.scopedLive("[A1] [A2] [A3] [H-03] what changes something needs the pages' own origin and the session's second secret", () =>
  Effect.gen(function*() {
    const { ask, session } = yield* start()
    const { headers } = yield* session(alice)
    const { cookie } = headers
    const csrf = { "x-crossfire-csrf": headers["x-crossfire-csrf"] }
    const revoke = (more: Record<string, string>) =>
      ask({ method: "POST", path: "/v1/sessions/revoke-others", headers: { host: pagesHost, ...more }, body: {} })
    const refused = (problem: string) => ({ status: 403, body: { _tag: "OriginRefused", problem } })

    expect(yield* revoke({ cookie, ...csrf })).toMatchObject(refused("no-origin"))
    for (
      const foreign of [
        "null",
        "https://evil.test",
        `${origin}.evil.test`,
        `${origin}/`,
        origin.replace("https", "http"),
        `${origin}:443`,
        origin.toUpperCase(),
        `${origin}, ${origin}`,
        ""
      ]
    ) {
      const answer = yield* revoke({ cookie, ...csrf, origin: foreign })
      expect([foreign, answer.status]).toStrictEqual([foreign, 403])
    }
    for (const site of ["cross-site", "same-site", "none", "anything"]) {
      expect(yield* revoke({ cookie, ...csrf, origin, "sec-fetch-site": site })).toMatchObject(another)
    }
    expect(yield* revoke({ cookie, origin })).toMatchObject(refused("no-proof"))
    for (const wrong of ["", secret(), csrf["x-crossfire-csrf"].slice(0, -1), cookie.split("=")[1] ?? ""]) {
      expect(yield* revoke({ cookie, origin, "x-crossfire-csrf": wrong })).toMatchObject(refused("no-proof"))
    }
    const others = yield* session(alice)
    expect(yield* revoke({ cookie, origin, "x-crossfire-csrf": others.headers["x-crossfire-csrf"] }))
      .toMatchObject(refused("no-proof"))
    // None of it ended the other session.
    expect(yield* revoke({ cookie, ...csrf, origin })).toMatchObject({ status: 200, body: { ended: 1 } })
    expect((yield* revoke({ cookie, ...csrf, origin, "sec-fetch-site": "same-origin" })).status).toBe(200)
  }))

it.scopedLive("[A1] another page reads nothing either; pages themselves open from anywhere", () =>
  Effect.gen(function*() {
    const { ask, session } = yield* start()
    const { headers } = yield* session(alice)
    const read = (path: string, more: Record<string, string>) =>
      ask({ path, headers: { host: pagesHost, cookie: headers.cookie, ...more } })
    for (const path of ["/v1/session", "/v1/people", "/v1/changes"]) {
      for (
        const more of [{ origin: "https://evil.test" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }, {
          "sec-fetch-site": "same-site"
        }]
      ) {
        expect(yield* read(path, more)).toMatchObject(another)
      }
    }
    expect((yield* read("/v1/session", { "sec-fetch-site": "same-origin" })).status).toBe(200)
    expect((yield* read("/v1/session", { "sec-fetch-site": "none" })).status).toBe(200)
    for (const path of ["/", "/sign-in/link"]) {
      expect((yield* read(path, { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" })).status).toBe(200)
    }
  }))

it.scopedLive("programs' routes are refused to browsers, whatever page they come from", () =>
  Effect.gen(function*() {
    const { ask, program, url } = yield* start()
    const { stamp, tokens } = yield* program(alice)
    const host = new URL(url).host
    const renew = (more: Record<string, string>) =>
      ask({
        method: "POST",
        path: "/v1/fleet/lease/renew",
        headers: { host, authorization: `Bearer ${tokens.fleet}`, ...stamp, ...more }
      })
    for (
      const more of [
        { origin },
        { origin: "null" },
        { "sec-fetch-site": "none" },
        { "sec-fetch-site": "same-origin" },
        { "sec-fetch-dest": "empty" }
      ]
    ) {
      expect(yield* renew(more)).toMatchObject({ status: 403, body: { problem: "from-a-browser" } })
    }
    // Node's own fetch names a mode.
    expect((yield* renew({ "sec-fetch-mode": "cors" })).status).toBe(200)
    const claimed = yield* ask({ method: "POST", path: "/v1/enrollments/state", headers: { host, origin }, body: {} })
    expect(claimed.status).toBe(403)
  }))

it.scopedLive("[A4] a body is JSON and says so", () =>
  Effect.gen(function*() {
    const { ask, session, url } = yield* start()
    const { headers } = yield* session(alice)
    const send = (type: string, body = "{}") =>
      ask({
        method: "POST",
        path: "/v1/sessions/revoke-others",
        headers: { ...ownPage, ...headers, "content-type": type },
        body
      })
    for (
      const type of [
        "text/plain",
        "",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/jsonx",
        "application/json, text/plain",
        "application/json; charset=utf-16",
        "application/octet-stream"
      ]
    ) {
      expect([type, (yield* send(type)).status]).toStrictEqual([type, 415])
    }
    for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""]) {
      expect([type, (yield* send(type)).status]).toStrictEqual([type, 200])
    }
    const malformed = yield* send("application/json", "{\"x\":")
    expect(malformed).toMatchObject({ status: 400, body: { _tag: "HttpApiDecodeError" } })
    const formed = yield* ask({
      method: "POST",
      path: "/v1/enrollments/state",
      headers: { host: new URL(url).host, "content-type": "text/plain" },
      body: "{}"
    })
    expect(formed).toMatchObject({ status: 415, body: { _tag: "MediaTypeRefused" } })
  }))

it.scopedLive("[A15] a secret in an address is refused on every kind of route, before anything is looked up", () =>
  Effect.gen(function*() {
    const { ask, session, url } = yield* start()
    const { headers, secret: cookie } = yield* session(alice)
    const host = new URL(url).host
    const link = secret()
    const addresses = [
      [pagesHost, `/sign-in/link?link=${link}`],
      [pagesHost, `/sign-in/link/${link}`],
      [pagesHost, `/sign-in/link?x=${link}`],
      [pagesHost, `/v1/session?session=${cookie}`],
      [pagesHost, `/v1/session?x=%2541${cookie.slice(1)}`],
      [pagesHost, `/v1/people/${cookie}/role`],
      [pagesHost, "/?csrf=x"],
      [pagesHost, "/?a=1;token=x"],
      [host, `/v1/fleet/levels?access_token=cff_${link}`],
      [host, `/healthz?x=cfa_${link}`],
      [host, `/nowhere/cff_${link}`],
      [pushHost, "/_matrix/app/v1/transactions/1?access_token=x"]
    ] as const
    for (const [name, path] of addresses) {
      const answer = yield* ask({ path, headers: { host: name, cookie: headers.cookie } })
      expect([path, answer.status]).toStrictEqual([path, 400])
      expect(answer.text).not.toContain(link)
    }
    // An event ID looks alike and is none.
    expect((yield* ask({ path: `/requests?event=$${link}`, headers: { host: pagesHost } })).status).toBe(200)
  }))

it.scopedLive("[A17] a link that carries a choice changes nothing", () =>
  Effect.gen(function*() {
    const { asPage, filed, session } = yield* start()
    const { headers } = yield* session(alice)
    const { code, enrollmentId } = yield* filed(alice)
    for (const query of [`?choice=approve&code=${code}`, "?choice=reject", "?approve", `?code=${code}`]) {
      expect((yield* asPage({ path: `/requests/${enrollmentId}${query}`, headers })).status).toBe(200)
      const detail = yield* asPage({ path: `/v1/requests/${enrollmentId}${query}`, headers })
      expect(detail).toMatchObject({ status: 200, body: { state: "pending" } })
      for (const path of ["approve", "reject"]) {
        const read = yield* asPage({ path: `/v1/requests/${enrollmentId}/${path}${query}`, headers })
        expect(read).toMatchObject({ status: 405, headers: { allow: "OPTIONS, POST" } })
      }
    }
    const after = yield* asPage({ path: `/v1/requests/${enrollmentId}`, headers })
    expect(after.body).toMatchObject({ state: "pending" })
    expect(after.text).not.toContain(code)
  }))

it.scopedLive("methods: HEAD as GET without a body, OPTIONS says which, others are refused, nothing allows another origin", () =>
  Effect.gen(function*() {
    const { ask, session } = yield* start()
    const { headers } = yield* session(alice)
    const head = yield* ask({ method: "HEAD", path: "/v1/session", headers: { ...ownReading, ...headers } })
    expect([head.status, head.text]).toStrictEqual([200, ""])
    const stream = yield* ask({ method: "HEAD", path: "/v1/changes", headers: { ...ownReading, ...headers } })
    expect(stream.status).toBe(200)
    const preflight = yield* ask({
      method: "OPTIONS",
      path: "/v1/sign-in/ask",
      headers: { host: pagesHost, origin: "https://evil.test", "access-control-request-method": "POST" }
    })
    expect(preflight).toMatchObject({ status: 204, headers: { allow: "OPTIONS, POST" } })
    expect(Object.keys(preflight.headers).filter((name) => name.startsWith("access-control"))).toStrictEqual([])
    for (const method of ["PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"]) {
      const answer = yield* ask({ method, path: "/v1/session", headers: ownPage })
      expect(answer).toMatchObject({ status: 405, body: { _tag: "MethodRefused" } })
    }
    const nowhere = yield* ask({ path: "/v1/nowhere", headers: ownReading })
    expect(nowhere).toMatchObject({ status: 404, body: { _tag: "NotFound" } })
  }))

it.scopedLive("an address written in another way than the table's reaches no handler", () =>
  Effect.gen(function*() {
    const { ask, session } = yield* start()
    const { headers } = yield* session(alice)
    for (
      const path of [
        "/%761/session",
        "/%68ealthz",
        "/openapi%2Ejson",
        "/sign%2din",
        "/mark%2esvg",
        "/v1/sess%69on",
        "/v1//session",
        "//v1/session",
        "/v1/session/",
        "/v1/session;x",
        "/V1/session",
        "/v1/./session",
        "/v1/people/../session",
        "/v1\\session",
        "/assets/..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/index.html"
      ]
    ) {
      const answer = yield* ask({ path, headers: { ...ownReading, ...headers } })
      expect([path, answer.status]).toStrictEqual([path, 404])
    }
  }))

it.scopedLive("[A41] bodies are bounded by what they say and by what they are; the next request is answered", () =>
  Effect.gen(function*() {
    const { ask, session } = yield* start()
    const { headers } = yield* session(alice)
    const tooLarge = { status: 413, body: { _tag: "BodyTooLarge", maxBytes: 4_096 } }
    const declared = yield* ask({
      method: "POST",
      path: "/v1/sign-in/ask",
      headers: ownPage,
      body: { user: "x".repeat(4_096) }
    })
    expect(declared).toMatchObject(tooLarge)
    // Nobody's body is read before it is known whose it is.
    const unknown = yield* ask({
      method: "POST",
      path: "/v1/sign-out",
      headers: ownPage,
      body: { x: "y".repeat(9_000) }
    })
    expect(unknown.status).toBe(401)
    expect((yield* ask({ path: "/v1/session", headers: { ...ownReading, ...headers } })).status).toBe(200)
  }))

/** A connection that sends this and then nothing; answers what came until it was closed. */
const raw = (url: string, sent: string) =>
  Effect.async<string>((resume) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    let text = ""
    socket.on("data", (part) => {
      text += part.toString("latin1")
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(text)))
    socket.write(sent)
    return Effect.sync(() => socket.destroy())
  })

it.scopedLive("[A41] a chunked body over the bound is told so, huge headers are refused", () =>
  Effect.gen(function*() {
    const { url } = yield* start()
    const head = [
      "POST /v1/sign-in/ask HTTP/1.1",
      `host: ${pagesHost}`,
      `origin: ${origin}`,
      "content-type: application/json",
      "transfer-encoding: chunked",
      "connection: close"
    ].join("\r\n")
    const part = `1000\r\n${"x".repeat(4_096)}\r\n`
    const slightly = yield* raw(url, `${head}\r\n\r\n${part}${part}0\r\n\r\n`)
    expect(slightly).toContain("413 Payload Too Large")
    expect(slightly).toContain("BodyTooLarge")
    // Over several times the bound nobody waits for the rest.
    const far = yield* raw(url, `${head}\r\n\r\n${part.repeat(40)}0\r\n\r\n`)
    expect(far).not.toContain("200 OK")
    const huge = yield* raw(url, `GET / HTTP/1.1\r\nhost: ${pagesHost}\r\nx: ${"y".repeat(20_000)}\r\n\r\n`)
    expect(huge).toContain("431")
    expect(yield* raw(url, "GET /healthz HTTP/1.0\r\n\r\n")).toContain("421")
    expect(yield* raw(url, "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")).toContain("400")
    // Two names are none, whichever of them whoever stands before this server goes by.
    for (const [one, two] of [[pagesHost, "evil.test"], ["evil.test", pagesHost], [pagesHost, pagesHost]]) {
      const named = `GET /healthz HTTP/1.1\r\nhost: ${one}\r\nhost: ${two}\r\nconnection: close\r\n\r\n`
      expect(yield* raw(url, named)).toContain("421")
    }
  }))

it.scopedLive("[A41] a request to become a web socket is one like any other, and nothing ends by its connection's reset", () =>
  Effect.gen(function*() {
    const { ask, url } = yield* start()
    const uncaught: Array<unknown> = []
    const onUncaught = (error: unknown) => void uncaught.push(error)
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("uncaughtException", onUncaught)),
      () => Effect.sync(() => process.off("uncaughtException", onUncaught))
    )
    const upgrade = "connection: upgrade\r\nupgrade: websocket\r\n"
    const reset = (head: string, body = "") =>
      Effect.async<void>((resume) => {
        const socket = connect(Number(new URL(url).port), "127.0.0.1")
        socket.on("error", () => {})
        socket.on("close", () => resume(Effect.void))
        socket.on("connect", () =>
          socket.write(`${head}\r\nhost: ${pagesHost}\r\n${upgrade}\r\n${body}`, () => socket.resetAndDestroy()))
      })
    const body = "{\"user\":\"x\"}"
    for (let count = 0; count < 20; count += 1) {
      yield* reset("GET /healthz HTTP/1.1")
      yield* reset("GET / HTTP/1.1")
      yield* reset(
        `POST /v1/sign-in/ask HTTP/1.1\r\norigin: ${origin}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`,
        body
      )
    }
    expect((yield* ask({ path: "/healthz", headers: { host: pagesHost } })).status).toBe(200)
    expect(uncaught).toStrictEqual([])
    // Its body is read as ever.
    const asked = yield* ask({
      method: "POST",
      path: "/v1/sign-in/ask",
      headers: { ...ownPage, connection: "upgrade", upgrade: "websocket" },
      body: { user: "x" }
    })
    expect(asked.status).toBe(200)
  }))

it.scopedLive(
  "[A41] 2,000 connections that say nothing, slow headers and slow bodies keep neither pushes nor pages from being answered",
  () =>
    Effect.gen(function*() {
      const { ask, url } = yield* start()
      const port = Number(new URL(url).port)
      const opened = (sent: string) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const socket = connect(port, "127.0.0.1")
            socket.on("error", () => {})
            socket.write(sent)
            return socket
          }),
          (socket) => Effect.sync(() => socket.destroy())
        )
      const slowBody =
        `POST /v1/sign-in/ask HTTP/1.1\r\nhost: ${pagesHost}\r\norigin: ${origin}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`
      const push = ask({
        method: "PUT",
        path: "/_matrix/app/v1/transactions/1",
        headers: { host: pushHost, ...homeserverHeaders },
        body: { events: [] }
      })
      for (let count = 0; count < 40; count += 1) yield* opened(slowBody)
      for (let count = 0; count < 2_000; count += 1) {
        yield* opened(count % 2 === 0 ? "" : `GET / HTTP/1.1\r\nhost: ${pagesHost}\r\nx: `)
        if (count % 100 === 99) {
          expect((yield* push).status).toBe(200)
          expect((yield* ask({ path: "/", headers: { host: pagesHost } })).status).toBe(200)
        }
      }
    }),
  60_000
)

it.scoped("[A41] a body that does not come is waited for within its bound, and the caller is told", () =>
  Effect.gen(function*() {
    const { url } = yield* start()
    const answer = yield* Effect.fork(raw(
      url,
      `POST /v1/sign-in/ask HTTP/1.1\r\nhost: ${pagesHost}\r\norigin: ${origin}\r\nconnection: close\r\n` +
        "content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    ))
    yield* until(
      "the bound is over",
      Effect.zipRight(TestClock.adjust("1 second"), Effect.map(Fiber.poll(answer), Option.isSome))
    )
    const text = yield* Fiber.join(answer)
    expect(text).toContain("503 Service Unavailable")
    expect(text).toContain("{\"withinMillis\":10000,\"_tag\":\"AnswerTooSlow\"}")
  }))

it.scopedLive("[A42] a push is known by its header's token, which comes before its body; a token in its address is refused", () =>
  Effect.gen(function*() {
    const { ask } = yield* start()
    const push = (path: string, headers: Record<string, string>, body: unknown = "not json at all {") =>
      ask({
        method: "PUT",
        path: `/_matrix/app/v1/transactions/${path}`,
        headers: { host: pushHost, ...headers },
        body
      })
    for (const authorization of ["", "Bearer", "Bearer wrong", "hs-token", "Basic hs-token", "bearer hs-token "]) {
      expect(yield* push("1", { authorization })).toMatchObject({ status: 403, body: { errcode: "M_FORBIDDEN" } })
    }
    for (const more of [{}, homeserverHeaders]) {
      expect(yield* push("1?access_token=hs-token", more)).toMatchObject({
        status: 400,
        body: { _tag: "CredentialMisplaced" }
      })
    }
    expect((yield* push("1", homeserverHeaders, { events: [] })).status).toBe(200)
    expect(String(hsToken)).not.toContain("hs-token")
  }))

it.scopedLive("every kind of answer carries its headers, and none says what serves it", () =>
  Effect.gen(function*() {
    const { ask, session, url } = yield* start()
    const { headers } = yield* session(alice)
    const host = new URL(url).host
    const kinds = {
      page: { path: "/", headers: { host: pagesHost } },
      asset: { path: "/assets/app-abc.js", headers: { host: pagesHost } },
      "no page": { path: "/none.txt", headers: { host: pagesHost } },
      answer: { path: "/v1/session", headers: { ...ownReading, ...headers } },
      refusal: { path: "/v1/session", headers: ownReading },
      stream: { path: "/v1/changes", headers: { ...ownReading, ...headers } },
      "programs' refusal": { path: "/v1/fleet/levels", headers: { host } },
      "unknown host": { path: "/v1/session", headers: { host: "evil.test" } },
      "unknown address": { path: "/v1/none", headers: { host } },
      health: { path: "/healthz", headers: { host } },
      document: { path: "/openapi.json", headers: { host } },
      push: { path: "/_matrix/app/v1/users/x", headers: { host: pushHost } }
    }
    const changing = new Set(["date", "connection", "content-length", "transfer-encoding", "keep-alive"])
    const seen: Record<string, unknown> = {}
    for (const [kind, asked] of Object.entries(kinds)) {
      const answer = yield* ask(asked)
      seen[kind] = {
        status: answer.status,
        ...Object.fromEntries(
          Object.entries(answer.headers).filter(([name]) => !changing.has(name)).map(([name, value]) => [
            name,
            name === "etag" ? "…" : String(value).replaceAll(/nonce-[A-Za-z0-9+/=_-]+/gu, "nonce-…")
          ]).toSorted()
        )
      }
    }
    expect(seen).toMatchSnapshot()
    for (const kind of Object.values(seen)) expect(kind).not.toHaveProperty("server")
  }))

it("every route is bounded, and nothing of people's is counted by itself", () => {
  for (const { bounds, door } of routes) {
    expect(bounds.withinMillis).toBeLessThanOrEqual(120_000)
    expect(bounds.maxBodyBytes).toBeLessThanOrEqual(32 * 1024 * 1024)
    expect(bounds.maxPerMinute === null).toBe(door === "homeserver")
  }
})
