// A whole crossfire on a real listener, real SQLite and the homeserver in memory, with people, fleets, agents and their
// credentials made anew whenever a test asks for one. Every request comes from an address of its own.
import { Context, Effect, Redacted } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PersonRole } from "../../../../src/domain/Actor.ts"
import { ClaimSecret } from "../../../../src/domain/api/Crossfire.ts"
import type { UserId } from "../../../../src/domain/Ids.ts"
import { FleetKey, InstanceKey, RegisteredName, type Roster } from "../../../../src/domain/Roster.ts"
import { sessionCookie } from "../../../../src/domain/Session.ts"
import { noncePlaceholder } from "../../../../src/domain/WebPaths.ts"
import { hashOf } from "../../../../src/layers/crypto/Secret.ts"
import { csrfOf } from "../../../../src/programs/crossfire/people/SessionCookies.ts"
import { Enrollment } from "../../../../src/services/Enrollment.ts"
import { FleetLeases } from "../../../../src/services/FleetLeases.ts"
import { Sessions } from "../../../../src/services/Sessions.ts"
import { alice, bob, make as makeWorld, user } from "../../../layers/crossfire/World.ts"
import { origin, pushHost, serve, type ServeOptions, stampHeaders } from "../Crossfire.ts"
import { type Ask, ask as askAt } from "./Ask.ts"

export const root = user("root")
export const pagesHost = new URL(origin).host

const built = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "crossfire-pages-"))
    mkdirSync(join(folder, "assets"))
    writeFileSync(join(folder, "index.html"), `<html><style nonce="${noncePlaceholder}"></style></html>`)
    writeFileSync(join(folder, "assets", "app-abc.js"), "export {}")
    writeFileSync(join(folder, "mark.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>")
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

export const secret = () => randomBytes(32).toString("base64url")

/** The headers of a page of crossfire's own that changes something. */
export const ownPage = { host: pagesHost, origin, "sec-fetch-site": "same-origin" } as const
/** The same page reading. */
export const ownReading = { host: pagesHost, "sec-fetch-site": "same-origin" } as const

export const start = (options: ServeOptions = {}) =>
  Effect.gen(function*() {
    const world = yield* makeWorld()
    const { db, sql } = world
    yield* world.person(alice, "member")
    yield* world.person(bob, "member")
    yield* world.person(root, "administrator")
    const served = yield* serve(world, {
      trustedProxies: ["127.0.0.1"],
      pushUrl: `http://${pushHost}`,
      webFolder: yield* built,
      ...options
    })
    const sessions = Context.get(served.context, Sessions)
    const leases = Context.get(served.context, FleetLeases)
    const enrollment = Context.get(served.context, Enrollment)

    let calls = 0
    /** By the trusted proxy on this machine, so that no budget of one request is another's. */
    const ask = (asked: Ask) =>
      Effect.suspend(() => {
        calls += 1
        const from = `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`
        return askAt(served.url, { ...asked, headers: { "x-forwarded-for": from, ...asked.headers } })
      })

    /** As a page of crossfire's own asks. */
    const asPage = (asked: Ask) =>
      ask({
        method: asked.body === undefined ? "GET" : "POST",
        ...asked,
        headers: { ...asked.body === undefined ? ownReading : ownPage, ...asked.headers }
      })

    const session = (of: UserId) =>
      Effect.map(sessions.begin(of, "Test"), (begun) => ({
        sessionId: begun.principal.sessionId,
        secret: Redacted.value(begun.secret),
        headers: {
          cookie: `${sessionCookie}=${Redacted.value(begun.secret)}`,
          "x-crossfire-csrf": csrfOf(begun.secret)
        }
      }))

    const overSession = (of: UserId) =>
      Effect.tap(session(of), ({ sessionId }) =>
        db.transaction(sql`UPDATE session SET ends_at = 1 WHERE session_id = ${sessionId}`))

    let made = 0
    const nextName = (prefix: string) => {
      made += 1
      return `${prefix}${made}`
    }

    const person = (role: PersonRole = "member") =>
      Effect.gen(function*() {
        const userId = user(nextName("person"))
        yield* world.person(userId, role)
        return userId
      })

    /** A fleet with one agent, their tokens and a lease. */
    const program = (owner: UserId) =>
      Effect.gen(function*() {
        const agent = yield* world.agent(nextName("agent"), owner)
        const tokens = { fleet: `cff_${secret()}`, agent: `cfa_${secret()}` }
        yield* db.transaction(
          sql`UPDATE fleet SET token_hash = ${hashOf(Redacted.make(tokens.fleet))} WHERE fleet_id = ${agent.fleetId}`
        )
        yield* db.transaction(
          sql`UPDATE agent SET token_hash = ${hashOf(Redacted.make(tokens.agent))} WHERE agent_id = ${agent.agentId}`
        )
        const lease = yield* leases.acquire({
          fleetId: agent.fleetId,
          root: randomUUID(),
          holder: "test",
          takeOver: false
        })
        return { ...agent, tokens, lease, stamp: stampHeaders(lease) }
      })

    const roster = (owner: UserId): Roster => ({
      fleet: FleetKey.make(nextName("fleet")),
      owner,
      agents: [{
        key: InstanceKey.make("only"),
        name: RegisteredName.make(nextName("entry")),
        engine: "codex",
        model: "m",
        effort: null,
        work_folder: "/srv",
        history_mode: "shared",
        instructions: null
      }]
    })

    const filed = (owner: UserId) =>
      Effect.gen(function*() {
        const claim = ClaimSecret.make(secret())
        const view = yield* enrollment.submit(claim, roster(owner))
        return { claim, enrollmentId: view.enrollmentId, code: view.code ?? "" }
      })

    return { ...served, world, ask, asPage, session, overSession, person, program, roster, filed, nextName }
  })

export type DoorWorld = Effect.Effect.Success<ReturnType<typeof start>>
