// Every route of the table against every kind of credential, and against things that are somebody else's or do not exist.
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { type Route, routes } from "../../../../src/programs/crossfire/doors/RouteTable.ts"
import { alice, bob } from "../../../layers/crossfire/World.ts"
import { pushHost } from "../Crossfire.ts"
import { type DoorWorld, ownPage, ownReading, pagesHost, root, secret, start } from "./DoorWorld.ts"
import { type Cell, homeserverAnswers, homeserverHeaders, type Row, rows, type Subject } from "./Expected.ts"

const nameOf = ({ method, path }: Route) => `${method} ${path}`

const cells: ReadonlyArray<Cell> = [
  "none",
  "wrong",
  "expired",
  "other",
  "fleet",
  "agent",
  "both",
  "administrator",
  "owner"
]

/** What the right client of this route sends besides a credential. */
const usual = (route: Route, url: string): Record<string, string> => {
  switch (route.door) {
    case "pages":
      return { host: pagesHost }
    case "people":
      return route.method === "GET" ? ownReading : ownPage
    case "homeserver":
      return { host: pushHost }
    case "programs":
    case "public":
      return { host: new URL(url).host }
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The credential of the cell, and the lease that goes with it where there is one. */
const credential = (world: DoorWorld, route: Route, cell: Cell) =>
  Effect.gen(function*() {
    const forPeople = route.door === "people" || route.door === "pages"
    switch (cell) {
      case "none":
        return {}
      case "wrong":
        return forPeople
          ? { cookie: `__Host-crossfire=${secret()}`, "x-crossfire-csrf": secret() }
          : bearer(`${route.path.startsWith("/v1/agent") ? "cfa_" : "cff_"}${secret()}`)
      case "expired": {
        if (forPeople) return (yield* world.overSession(alice)).headers
        const program = yield* world.program(alice)
        const { db, sql } = world.world
        yield* db.transaction(
          sql`UPDATE fleet SET token_hash = ${randomUUID()} WHERE fleet_id = ${program.fleetId}`
        )
        yield* db.transaction(sql`UPDATE agent SET token_hash = NULL WHERE agent_id = ${program.agentId}`)
        return {
          ...bearer(route.path.startsWith("/v1/agent") ? program.tokens.agent : program.tokens.fleet),
          ...program.stamp
        }
      }
      case "owner":
        return (yield* world.session(alice)).headers
      case "other":
        return (yield* world.session(bob)).headers
      case "administrator":
        return (yield* world.session(root)).headers
      case "fleet": {
        const program = yield* world.program(alice)
        return { ...bearer(program.tokens.fleet), ...program.stamp }
      }
      case "agent": {
        const program = yield* world.program(alice)
        return { ...bearer(program.tokens.agent), ...program.stamp }
      }
      case "both": {
        const program = yield* world.program(alice)
        return { ...(yield* world.session(alice)).headers, ...bearer(program.tokens.fleet), ...program.stamp }
      }
    }
  })

const asked = (world: DoorWorld, route: Route, subject: Subject, headers: Readonly<Record<string, string>>) =>
  world.ask({ method: route.method, ...subject, headers: { ...usual(route, world.url), ...headers } })

const byName = new Map(routes.map((route) => [nameOf(route), route]))

const table = new Map(rows.map((row) => [row.route, row]))

it("every route has its row, and every row its route", () => {
  expect([...table.keys()].toSorted()).toStrictEqual([...byName.keys()].toSorted())
  expect(table.size).toBe(rows.length)
})

/** So that the whole table needs no more time than one worker has for one test. */
const parts = 4

for (let part = 0; part < parts; part += 1) {
  it.scopedLive(
    `[H-03] [H-04] [A5] [A49] each route against each credential, part ${part + 1} of ${parts}`,
    () =>
      Effect.gen(function*() {
        const world = yield* start()
        const wrong: Array<string> = []
        const check = (row: Row, what: string, expected: number, status: number, text: string) => {
          if (status !== expected) wrong.push(`${row.route} ${what}: ${status}, not ${expected} ${text.slice(0, 200)}`)
        }
        for (const row of rows.filter((_, at) => at % parts === part)) {
          const route = byName.get(row.route)
          if (route === undefined) continue
          for (const cell of cells) {
            const subject = yield* row.make(world)
            const answer = yield* asked(world, route, subject, yield* credential(world, route, cell))
            check(row, cell, row.expected[cell], answer.status, answer.text)
          }
          if (row.absent !== undefined) {
            const subject = yield* row.make(world)
            const path = subject.path.replace(
              /[0-9a-f]{8}-[0-9a-f-]{27}|%40[^/]+/u,
              (id) => id.startsWith("%40") ? encodeURIComponent("@nobody:cf.test") : randomUUID()
            )
            expect(path).not.toBe(subject.path)
            const answer = yield* asked(world, route, { ...subject, path }, (yield* world.session(root)).headers)
            check(row, "absent", row.absent, answer.status, answer.text)
          }
          const homeserver = homeserverAnswers[row.route]
          if (homeserver !== undefined) {
            const answer = yield* asked(world, route, yield* row.make(world), homeserverHeaders)
            check(row, "homeserver", homeserver, answer.status, answer.text)
          }
        }
        expect(wrong).toStrictEqual([])
      }),
    60_000
  )
}

it.scopedLive("[A6] [A49] another fleet's credential, lease or agent opens nothing of this one", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const mine = yield* world.program(alice)
    const theirs = yield* world.program(bob)
    const host = new URL(world.url).host
    const crossed = { host, ...bearer(theirs.tokens.fleet), ...mine.stamp, "x-crossfire-generation": "99" }
    for (const path of ["/v1/fleet/lease/renew", "/v1/fleet/boundary"]) {
      expect((yield* world.ask({ method: "POST", path, headers: crossed })).status).toBe(409)
    }
    const named = yield* world.ask({
      method: "POST",
      path: "/v1/fleet/credentials",
      headers: { host, ...bearer(theirs.tokens.fleet), ...theirs.stamp },
      body: {
        fleetToken: "a".repeat(64),
        agentTokens: [{ agentId: mine.agentId, token: "b".repeat(64) }],
        fleetId: mine.fleetId,
        owner: alice
      }
    })
    expect(named.status).toBe(403)
    // Nothing of it was done, to neither of them.
    for (const program of [mine, theirs]) {
      const renewed = yield* world.ask({
        method: "POST",
        path: "/v1/fleet/lease/renew",
        headers: { host, ...bearer(program.tokens.fleet), ...program.stamp }
      })
      expect(renewed.status).toBe(200)
    }
  }))

