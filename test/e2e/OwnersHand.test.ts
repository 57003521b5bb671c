// What an owner does on the web to a fleet that runs: its credentials are revoked under a running turn and made anew, an
// agent of it is retired under a running turn. Real parts; the browser is its requests alone.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Schedule, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { csrfHeader } from "../../src/domain/api/People.ts"
import type { EventId } from "../../src/domain/Ids.ts"
import { askingCookie, sessionCookie } from "../../src/domain/Session.ts"
import { repliesTo, textOf } from "../../src/programs/demo/Person.ts"
import * as Stage from "../../src/programs/demo/Stage.ts"
import { ask } from "../programs/crossfire/doors/Ask.ts"
import { fleet, stageFolder, statusOf } from "./SharedStage.ts"

const quiet = () => Effect.void
const until = <A, E, R>(what: string, look: Effect.Effect<A, E, R>, fits: (found: A) => boolean) =>
  look.pipe(
    Effect.repeat({ until: fits, schedule: Schedule.spaced("100 millis") }),
    Effect.timeoutFail({ duration: "60 seconds", onTimeout: () => `waited in vain: ${what}` })
  )

const rows = <A>(file: string, query: string): ReadonlyArray<A> => {
  const database = new Sqlite(file, { readonly: true, timeout: 5_000 })
  try {
    return database.prepare<[], A>(query).all()
  } finally {
    database.close()
  }
}

const Csrf = Schema.Struct({ csrf: Schema.String })
const Fleets = Schema.Array(Schema.Struct({
  fleetId: Schema.String,
  credential: Schema.String,
  agents: Schema.Array(Schema.Struct({
    agentId: Schema.String,
    name: Schema.String,
    standing: Schema.String,
    credential: Schema.String
  }))
}))
const Filed = Schema.parseJson(Schema.Struct({ code: Schema.String, reviewUrl: Schema.String }))

const cookieOf = (lines: ReadonlyArray<string> | undefined, name: string): string =>
  (lines ?? []).find((line) => line.startsWith(`${name}=`))?.split(";")[0] ?? ""

/** Alice's page: signed in by the link of the bot. */
const pageOf = ({ address, alice }: Stage.Stage) =>
  Effect.gen(function*() {
    const own = { origin: address, "sec-fetch-site": "same-origin" }
    const post = (path: string, body: unknown, headers: Readonly<Record<string, string>>) =>
      ask(address, { method: "POST", path, body, headers: { ...own, ...headers } })
    const asked = yield* post("/v1/sign-in/ask", { user: alice.userId }, {})
    const link = /sign-in\/link#([\w-]{43})/u
    const message = yield* alice.waitFor("the bot's link", (seen) => link.test(textOf(seen)), "60 seconds")
    const done = yield* post("/v1/sign-in/complete", { link: link.exec(textOf(message))?.[1] }, {
      cookie: cookieOf(asked.headers["set-cookie"], askingCookie)
    })
    expect(done.status).toBe(200)
    const cookie = cookieOf(done.headers["set-cookie"], sessionCookie)
    const read = (path: string) => ask(address, { path, headers: { "sec-fetch-site": "same-origin", cookie } })
    const { csrf } = yield* Schema.decodeUnknown(Csrf)((yield* read("/v1/session")).body)
    const fleets = Effect.flatMap(read("/v1/fleets"), ({ body }) => Schema.decodeUnknown(Fleets)(body))
    const change = (path: string, body: unknown = {}) =>
      Effect.map(post(path, body, { cookie, [csrfHeader]: csrf }), ({ status }) => status)
    return { fleets, change }
  })

