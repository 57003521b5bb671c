import { expect, it } from "@effect/vitest"
import { Effect, Redacted, TestClock } from "effect"
import { randomUUID } from "node:crypto"
import { Unauthorized } from "../../../../src/domain/api/CrossfireErrors.ts"
import { SessionId, sessionIdleMillis, sessionLifeMillis } from "../../../../src/domain/Session.ts"
import { newSecret } from "../../../../src/layers/crypto/Secret.ts"
import { alice, bob } from "../World.ts"
import { secretOf, start } from "./PeopleFixture.ts"

const hours = (count: number) => count * 60 * 60 * 1000

const signedUp = Effect.tap(start(), ({ add }) => Effect.all([add(alice), add(bob)]))

it.scoped("[H-03] a session is found by its secret alone, of which only the hash is kept", () =>
  Effect.gen(function*() {
    const { rows, sessions, signedIn } = yield* signedUp
    const session = yield* signedIn(alice)
    expect(secretOf(session)).toMatch(/^[A-Za-z0-9_-]{43}$/u)
    const found = yield* sessions.find(session.secret, "peer")
    expect(found).toStrictEqual({ principal: session.principal, endsAtMillis: sessionLifeMillis })
    expect(found.principal).toMatchObject({ userId: alice, role: "member" })
    const kept = yield* rows("SELECT * FROM session")
    expect(kept).toHaveLength(1)
    expect(String(Object.values(kept[0] ?? {}))).not.toContain(secretOf(session))
    const [listed] = yield* sessions.list(found.principal)
    expect(String(Object.values(listed ?? {}))).not.toContain(secretOf(session))
  }))

it.scoped("[A10] every sign-in gives a new ID and a new secret; a value that nobody gave is never taken up", () =>
  Effect.gen(function*() {
    const { rows, sessions, signedIn } = yield* signedUp
    const planted = yield* newSecret()
    expect((yield* Effect.flip(sessions.find(planted, "peer")))._tag).toBe("Unauthorized")
    const begun = yield* Effect.replicateEffect(signedIn(alice), 5)
    expect(new Set(begun.map(secretOf)).size).toBe(5)
    expect(new Set(begun.map(({ principal }) => principal.sessionId)).size).toBe(5)
    expect(begun.map(secretOf)).not.toContain(Redacted.value(planted))
    expect((yield* Effect.flip(sessions.find(planted, "peer")))._tag).toBe("Unauthorized")
    expect(yield* rows("SELECT 1 FROM session")).toHaveLength(5)
  }))

it.scoped("a session ends a day after its last request, and after two weeks however often it is used", () =>
  Effect.gen(function*() {
    const { holds, listening, rows, signedIn } = yield* signedUp
    const [idle, used] = [yield* signedIn(alice), yield* signedIn(alice)]
    const idleEnded = yield* listening({ session: idle.principal.sessionId })
    const usedEnded = yield* listening({ session: used.principal.sessionId })
    yield* TestClock.adjust(sessionIdleMillis - 1)
    expect(yield* holds(used)).toBe(true)
    yield* TestClock.adjust(1)
    expect(yield* holds(idle)).toBe(false)
    expect(yield* holds(used)).toBe(true)
    // Its row and an open stream under it go with the next round of the timer.
    yield* TestClock.adjust(60_000)
    expect(yield* idleEnded.isOver).toBe(true)
    expect(yield* rows("SELECT 1 FROM session")).toHaveLength(1)
    for (let passed = 24; passed < 13 * 24; passed += 12) {
      yield* TestClock.adjust(hours(12))
      expect(yield* holds(used)).toBe(true)
    }
    yield* TestClock.setTime(sessionLifeMillis - 1)
    expect([yield* holds(used), yield* usedEnded.isOver]).toStrictEqual([true, false])
    yield* TestClock.setTime(sessionLifeMillis)
    expect(yield* holds(used)).toBe(false)
    yield* TestClock.adjust(60_000)
    expect(yield* usedEnded.isOver).toBe(true)
    expect(yield* rows("SELECT 1 FROM session")).toHaveLength(0)
  }))

