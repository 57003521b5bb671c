import { expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Redacted, Schema } from "effect"
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Actor } from "../../../../src/domain/Actor.ts"
import { InvitationId } from "../../../../src/domain/api/People.ts"
import { AgentId, FleetId, UserId } from "../../../../src/domain/Ids.ts"
import { maxOpenInvitationsPerMember, registrationGate } from "../../../../src/domain/Signup.ts"
import * as InvitationRows from "../../../../src/layers/crossfire/people/InvitationRows.ts"
import { storedPolicy } from "../../../../src/layers/crossfire/people/SqliteSignup.ts"
import { hashOf, newSecret } from "../../../../src/layers/crypto/Secret.ts"
import { registrarPath } from "../../../../src/layers/homeserver/Registrar.ts"
import { CrossfireDb } from "../../../../src/services/Database.ts"
import { Invitations } from "../../../../src/services/Invitations.ts"
import { Signup } from "../../../../src/services/Signup.ts"
import { make, own } from "./SignupWorld.ts"

const toJson = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const operator = Actor.Operator()
const member = Actor.Person({ userId: UserId.make("@mia:cf.test"), role: "member" })
const administrator = Actor.Person({ userId: UserId.make("@ada:cf.test"), role: "administrator" })
const agent = Actor.Agent({
  agentId: AgentId.make("0b5c1d1e-7a0f-4a53-9e2f-0a4a6c1c2b3d"),
  fleetId: FleetId.make("0b5c1d1e-7a0f-4a53-9e2f-0a4a6c1c2b3e"),
  owner: UserId.make("@mia:cf.test")
})
const hour = 3_600_000
const password = "canary-8f1c-of-nobody"
const asked = { note: "for Bo", lastsMillis: hour }

it.scopedLive(
  "[H-01] [A14] by invitation only: without a token refused, with one accepted once; revoked and expired ones refused",
  () =>
    Effect.gen(function*() {
      const { client, db, folder, invitations } = yield* make
      expect((yield* client.register("bo", password, null)).status).toBe(401)
      const guess = yield* client.register("bo", password, "A".repeat(43))
      expect(guess).toMatchObject({ status: 401, body: { errcode: "M_UNAUTHORIZED" } })

      const made = yield* invitations.make(operator, asked)
      expect(made.token).toMatch(/^[A-Za-z0-9_-]{43}$/u)
      expect(made.invitation).toMatchObject({ state: "open", note: "for Bo", madeBy: null })
      const bo = yield* client.register("bo", password, made.token)
      expect(bo).toMatchObject({ status: 200, body: { user_id: "@bo:cf.test" } })
      expect(yield* client.register("eve", password, made.token)).toMatchObject({
        status: 401,
        body: { errcode: "M_UNAUTHORIZED" }
      })
      expect(yield* invitations.list(operator)).toMatchObject([{ state: "used" }])
      expect(yield* Effect.flip(invitations.revoke(operator, made.invitation.invitationId))).toMatchObject({
        _tag: "AlreadySettled",
        state: "used"
      })

      const revoked = yield* invitations.make(operator, asked)
      expect(yield* invitations.revoke(administrator, revoked.invitation.invitationId)).toMatchObject({
        state: "revoked"
      })
      expect((yield* client.register("eve", password, revoked.token)).status).toBe(401)
      expect(yield* Effect.flip(invitations.revoke(operator, revoked.invitation.invitationId))).toMatchObject({
        _tag: "AlreadySettled",
        state: "revoked"
      })

      const short = yield* invitations.make(operator, { note: "", lastsMillis: 1_000 })
      yield* Effect.sleep(Duration.millis(1_100))
      expect((yield* client.register("eve", password, short.token)).status).toBe(401)
      expect((yield* invitations.list(operator)).map(({ state }) => state)).toStrictEqual([
        "expired",
        "revoked",
        "used"
      ])

      // Whoever reads the database has no token, and no password of anyone.
      const text = toJson(yield* db.read(db.sql`SELECT * FROM invitation`))
      expect(text).toContain(hashOf(Redacted.make(short.token)))
      for (const secret of [made.token, revoked.token, short.token, password]) {
        expect(text).not.toContain(secret)
      }
      // [H-02] Nor has whoever reads the homeserver's files.
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (statSync(join(folder, name)).isFile()) {
          expect([name, readFileSync(join(folder, name), "latin1").includes(password)]).toStrictEqual([name, false])
        }
      }
    }),
  60_000
)