it.scopedLive(
  "[A12] [H-06] credentials revoked on the web under a running turn are made anew and nothing is lost; a retired agent ends, the other goes on",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const stage = yield* Stage.make({ folder, models: null, thinkMillis: 1_500, say: quiet })
      const { address, agents, alice, root, roomId } = stage
      const roster = join(folder, "roster.toml")
      const registry = join(root, "fleetd.sqlite")
      const tokens = () =>
        rows<{ readonly token: string }>(registry, "SELECT token FROM fleet UNION ALL SELECT token FROM agent")
          .map(({ token }) => token)
      const statusFor = (token: string) =>
        Effect.map(
          ask(address, {
            method: "POST",
            path: token.startsWith("cff_") ? "/v1/fleet/boundary" : "/v1/agent/page",
            headers: { authorization: `Bearer ${token}` },
            body: {}
          }),
          ({ status }) => status
        )
      const session = (name: string) =>
        Effect.map(statusOf(root), (status) => status.agents.find((agent) => agent.name === name)?.session.state)
      const answered = (event: EventId, who: typeof agents) =>
        Effect.forEach(who, ({ name, userId }) =>
          alice.waitFor(
            `the answer of ${name}`,
            (seen) => seen.event.sender === userId && repliesTo(seen) === event,
            "90 seconds"
          ), { concurrency: "unbounded" })
      const page = yield* pageOf(stage)
      const [known] = yield* page.fleets
      const fleetId = known?.fleetId ?? ""

      // Revoked while one works.
      const before = tokens()
      const first = yield* alice.send(roomId, "work while you are revoked")
      yield* until("one works", session("scout"), (state) => state === "working")
      expect(yield* page.change(`/v1/fleets/${fleetId}/revoke-credentials`)).toBe(200)
      for (const token of before) expect(yield* statusFor(token)).toBe(401)
      yield* until("the refusal", statusOf(root), ({ lease }) => lease.state === "credential-refused")
      const refused = yield* statusOf(root)
      expect(refused.lease.state === "held" ? "" : refused.lease.reason).toContain("--again --new-credentials")
      const meanwhile = yield* alice.send(roomId, "said while you are revoked")
      yield* stage.fleetd.stop

      // The former ones are not offered again; the refusal says what to do, before anything is filed.
      const enroll = (...more: ReadonlyArray<string>) => fleet("enroll", roster, "--root", root, "--json", ...more)
      const approved = Effect.gen(function*() {
        const { code, reviewUrl } = yield* Schema.decode(Filed)(
          (yield* enroll("--no-wait", "--again", "--new-credentials")).stdout
        )
        expect(yield* page.change(`/v1${new URL(reviewUrl).pathname}/approve`, { code })).toBe(200)
        return yield* enroll()
      })
      const kept = yield* enroll("--no-wait", "--again")
      expect([kept.code, kept.stdout]).toStrictEqual([4, ""])
      expect(kept.stderr).toContain("CredentialsRevoked")
      expect(kept.stderr).toContain("--again --new-credentials")
      expect((yield* page.fleets)[0]?.credential).toBe("revoked")
      const renewed = yield* approved
      expect([renewed.code, renewed.stdout.includes("introduced")]).toStrictEqual([0, true])
      const repeated = (yield* fleet("enroll", roster, "--root", root)).stdout
      expect(repeated.match(/ \(as before\)$/gmu)).toHaveLength(2)
      expect(repeated).not.toContain("Agents that are new")
      expect(tokens().filter((token) => before.includes(token))).toStrictEqual([])
      for (const token of before) expect(yield* statusFor(token)).toBe(401)

      yield* stage.startFleetd
      // What was being worked on is answered, and so is what came while nothing could be delivered: once each.
      yield* answered(first, agents)
      yield* answered(meanwhile, agents)
      const events = (event: string) =>
        rows<{ readonly n: number }>(
          registry,
          `SELECT count(*) AS n FROM publication_event e
          JOIN publication p USING (delivery_id) WHERE e.event_id = '${event}' AND p.state = 'confirmed'`
        )[0]?.n
      expect([events(first), events(meanwhile)]).toStrictEqual([2, 2])

      // Retired while it works.
      const [scout, scribe] = [
        agents.filter(({ name }) => name === "scout"),
        agents.find(({ name }) => name === "scribe")
      ]
      const views = (yield* page.fleets)[0]?.agents ?? []
      yield* until("both rest", Effect.zip(session("scout"), session("scribe")), (two) =>
        two.every((one) =>
          one === "idle"
        ))
      const last = yield* alice.send(roomId, "one of you is retired over this")
      yield* until("it works", session("scribe"), (state) => state === "working")
      const agentId = views.find(({ name }) => name === "scribe")?.agentId ?? ""
      expect(yield* page.change(`/v1/agents/${agentId}/retire`)).toBe(200)
      yield* until("it is retired", session("scribe"), (state) => state === "retired")
      yield* answered(last, scout)
      yield* alice.waitFor(
        "its leaving",
        ({ event, roomId: room }) =>
          room === roomId && event.type === "m.room.member" && event.sender === scribe?.userId &&
          event.content["membership"] === "leave",
        "60 seconds"
      )
      const after = yield* alice.send(roomId, "who is left?")
      yield* answered(after, scout)
      expect((yield* page.fleets)[0]?.agents.map(({ credential, name, standing }) => [name, standing, credential]))
        .toStrictEqual([["scout", "active", "valid"], ["scribe", "retired", "revoked"]].toSorted())
      const ended = (yield* statusOf(root)).agents.find(({ name }) => name === "scribe")
      expect(ended?.session).toStrictEqual({ state: "retired", reason: null })
      const history = ended?.contexts[0]?.history ?? ""
      expect(readFileSync(history, "utf8").length).toBeGreaterThan(0)
      expect(events(after)).toBe(1)
      const sent = yield* fleet("send", "scribe", "are you there?", "--root", root)
      expect([sent.code, sent.stderr.includes("retired")]).toStrictEqual([4, true])
      // Nobody is told of a fault where there is none.
      expect(rows(registry, `SELECT text FROM notice WHERE text LIKE '%scribe%'`)).toStrictEqual([])
      const rotated = yield* fleet("credentials", "rotate", "--root", root, "--json")
      expect([rotated.code, rotated.stdout.trim()]).toStrictEqual([0, "{\"rotated\":true,\"agents\":1}"])
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)),
  179_000
)