it.scoped("when it was used last is written once a minute at most, and reading goes on where nothing can be written", () =>
  Effect.gen(function*() {
    const { holds, rows, signedIn } = yield* signedUp
    const session = yield* signedIn(alice)
    const seen = Effect.map(rows<{ readonly seen_at: number }>("SELECT seen_at FROM session"), ([row]) => row?.seen_at)
    yield* TestClock.adjust(59_999)
    yield* holds(session)
    expect(yield* seen).toBe(0)
    yield* TestClock.adjust(1)
    yield* holds(session)
    expect(yield* seen).toBe(60_000)
    yield* rows("PRAGMA query_only = ON")
    yield* TestClock.adjust(120_000)
    expect(yield* holds(session)).toBe(true)
    expect(yield* seen).toBe(60_000)
    yield* rows("PRAGMA query_only = OFF")
  }))

it.scoped("with the 21st session of a person the oldest one ends, and nobody else's", () =>
  Effect.gen(function*() {
    const { holds, listening, sessions, signedIn } = yield* signedUp
    const other = yield* signedIn(bob)
    const first = yield* signedIn(alice)
    const ended = yield* listening({ session: first.principal.sessionId })
    const more = []
    for (let count = 1; count < 20; count += 1) {
      yield* TestClock.adjust(1_000)
      more.push(yield* signedIn(alice))
    }
    expect([yield* holds(first), yield* ended.isOver]).toStrictEqual([true, false])
    const newest = yield* signedIn(alice)
    expect([yield* holds(first), yield* ended.isOver]).toStrictEqual([false, true])
    for (const session of [...more, newest, other]) expect(yield* holds(session)).toBe(true)
    const listed = yield* sessions.list(newest.principal)
    expect(listed.map(({ sessionId }) => sessionId)).toStrictEqual(
      [...more, newest].map(({ principal }) => principal.sessionId).toReversed()
    )
    expect(listed.filter(({ current }) => current).map(({ sessionId }) => sessionId)).toStrictEqual([
      newest.principal.sessionId
    ])
  }))

it.scoped("[A49] somebody else's session, one that is over and one that never was are all not found, and nothing ends", () =>
  Effect.gen(function*() {
    const { holds, sessions, signedIn } = yield* signedUp
    const [own, foreign] = [yield* signedIn(alice), yield* signedIn(bob)]
    const absent = SessionId.make(randomUUID())
    const over = yield* signedIn(alice)
    yield* sessions.revoke(alice, over.principal.sessionId)
    const answers = yield* Effect.forEach(
      [foreign.principal.sessionId, absent, over.principal.sessionId],
      (sessionId) => Effect.flip(sessions.revoke(alice, sessionId))
    )
    for (const answer of answers) expect(answer).toMatchObject({ _tag: "NotFound", what: "session" })
    expect(new Set(answers.map((answer) => answer.message)).size).toBe(1)
    expect([yield* holds(own), yield* holds(foreign)]).toStrictEqual([true, true])
  }))

it.scoped("[A11] a revoked session and those revoked with the others open nothing at once, their streams end", () =>
  Effect.gen(function*() {
    const { holds, listening, sessions, signedIn } = yield* signedUp
    const [here, there, elsewhere, foreign] = [
      yield* signedIn(alice),
      yield* signedIn(alice),
      yield* signedIn(alice),
      yield* signedIn(bob)
    ]
    const streams = yield* Effect.forEach(
      [here, there, elsewhere, foreign],
      (session) => listening({ session: session.principal.sessionId })
    )
    const state = Effect.all([
      Effect.forEach([here, there, elsewhere, foreign], holds),
      Effect.forEach(streams, ({ isOver }) => isOver)
    ])
    yield* sessions.revoke(alice, there.principal.sessionId)
    expect(yield* state).toStrictEqual([[true, false, true, true], [false, true, false, false]])
    expect(yield* sessions.revokeAll(alice, here.principal.sessionId)).toBe(1)
    expect(yield* state).toStrictEqual([[true, false, false, true], [false, true, true, false]])
    expect(yield* sessions.revokeAll(alice, null)).toBe(1)
    expect(yield* state).toStrictEqual([[false, false, false, true], [true, true, true, false]])
  }))