const rounds = 10

it.scopedLive(
  "[A14] of two who use one token at the same moment exactly one gets an account",
  () =>
    Effect.gen(function*() {
      const { client, invitations } = yield* make
      for (let round = 0; round < rounds; round++) {
        const { invitation, token } = yield* invitations.make(operator, asked)
        const names = [`a${round}`, `b${round}`]
        const begun = yield* Effect.forEach(
          names,
          (name) => Effect.map(client.begin(name, password), (session) => [session, name] as const)
        )
        const answers = yield* Effect.forEach(begun, ([session, name]) =>
          client.complete(session, token, name, password), { concurrency: 2 })
        expect(
          answers.map(({ status }) =>
            status
          ).toSorted()
        ).toStrictEqual([200, 401])
        expect(answers.find(({ status }) => status === 401)?.body.errcode).toBe("M_UNAUTHORIZED")
        const listed = yield* invitations.list(operator)
        expect(listed.find(({ invitationId }) => invitationId === invitation.invitationId)?.state).toBe("used")
      }
    }),
  60_000
)

it.scopedLive(
  "[H-01] the policy decides who invites, and opens and closes the homeserver's own signup",
  () =>
    Effect.gen(function*() {
      const { client, db, homeserver, invitations, signup } = yield* make
      const pid = yield* homeserver.pid
      expect(yield* signup.view(member)).toMatchObject({
        policy: "invite",
        homeserver: "managed",
        mayInvite: false,
        mayChange: false,
        steps: null
      })
      expect(yield* Effect.flip(invitations.make(member, asked))).toMatchObject({ _tag: "NotAllowed" })
      expect(yield* Effect.flip(signup.set(member, "open"))).toMatchObject({ _tag: "NotAllowed" })

      yield* signup.set(administrator, "members")
      // The gate is the same: nobody's client was disconnected.
      expect(yield* homeserver.pid).toBe(pid)
      const invited = yield* invitations.make(member, asked)
      expect(yield* Effect.flip(invitations.make(agent, asked))).toMatchObject({ _tag: "NotAllowed" })
      expect((yield* client.register("bo", password, invited.token)).status).toBe(200)

      expect(yield* signup.set(administrator, "open")).toMatchObject({ policy: "open" })
      const opened = yield* homeserver.pid
      expect(opened).not.toBe(pid)
      expect((yield* client.register("cy", password, null)).status).toBe(200)
      const begunWhileOpen = yield* client.begin("ed", password)
      // As the next start of a crossfire that was killed here would begin.
      const gate = Effect.map(storedPolicy, registrationGate).pipe(Effect.provideService(CrossfireDb, db))
      expect(yield* gate).toBe("none")

      // Two changes at once end with gate and rule alike.
      yield* Effect.all([signup.set(operator, "open"), signup.set(operator, "invite")], { concurrency: 2 })
      expect(yield* signup.policy).toBe("invite")
      expect(yield* gate).toBe("token")
      expect((yield* client.register("di", password, null)).status).toBe(401)
      // Begun while it was open is not finished under the new rule.
      expect((yield* client.finish(begunWhileOpen, "ed", password)).status).toBe(401)

      // Revoked while somebody registers: it ends there, also after they gave the token.
      const [late, early] = [yield* invitations.make(operator, asked), yield* invitations.make(operator, asked)]
      const lateSession = yield* client.begin("fay", password)
      const earlySession = yield* client.begin("gus", password)
      yield* client.giveToken(earlySession, early.token, "gus", password)
      yield* invitations.revoke(operator, late.invitation.invitationId)
      const revoked = yield* Effect.either(invitations.revoke(operator, early.invitation.invitationId))
      expect((yield* client.complete(lateSession, late.token, "fay", password)).status).toBe(401)
      const gus = yield* client.finish(earlySession, "gus", password)
      expect([revoked._tag, gus.status]).toStrictEqual(["Right", 401])
      expect((yield* client.finish(earlySession, "gus", password)).status).toBe(401)
      const free = yield* invitations.make(operator, asked)
      expect((yield* client.register("gus", password, free.token)).status).toBe(200)
    }),
  60_000
)

