// Signing in as a browser does it, over a real listener: the two cookies, the page's second secret, streams, and the end of
// all of it.
import { expect, it } from "@effect/vitest"
import { Context, Effect, Schedule } from "effect"
import { get as open, type IncomingMessage } from "node:http"
import { Actor } from "../../../../src/domain/Actor.ts"
import { askingCookie, sessionCookie } from "../../../../src/domain/Session.ts"
import { Changes } from "../../../../src/services/Changes.ts"
import { People } from "../../../../src/services/People.ts"
import { alice, bob, bot } from "../../../layers/crossfire/World.ts"
import { type DoorWorld, ownReading, secret, start } from "../doors/DoorWorld.ts"

const patience = { schedule: Schedule.spaced("20 millis"), times: 500 } as const

/** What a browser keeps of an answer's cookies: value and attributes by name. */
const cookiesOf = (headers: IncomingMessage["headers"]) =>
  new Map((headers["set-cookie"] ?? []).map((line) => {
    const [pair = "", ...attributes] = line.split("; ")
    const at = pair.indexOf("=")
    return [pair.slice(0, at), { value: pair.slice(at + 1), attributes: attributes.toSorted() }]
  }))

/** The link that the bot sent, as its person reads it. */
const lastLink = ({ world: { memory } }: DoorWorld) =>
  Effect.gen(function*() {
    const rooms = yield* Effect.forEach(yield* memory.matrix.joinedRooms(bot), memory.timeline)
    const links = rooms.flat().flatMap(({ content }) =>
      /\/sign-in\/link#([A-Za-z0-9_-]{43})/u.exec(String(content["body"]))?.[1] ?? []
    )
    return links.at(-1) ?? (yield* Effect.fail("no link yet" as const))
  }).pipe(Effect.retry(patience))

const asked = (world: DoorWorld, user: string) =>
  Effect.gen(function*() {
    const answer = yield* world.asPage({ path: "/v1/sign-in/ask", body: { user } })
    expect(answer.status).toBe(200)
    return { answer, asking: cookiesOf(answer.headers).get(askingCookie) }
  })

const complete = (world: DoorWorld, link: string, cookie?: string) =>
  world.asPage({
    path: "/v1/sign-in/complete",
    headers: cookie === undefined ? {} : { cookie },
    body: { link }
  })

it.scopedLive("[A10] [H-03] sign-in: cookies of this host alone, a new session whatever was sent, cleared at sign-out", () =>
  Effect.gen(function*() {
    const world = yield* start()
    yield* world.world.human.register(alice)
    const { answer, asking } = yield* asked(world, "alice")
    expect(asking?.attributes).toStrictEqual(["HttpOnly", "Max-Age=300", "Path=/", "SameSite=Strict", "Secure"])
    const link = yield* lastLink(world)
    // A previewer or another browser that has the link has nothing.
    expect(yield* complete(world, link)).toMatchObject({ status: 403, body: { _tag: "SignInRefused" } })
    expect(yield* complete(world, link, `${askingCookie}=${secret()}`)).toMatchObject({ status: 403 })
    expect((yield* world.asPage({ path: "/sign-in/link" })).status).toBe(200)

    const planted = secret()
    const done = yield* complete(world, link, `${askingCookie}=${asking?.value}; ${sessionCookie}=${planted}`)
    expect(done).toMatchObject({ status: 200, body: { userId: alice, role: "member" } })
    const cookies = cookiesOf(done.headers)
    expect(cookies.get(askingCookie)?.value).toBe("")
    expect(cookies.get(askingCookie)?.attributes).toContain("Max-Age=0")
    const session = cookies.get(sessionCookie)
    expect(session?.value).toMatch(/^[A-Za-z0-9_-]{43}$/u)
    expect(session?.value).not.toBe(planted)
    const maxAge = Number(session?.attributes.find((name) => name.startsWith("Max-Age="))?.slice(8))
    expect(maxAge).toBeGreaterThan(13 * 24 * 3_600)
    expect(maxAge).toBeLessThanOrEqual(14 * 24 * 3_600)
    expect(session?.attributes.filter((name) => !name.startsWith("Max-Age="))).toStrictEqual([
      "HttpOnly",
      "Path=/",
      "SameSite=Strict",
      "Secure"
    ])
    // No answer says the cookie's secret, the page's own secret is another one.
    expect(done.text).not.toContain(session?.value)
    const used = yield* complete(world, link, `${askingCookie}=${asking?.value}`)
    expect(used).toMatchObject({ status: 403 })

    const cookie = `${sessionCookie}=${session?.value}`
    const current = yield* world.asPage({ path: "/v1/session", headers: { cookie } })
    expect(current.body).toStrictEqual(done.body)
    expect((yield* world.asPage({ path: "/v1/session", headers: { cookie: `${sessionCookie}=${planted}` } })).status)
      .toBe(401)
    const csrf = /"csrf":"([^"]+)"/u.exec(current.text)?.[1] ?? ""
    const out = yield* world.asPage({
      path: "/v1/sign-out",
      headers: { cookie, "x-crossfire-csrf": csrf },
      body: {}
    })
    expect(out.status).toBe(200)
    expect(cookiesOf(out.headers).get(sessionCookie)).toMatchObject({ value: "" })
    // [A11] The old cookie is worth nothing.
    expect((yield* world.asPage({ path: "/v1/session", headers: { cookie } })).status).toBe(401)

    // Somebody who does not exist is answered alike.
    const nobody = yield* asked(world, "nobody-of-that-name")
    expect(nobody.answer.text).toBe(answer.text)
    expect(nobody.asking?.attributes).toStrictEqual(asking?.attributes)
  }))