it.scoped("[A13] unknown, expired, malformed and missing secrets are answered alike, then by 429; a valid one is always taken", () =>
  Effect.gen(function*() {
    const { sessions, signedIn } = yield* signedUp
    const over = yield* signedIn(alice)
    yield* TestClock.adjust(sessionIdleMillis)
    const valid = yield* signedIn(alice)
    const wrong = [
      over.secret,
      yield* newSecret(),
      yield* newSecret("cff_"),
      Redacted.make(""),
      Redacted.make(secretOf(valid).slice(0, 42)),
      Redacted.make(`${secretOf(valid)}=`),
      Redacted.make(` ${secretOf(valid)}`)
    ]
    const answers = yield* Effect.forEach(
      Array.from({ length: 30 }, (_, index) => wrong[index % wrong.length] ?? over.secret),
      (secret) => Effect.flip(sessions.find(secret, "10.0.0.7"))
    )
    for (const answer of answers) expect(answer).toStrictEqual(new Unauthorized())
    const beyond = yield* Effect.flip(sessions.find(over.secret, "10.0.0.7"))
    expect(beyond).toMatchObject({ _tag: "TooManyAttempts", retryAfterMillis: 60_000 })
    expect((yield* sessions.find(valid.secret, "10.0.0.7")).principal.userId).toBe(alice)
    expect((yield* Effect.flip(sessions.find(over.secret, "10.0.0.8")))._tag).toBe("Unauthorized")
    yield* TestClock.adjust(60_000)
    expect((yield* Effect.flip(sessions.find(over.secret, "10.0.0.7")))._tag).toBe("Unauthorized")
  }))

it.scoped("[A13] cookies and bearers of one address are counted together: changing the door gives no more tries", () =>
  Effect.gen(function*() {
    const { credentials, sessions, signedIn } = yield* signedUp
    const valid = yield* signedIn(alice)
    const [cookie, bearer] = [yield* newSecret(), yield* newSecret("cff_")]
    for (let count = 0; count < 15; count += 1) {
      expect((yield* Effect.flip(sessions.find(cookie, "peer")))._tag).toBe("Unauthorized")
      expect((yield* Effect.flip(credentials.fleet(bearer, "peer")))._tag).toBe("Unauthorized")
    }
    expect((yield* Effect.flip(sessions.find(cookie, "peer")))._tag).toBe("TooManyAttempts")
    expect((yield* Effect.flip(credentials.agent(bearer, "peer")))._tag).toBe("TooManyAttempts")
    expect((yield* sessions.find(valid.secret, "peer")).principal.userId).toBe(alice)
  }))

it.scoped("a browser's word about itself is one bounded line without anything hidden", () =>
  Effect.gen(function*() {
    const { sessions, signedIn } = yield* signedUp
    const told = [
      "Mozilla/5.0 (X11)",
      "a\r\nlog: forged\u0000",
      "\u202Egnp.exe\u200B\u{E0041}",
      "x".repeat(5_000),
      `${"\u{1F98A}".repeat(300)}`,
      "\u0007"
    ]
    for (const browser of told) yield* signedIn(alice, browser)
    const { principal } = yield* signedIn(alice, "")
    const listed = (yield* sessions.list(principal)).map(({ browser }) => browser).toReversed()
    expect(listed).toStrictEqual([
      "Mozilla/5.0 (X11)",
      "a log: forged",
      "gnp.exe",
      "x".repeat(200),
      "\u{1F98A}".repeat(200),
      "unknown",
      "unknown"
    ])
  }))