it.scopedLive("invitations are bounded, one's own, and settled after whatever failed", () =>
  Effect.gen(function*() {
    const { client, db, folder, invitations, signup, tokens } = yield* make
    yield* signup.set(operator, "members")
    const mine = yield* Effect.replicateEffect(invitations.make(member, asked), maxOpenInvitationsPerMember)
    expect(yield* Effect.flip(invitations.make(member, asked))).toMatchObject({
      _tag: "TooMany",
      max: maxOpenInvitationsPerMember
    })
    // One that was used leaves room for another; an administrator has room anyway.
    expect((yield* client.register("bo", password, mine[0]?.token ?? "")).status).toBe(200)
    yield* invitations.make(member, asked)
    const other = yield* invitations.make(administrator, asked)
    expect(yield* invitations.list(member)).toHaveLength(maxOpenInvitationsPerMember + 1)
    expect(yield* invitations.list(administrator)).toHaveLength(maxOpenInvitationsPerMember + 2)
    expect(yield* Effect.flip(invitations.list(agent))).toMatchObject({ _tag: "NotAllowed" })
    const { invitationId } = other.invitation
    expect(yield* Effect.flip(invitations.revoke(member, invitationId))).toMatchObject({ _tag: "NotFound" })
    const unknown = InvitationId.make("00000000-0000-4000-8000-000000000000")
    expect(yield* Effect.flip(invitations.revoke(operator, unknown))).toMatchObject({ _tag: "NotFound" })

    // Killed between the homeserver's answer and the record of it: the token was shown to nobody.
    const lost = yield* newSecret()
    const rows = InvitationRows.make(db)
    const nowMillis = yield* Clock.currentTimeMillis
    yield* db.transaction(rows.insert({
      invitationId: unknown,
      tokenHash: hashOf(lost),
      madeBy: null,
      note: "",
      createdAtMillis: nowMillis,
      expiresAtMillis: nowMillis + hour
    }))
    yield* tokens.make(lost, nowMillis + hour)
    yield* invitations.list(operator)
    expect((yield* tokens.states).map(({ tokenHash }) => tokenHash)).not.toContain(hashOf(lost))
    expect((yield* client.register("eve", password, Redacted.value(lost))).status).toBe(401)

    // A registrar that the homeserver does not know, and one whose file is damaged, are replaced.
    const before = readFileSync(registrarPath(folder), "utf8")
    for (const text of ["{", before.replace(/"accessToken": "[^"]+"/u, "\"accessToken\": \"syt_gone\"")]) {
      writeFileSync(registrarPath(folder), text)
      yield* invitations.make(operator, asked)
      expect(readFileSync(registrarPath(folder), "utf8")).not.toBe(text)
      expect(statSync(registrarPath(folder)).mode & 0o777).toBe(0o600)
    }
  }), 60_000)

it.live("on a homeserver of your own the rule is kept with its steps, and an invitation says where tokens are made", () =>
  Effect.gen(function*() {
    const signup = yield* Signup
    const invitations = yield* Invitations
    const { read, sql } = yield* CrossfireDb
    for (const policy of ["members", "open", "invite"] as const) {
      const view = yield* signup.set(operator, policy)
      expect(view).toMatchObject({ policy, homeserver: "own", mayInvite: false, mayChange: true })
      expect(view.steps).toContain("homeserver.yaml")
    }
    const refused = yield* Effect.flip(invitations.make(operator, asked))
    expect(refused).toMatchObject({ _tag: "NotAllowed" })
    expect(refused.message).toContain("an administrator makes them known here")
    expect(yield* read(sql`SELECT * FROM invitation`)).toStrictEqual([])
    expect(yield* invitations.list(operator)).toStrictEqual([])
  }).pipe(Effect.provide(own)))