it.scopedLive("[A10] a browser that asks again uses either link; of what it sends, nothing is taken up but what was given", () =>
  Effect.gen(function*() {
    const world = yield* start()
    yield* world.world.human.register(alice)
    const askedWith = (cookie: string) =>
      Effect.map(
        world.asPage({ path: "/v1/sign-in/ask", headers: { cookie }, body: { user: "alice" } }),
        (answer) => `${askingCookie}=${cookiesOf(answer.headers).get(askingCookie)?.value}`
      )
    const other = (than: string) =>
      lastLink(world).pipe(
        Effect.filterOrFail((link) => link !== than, () => "no other link yet" as const),
        Effect.retry(patience)
      )
    const planted = secret()
    const first = yield* askedWith(`${askingCookie}=${planted}.;x.${"y".repeat(3_000)}`)
    const link = yield* lastLink(world)
    const second = yield* askedWith(first)
    const newer = yield* other(link)
    const third = yield* askedWith(second)
    // However often, the cookie stays small.
    let last = third
    for (let count = 0; count < 5; count += 1) last = yield* askedWith(last)
    expect(last.length).toBeLessThan(220)
    expect((yield* complete(world, link, `${askingCookie}=${planted}`)).status).toBe(403)
    expect((yield* complete(world, newer, first)).status).toBe(403)
    expect(yield* complete(world, link, third)).toMatchObject({ status: 200, body: { userId: alice } })
    expect(yield* complete(world, newer, third)).toMatchObject({ status: 200, body: { userId: alice } })
  }))

it.scopedLive("[A10] [A11] signing in again in one browser ends the session that its cookie held, and no other", () =>
  Effect.gen(function*() {
    const world = yield* start()
    yield* world.world.human.register(alice)
    const elsewhere = yield* world.session(alice)
    const before = yield* world.session(alice)
    const standing = ({ headers }: typeof before) =>
      Effect.map(world.asPage({ path: "/v1/session", headers: { cookie: headers.cookie } }), ({ status }) => status)
    const { asking } = yield* asked(world, "alice")
    const link = yield* lastLink(world)
    // A link that is refused ends nothing.
    expect((yield* complete(world, secret(), before.headers.cookie)).status).toBe(403)
    expect(yield* standing(before)).toBe(200)
    const done = yield* complete(world, link, `${askingCookie}=${asking?.value}; ${before.headers.cookie}`)
    expect(done.status).toBe(200)
    expect([yield* standing(before), yield* standing(elsewhere)]).toStrictEqual([401, 200])
  }))

/** An open stream: what came so far, and whether it ended. */
const stream = (world: DoorWorld, own: Readonly<Record<string, string>>, path = "/v1/changes") =>
  Effect.acquireRelease(
    Effect.async<{ readonly text: () => string; readonly isOver: () => boolean; readonly close: () => void }>(
      (resume) => {
        const { hostname, port } = new URL(world.url)
        const headers = path === "/v1/changes" ? { ...ownReading, ...own } : own
        const call = open({ hostname, port, path, agent: false, headers })
        let text = ""
        let over = false
        call.on("response", (response) => {
          expect(response.statusCode).toBe(200)
          response.on("data", (part: Buffer) => {
            text += part.toString("utf8")
          })
          response.on("close", () => {
            over = true
          })
          resume(Effect.succeed({ text: () => text, isOver: () => over, close: () => call.destroy() }))
        })
        call.on("error", () => {})
      }
    ),
    ({ close }) => Effect.sync(close)
  )