it.scopedLive("[A49] lists hold what is one's own, an administrator's all", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const of = (owner: typeof alice) =>
      Effect.gen(function*() {
        const program = yield* world.program(owner)
        const { enrollmentId } = yield* world.filed(owner)
        const session = yield* world.session(owner)
        const made = yield* world.asPage({
          path: "/v1/invitations",
          headers: session.headers,
          body: { note: "x", lastsMillis: 3_600_000 }
        })
        const invitation = /"invitationId":"([^"]+)"/u.exec(made.text)?.[1] ?? "none was made"
        return {
          headers: session.headers,
          ids: {
            "/v1/fleets": [program.fleetId, program.agentId],
            "/v1/requests": [enrollmentId],
            "/v1/invitations": [invitation],
            "/v1/sessions": [session.sessionId]
          }
        }
      })
    const administrator = (yield* world.session(root)).headers
    const opened = yield* world.asPage({ path: "/v1/signup", headers: administrator, body: { policy: "members" } })
    expect(opened.status).toBe(200)
    const mine = yield* of(alice)
    const theirs = yield* of(bob)
    const paths = ["/v1/fleets", "/v1/requests", "/v1/invitations", "/v1/sessions"] as const
    for (const path of paths) {
      const read = (headers: Readonly<Record<string, string>>) =>
        Effect.map(world.asPage({ path, headers }), ({ text }) => text)
      const [own, others, all] = [
        yield* read(mine.headers),
        yield* read(theirs.headers),
        yield* read(administrator)
      ]
      for (const id of mine.ids[path]) {
        expect([path, own.includes(id), others.includes(id)]).toStrictEqual([path, true, false])
        expect([path, all.includes(id)]).toStrictEqual([path, path !== "/v1/sessions"])
      }
      for (const id of theirs.ids[path]) expect([path, own.includes(id)]).toStrictEqual([path, false])
    }
  }))