const eventually = (what: string, holds: () => boolean) =>
  Effect.repeat(Effect.sync(holds), { until: (held) => held, ...patience }).pipe(
    Effect.filterOrDieMessage((held) => typeof held === "number" || holds(), `waited in vain: ${what}`)
  )

it.scopedLive("[A9] [A11] a stream of changes tells what to ask for again, and ends with sign-out, role and deactivation", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const changes = Context.get(world.context, Changes)
    const people = Context.get(world.context, People)
    const operator = Actor.Operator()

    const mine = yield* world.session(alice)
    const ours = yield* world.session(alice)
    const theirs = yield* world.session(bob)
    const first = yield* stream(world, mine.headers)
    const second = yield* stream(world, ours.headers)
    const third = yield* stream(world, theirs.headers)
    yield* eventually("opened", () => [first, second, third].every(({ text }) => text().startsWith(": open\n\n")))
    yield* changes.publish("requests", alice)
    yield* eventually("told", () => first.text().includes("event: change\ndata: {\"topic\":\"requests\"}\n\n"))
    expect(third.text()).not.toContain("requests")

    const out = yield* world.asPage({ path: "/v1/sign-out", headers: mine.headers, body: {} })
    expect(out.status).toBe(200)
    yield* eventually("the session's stream ends", first.isOver)
    expect(second.isOver()).toBe(false)
    yield* people.setRole(operator, alice, "administrator")
    yield* eventually("a changed role ends it", second.isOver)
    yield* people.deactivate(operator, bob)
    yield* eventually("deactivation ends it", third.isOver)
    for (const { headers } of [mine, ours, theirs]) {
      expect((yield* world.asPage({ path: "/v1/changes", headers })).status).toBe(401)
    }
  }))

it.scopedLive("[A9] a web socket or stream from another page is refused at its beginning; one browser's streams are bounded", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const { headers } = yield* world.session(alice)
    const socket = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      origin: "https://evil.test"
    }
    const refused = yield* world.ask({ path: "/v1/changes", headers: { ...ownReading, ...headers, ...socket } })
    expect(refused.status).toBe(403)
    for (let count = 0; count < 16; count += 1) yield* stream(world, headers)
    expect(yield* world.asPage({ path: "/v1/changes", headers })).toMatchObject({ status: 429 })
    const other = yield* world.session(alice)
    expect((yield* world.asPage({ path: "/v1/changes", headers: other.headers })).status).toBe(200)
  }))

it.scopedLive("[A41] streams are bounded: of one person over all sessions, of one fleet, whose newest ends its oldest", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const sessions = yield* Effect.all(Array.from({ length: 6 }, () => world.session(alice)))
    const open = yield* Effect.forEach(
      Array.from({ length: 64 }),
      (_, at) => stream(world, sessions[at % 6]?.headers ?? {})
    )
    yield* eventually("all are opened", () => open.every(({ text }) => text() !== ""))
    const { headers } = sessions[5] ?? {}
    expect(yield* world.asPage({ path: "/v1/changes", headers: headers ?? {} })).toMatchObject({ status: 429 })
    const another = yield* world.session(bob)
    expect((yield* world.asPage({ path: "/v1/changes", headers: another.headers })).status).toBe(200)

    const levels = (program: { readonly tokens: { readonly fleet: string }; readonly stamp: Record<string, string> }) =>
      stream(world, {
        host: new URL(world.url).host,
        authorization: `Bearer ${program.tokens.fleet}`,
        ...program.stamp
      }, "/v1/fleet/levels")
    const mine = yield* world.program(alice)
    const others = yield* levels(yield* world.program(bob))
    const followed = yield* Effect.forEach(Array.from({ length: 4 }), () => levels(mine))
    yield* eventually("four are open", () => followed.every(({ text }) => text().includes("data: ")))
    const newest = yield* levels(mine)
    yield* eventually("the oldest ends", () => followed[0]?.isOver() === true)
    yield* eventually("the newest is open", () => newest.text().includes("data: "))
    expect([...followed.slice(1), newest, others].map(({ isOver }) => isOver())).toStrictEqual(
      [false, false, false, false, false]
    )
  }))
