import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Actor } from "../../../src/domain/Actor.ts"
import { ModelOffer } from "../../../src/domain/Engine.ts"
import { FleetIdentity } from "../../../src/domain/FleetAgent.ts"
import { FleetId } from "../../../src/domain/Ids.ts"
import { FleetKey, InstanceKey } from "../../../src/domain/Roster.ts"
import { hashOf } from "../../../src/layers/crypto/Secret.ts"
import { layer as claimLayer, make } from "../../../src/layers/fleetd/Claim.ts"
import { enroll, type EnrollOptions, type EnrollProgress } from "../../../src/layers/fleetd/Enroll.ts"
import { enrollText } from "../../../src/layers/fleetd/EnrollText.ts"
import { CrossfireDb } from "../../../src/services/Database.ts"
import type { HeldCredentials, NewFleet } from "../../../src/services/FleetRegistry.ts"
import { type NativeEngine, NativeEngines } from "../../../src/services/NativeEngine.ts"
import { scratchFolder } from "../../support/FleetFile.ts"
import {
  alice,
  bob,
  type Crossfire,
  entry,
  introduced,
  root,
  roster,
  scratch,
  start
} from "../crossfire/enrollment/EnrollmentFixture.ts"
import { serve } from "../crossfire/enrollment/HttpFixture.ts"

const unused = Effect.dieMessage("only models are asked for")
const engine = (kind: "codex" | "pi"): NativeEngine => ({
  kind,
  history: { guard: () => unused, findReceipt: () => unused, turnEnd: () => unused, finished: () => unused },
  models: () => Effect.succeed([new ModelOffer({ model: `${kind}-one`, efforts: ["low", "high"], isDefault: true })]),
  activate: () => unused
})
const engines = Layer.succeed(NativeEngines, { get: engine })

const text = (agents: ReadonlyArray<string>) => ["fleet = \"street\"", "owner = \"@alice:test\"", ...agents].join("\n")
const agent = (key: string, settings: Readonly<Record<string, string>> = {}) =>
  Object.entries({ key, name: key, engine: "codex", model: "codex-one", work_folder: "work", ...settings })
    .reduce((lines, [field, value]) => `${lines}\n${field} = "${value}"`, "[[agent]]")

/** The credentials in plain text: redacted values all compare as equal. */
const plain = (fleet: NewFleet | undefined) =>
  fleet === undefined ? [] : [fleet.token, ...fleet.agents.map(({ token }) => token)].map(Redacted.value)

/** What a registry would hold after keeping that; with other tokens, after a rotation. */
const held = (fleet: NewFleet, rotated?: { readonly fleet: string; readonly agent: string }): HeldCredentials => ({
  claim: fleet.claim ?? null,
  fleetToken: rotated === undefined ? fleet.token : Redacted.make(rotated.fleet),
  agentTokens: new Map(fleet.agents.map(({ agent, token }) => [
    agent.key,
    rotated === undefined ? token : Redacted.make(rotated.agent)
  ]))
})

/** What crossfire holds after a rotation to these, and never takes again. */
const rotate = (crossfire: Crossfire, fleet: NewFleet, to: { readonly fleet: string; readonly agent: string }) =>
  Effect.gen(function*() {
    const { sql, transaction } = Context.get(crossfire.context, CrossfireDb)
    const hash = (text: string) => hashOf(Redacted.make(text))
    for (const old of plain(fleet)) {
      yield* transaction(sql`INSERT INTO revoked_token (token_hash, revoked_at) VALUES (${hash(old)}, 0)`)
    }
    yield* transaction(sql`UPDATE fleet SET token_hash = ${hash(to.fleet)}`)
    yield* transaction(sql`UPDATE agent SET token_hash = ${hash(to.agent)}`)
  })

/** A crossfire and a root folder. `run` is one `fleet enroll`; what it reports is in `told`, what it keeps in `saved`. */
const running = Effect.gen(function*() {
  const crossfire = yield* start(yield* scratch)
  const server = yield* serve(crossfire)
  const folder = yield* scratchFolder
  mkdirSync(join(folder, "work"))
  const rosterPath = join(folder, "roster.toml")
  const write = (...agents: ReadonlyArray<string>) => writeFileSync(rosterPath, text(agents))
  const told: Array<EnrollProgress> = []
  const saved: Array<NewFleet> = []
  const codes = () => told.flatMap((progress) => progress._tag === "WaitingForOwner" ? [progress.code] : [])
  /** What happens besides when the owner is waited for: by default, the owner approves. */
  const approve = (code: string) =>
    crossfire.say(alice, code).pipe(
      Effect.zipRight(crossfire.say(alice, `confirm ${code}`)),
      Effect.orDie,
      Effect.asVoid
    )
  const run = (
    options: Partial<EnrollOptions<string, never>> = {},
    onProgress: (progress: EnrollProgress) => Effect.Effect<void> = (progress) =>
      progress._tag === "WaitingForOwner" ? approve(progress.code) : Effect.void
  ) =>
    enroll<string, never>({
      rosterPath,
      home: folder,
      serverUrl: server.url,
      identity: Option.none(),
      credentials: Option.none(),
      refused: Effect.succeed({ fleet: false, agents: new Set() }),
      newCredentials: false,
      modelsHome: (kind) => join(folder, kind),
      again: false,
      wait: true,
      pollMillis: 50,
      saveIntroduction: (fleet) => Effect.sync(() => void saved.push(fleet)),
      progress: (progress) => Effect.zipRight(Effect.sync(() => void told.push(progress)), onProgress(progress)),
      ...options
    }).pipe(Effect.provide([claimLayer(folder), engines]))
  const enrollments = Effect.map(
    crossfire.rows<{ readonly state: string }>("SELECT state FROM enrollment"),
    (rows) => rows.map(({ state }) => state)
  )
  const tags = () => told.map(({ _tag }) => _tag)
  return { crossfire, server, folder, rosterPath, write, told, tags, saved, codes, approve, run, enrollments }
})

const at = <A>(tag: EnrollProgress["_tag"], effect: Effect.Effect<A>) => (progress: EnrollProgress) =>
  progress._tag === tag ? Effect.asVoid(effect) : Effect.void

it.scopedLive("a roster becomes a fleet: checked, submitted, approved by the owner, introduced, kept", () =>
  Effect.gen(function*() {
    const { codes, crossfire, folder, run, saved, server, tags, told, write } = yield* running
    write(agent("ww", { effort: "high" }), agent("cc", { engine: "pi", model: "pi-one" }))
    const enrolled = yield* run()
    if (enrolled._tag !== "Introduced") throw new Error("it was to wait")
    expect(tags()).toStrictEqual(["Checked", "ClaimSaved", "WaitingForOwner", "Approved"])
    const [code] = codes()
    expect(code).toMatch(/^.{4}-.{4}$/u)
    const said = told.map(enrollText)
    expect(said[0]).toBe("The roster is in order: 2 agents (ww, cc).")
    expect(said[2]).toContain(`Code: ${code}\n\nAs @alice:test, review the whole roster`)
    expect(said[2]).toMatch(/\n {2}on the web: https?:\/\/\S+ /u)
    expect(said[2]).toContain(`@cf-bot:test in a direct chat without encryption, then: confirm ${code}\n`)
    const { agents, fleetId } = enrolled.introduction
    expect(saved).toHaveLength(1)
    const [fleet] = saved
    expect(fleet?.identity).toStrictEqual({ fleetId, fleetKey: "street", owner: alice, serverUrl: server.url })
    expect(fleet?.agents.map(({ agent }) => agent)).toStrictEqual([
      {
        ...agents[0],
        engine: "codex",
        model: "codex-one",
        effort: "high",
        workFolder: join(folder, "work"),
        historyMode: "shared",
        instructions: null
      },
      {
        ...agents[1],
        engine: "pi",
        model: "pi-one",
        effort: null,
        workFolder: join(folder, "work"),
        historyMode: "shared",
        instructions: null
      }
    ])
    // What is kept opens crossfire.
    const token = fleet?.token ?? Redacted.make("")
    expect((yield* crossfire.credentials.fleet(token, "peer")).fleetId).toBe(fleetId)
    for (const { agent, token } of fleet?.agents ?? []) {
      expect((yield* crossfire.credentials.agent(token, "peer")).agentId).toBe(agent.agentId)
    }
    // The same command again tells the same.
    expect(yield* run()).toStrictEqual(enrolled)
    expect(plain(saved[1])).toStrictEqual(plain(saved[0]))
  }))

it.scopedLive("[P-05] a model or effort that is not offered stops everything, by line and with what is offered", () =>
  Effect.gen(function*() {
    const { folder, rosterPath, run, server, tags, write } = yield* running
    write(agent("ww", { model: "gpt-4" }), agent("cc", { engine: "pi", model: "pi-one", effort: "max" }), agent("dd"))
    const refused = yield* Effect.flip(run())
    expect(typeof refused === "string" ? refused : refused.message).toBe([
      `${rosterPath}:7: agent 1 (ww), model: codex does not offer the model "gpt-4". Offered: codex-one`,
      `${rosterPath}:15: agent 2 (cc), effort: pi does not offer the effort "max". Offered: low, high`
    ].join("\n"))
    expect(tags()).toStrictEqual([])
    expect(server.paths).toStrictEqual([])
    expect(yield* make(folder).load).toStrictEqual(Option.none())
  }))

it.scopedLive("[I-04] a roster that crossfire would refuse is refused before a claim is made", () =>
  Effect.gen(function*() {
    const { crossfire, enrollments, run, tags, write } = yield* running
    yield* introduced(crossfire, roster([entry("x", "ww")], bob))
    write(agent("ww"), agent("cc"))
    const refused = yield* Effect.flip(run())
    expect(refused).toMatchObject({ _tag: "RosterRejected", problems: [{ entry: "ww", reason: "name-taken" }] })
    expect(tags()).toStrictEqual([])
    expect(yield* enrollments).toStrictEqual(["introduced"])
  }))

it.scopedLive("[I-06] killed between saving and submitting: the next run goes on with the same claim", () =>
  Effect.gen(function*() {
    const { codes, enrollments, folder, run, tags, write } = yield* running
    write(agent("ww"))
    yield* Effect.exit(run({}, at("ClaimSaved", Effect.interrupt)))
    expect(yield* enrollments).toStrictEqual([])
    const claims = Effect.map(make(folder).load, Option.map(({ claim }) => Redacted.value(claim)))
    const before = yield* claims
    yield* run({ wait: false }, () => Effect.void)
    yield* run()
    expect(Option.isSome(before)).toBe(true)
    expect(yield* claims).toStrictEqual(before)
    expect(tags().filter((tag) => tag === "Checked")).toHaveLength(1)
    expect(new Set(codes()).size).toBe(1)
    expect(yield* enrollments).toStrictEqual(["introduced"])
  }))

it.scopedLive("[I-06] answers lost after they were made true: the same requests again, one enrollment, one fleet", () =>
  Effect.gen(function*() {
    const { crossfire, enrollments, run, saved, server, told, write } = yield* running
    write(agent("ww"), agent("cc"))
    const lost = new Set<string>()
    server.faults.loses = (path) => {
      const first = !lost.has(path)
      lost.add(path)
      return first
    }
    const enrolled = yield* run()
    if (enrolled._tag !== "Introduced") throw new Error("it was to wait")
    expect([...lost].toSorted()).toStrictEqual([
      "/v1/enrollments",
      "/v1/enrollments/introduce",
      "/v1/enrollments/preflight",
      "/v1/enrollments/state"
    ])
    expect(yield* enrollments).toStrictEqual(["introduced"])
    expect(yield* crossfire.rows("SELECT agent_id AS agentId FROM agent ORDER BY instance_key DESC")).toStrictEqual(
      enrolled.introduction.agents.map(({ agentId }) => ({ agentId }))
    )
    expect(saved).toHaveLength(1)
    expect(told.filter(({ _tag }) => _tag === "Unreachable")).toStrictEqual([
      { _tag: "Unreachable", reason: "it answered 502 in a form that is not crossfire's" }
    ])
  }))

it.scopedLive("[I-06] killed between the introduction and keeping it: the next run gets the same again", () =>
  Effect.gen(function*() {
    const { crossfire, run, saved, write } = yield* running
    write(agent("ww"))
    expect(yield* Effect.flip(run({ saveIntroduction: () => Effect.fail("disk full") }))).toBe("disk full")
    const before = yield* crossfire.rows("SELECT agent_id, user_id, token_hash FROM agent")
    const enrolled = yield* run()
    expect(enrolled._tag).toBe("Introduced")
    expect(saved).toHaveLength(1)
    expect(yield* crossfire.rows("SELECT agent_id, user_id, token_hash FROM agent")).toStrictEqual(before)
    expect(yield* crossfire.credentials.agent(saved[0]?.agents[0]?.token ?? Redacted.make(""), "peer")).toBeDefined()
  }))

it.scopedLive("a changed roster needs --again, which adds agents without ending anybody's credential", () =>
  Effect.gen(function*() {
    const { crossfire, run, saved, write } = yield* running
    write(agent("ww"))
    const first = yield* run()
    write(agent("ww", { effort: "low" }), agent("cc"))
    expect(yield* Effect.flip(run())).toMatchObject({ _tag: "ClaimDiffers", from: "roster" })
    const second = yield* run({ again: true })
    if (first._tag !== "Introduced" || second._tag !== "Introduced") throw new Error("both were to wait")
    expect(second.introduction.agents[0]).toStrictEqual(first.introduction.agents[0])
    expect(plain(saved[1])[0]).toBe(plain(saved[0])[0])
    expect(plain(saved[1])[1]).toBe(plain(saved[0])[1])
    for (const { token } of saved[1]?.agents ?? []) yield* crossfire.credentials.agent(token, "peer")
  }))

const rotatedTo = { fleet: `cff_${"r".repeat(43)}`, agent: `cfa_${"r".repeat(43)}` }

it.scopedLive("[A12] a claim brings no credential back that was replaced since, whatever command is repeated", () =>
  Effect.gen(function*() {
    const { crossfire, run, saved, write } = yield* running
    write(agent("ww"))
    yield* run()
    const [first] = saved
    if (first === undefined) throw new Error("nothing was kept")
    yield* rotate(crossfire, first, rotatedTo)
    const credentials = Option.some(held(first, rotatedTo))
    const now = [rotatedTo.fleet, rotatedTo.agent]
    expect((yield* run({ credentials }))._tag).toBe("Introduced")
    expect(plain(saved[1])).toStrictEqual(now)
    write(agent("ww"), agent("cc"))
    expect((yield* run({ credentials, again: true }))._tag).toBe("Introduced")
    expect(plain(saved[2]).slice(0, 2)).toStrictEqual(now)
    for (const { token } of saved[2]?.agents ?? []) yield* crossfire.credentials.agent(token, "peer")
  }))

it.scopedLive("[A12] credentials that were replaced while the owner was waited for are not introduced", () =>
  Effect.gen(function*() {
    const { codes, approve, crossfire, run, saved, write } = yield* running
    write(agent("ww"))
    yield* run()
    const [first] = saved
    if (first === undefined) throw new Error("nothing was kept")
    write(agent("ww"), agent("cc"))
    yield* run({ credentials: Option.some(held(first)), again: true, wait: false }, () => Effect.void)
    yield* rotate(crossfire, first, rotatedTo)
    yield* approve(codes().at(-1) ?? "")
    const credentials = Option.some(held(first, rotatedTo))
    // The answer is lost once more: the request that is repeated is the one that was introduced.
    yield* Effect.flip(run({ credentials, saveIntroduction: () => Effect.fail("disk full") }))
    expect((yield* run({ credentials }))._tag).toBe("Introduced")
    expect(plain(saved[1]).slice(0, 2)).toStrictEqual([rotatedTo.fleet, rotatedTo.agent])
    for (const { token } of saved[1]?.agents ?? []) yield* crossfire.credentials.agent(token, "peer")
  }))

it.scopedLive("[A12] after its credentials were revoked a fleet makes new ones with --again --new-credentials", () =>
  Effect.gen(function*() {
    const { crossfire, enrollments, run, saved, write } = yield* running
    write(agent("ww"))
    const before = yield* run()
    const [first] = saved
    if (first === undefined || before._tag !== "Introduced") throw new Error("nothing was kept")
    // Revoked: what crossfire holds now, nobody knows.
    yield* rotate(crossfire, first, rotatedTo)
    const credentials = Option.some(held(first))
    // Where it can be known, nothing is filed for nothing.
    for (
      const known of [{ fleet: true, agents: new Set<InstanceKey>() }, {
        fleet: false,
        agents: new Set([InstanceKey.make("ww")])
      }]
    ) {
      const early = yield* Effect.flip(run({ credentials, again: true, refused: Effect.succeed(known) }))
      expect(early).toMatchObject({ _tag: "CredentialsRevoked" })
      expect(typeof early === "string" ? early : early.message).toContain("--again --new-credentials")
      expect(yield* enrollments).toStrictEqual(["introduced"])
    }
    const refused = yield* Effect.flip(run({ credentials, again: true }))
    expect(refused).toMatchObject({ _tag: "IntroductionRefused" })
    expect(typeof refused === "string" ? refused : refused.message).toContain("--again --new-credentials")
    const renewed = yield* run({ credentials, again: true, newCredentials: true })
    if (renewed._tag !== "Introduced") throw new Error("it was to wait")
    expect(renewed.introduction).toStrictEqual(before.introduction)
    const [second] = saved.slice(1)
    if (second === undefined) throw new Error("nothing was kept")
    expect(plain(second)).not.toContain(plain(first)[0])
    yield* crossfire.credentials.fleet(second.token, "peer")
    // Kept, then replaced: the claim that brought new ones brings them once.
    yield* rotate(crossfire, second, { fleet: `cff_${"s".repeat(43)}`, agent: `cfa_${"s".repeat(43)}` })
    const later = held(second, { fleet: `cff_${"s".repeat(43)}`, agent: `cfa_${"s".repeat(43)}` })
    yield* run({ credentials: Option.some(later) })
    expect(plain(saved.at(-1))).toStrictEqual([`cff_${"s".repeat(43)}`, `cfa_${"s".repeat(43)}`])
  }))

it.scopedLive("[I-03] what the owner decides on the web ends the waiting within one look for it", () =>
  Effect.gen(function*() {
    const { crossfire, run, tags, write } = yield* running
    write(agent("ww"))
    const onTheWeb = (code: string) =>
      Effect.gen(function*() {
        const by = Actor.Person({ userId: alice, role: "member" })
        const [request] = yield* crossfire.enrollment.requests(by)
        if (request === undefined) return yield* Effect.dieMessage("nothing waits")
        yield* crossfire.enrollment.approve(by, request.enrollmentId, code)
      }).pipe(Effect.orDie)
    const enrolled = yield* run({ pollMillis: 200 }, (progress) =>
      progress._tag === "WaitingForOwner"
        ? Effect.asVoid(Effect.forkDaemon(Effect.delay(onTheWeb(progress.code), "300 millis")))
        : Effect.void)
    expect(enrolled._tag).toBe("Introduced")
    expect(tags()).toStrictEqual(["Checked", "ClaimSaved", "WaitingForOwner", "Approved"])
  }))

it.scopedLive("a rejected request ends the waiting, and stays rejected until --again", () =>
  Effect.gen(function*() {
    const { crossfire, run, write } = yield* running
    write(agent("ww"))
    const reject = (progress: EnrollProgress) =>
      progress._tag === "WaitingForOwner"
        ? Effect.asVoid(Effect.orDie(crossfire.say(root, `reject ${progress.code}`)))
        : Effect.void
    expect(yield* Effect.flip(run({}, reject))).toMatchObject({ _tag: "EnrollmentEnded", state: "rejected" })
    expect(yield* Effect.flip(run())).toMatchObject({ _tag: "EnrollmentEnded", state: "rejected" })
    expect((yield* run({ again: true }))._tag).toBe("Introduced")
  }))

it.scopedLive("a root folder holds one fleet of one crossfire", () =>
  Effect.gen(function*() {
    const { run, saved, server, write } = yield* running
    write(agent("ww"))
    yield* run()
    const fleet = saved[0]?.identity
    if (fleet === undefined) throw new Error("nothing was kept")
    const rootId = "44444444-4444-4444-8444-444444444444"
    const identity = (changes: Partial<FleetIdentity>) =>
      Option.some(new FleetIdentity({ ...fleet, rootId, ...changes }))
    expect((yield* run({ identity: identity({}) }))._tag).toBe("Introduced")
    const other = identity({ fleetKey: FleetKey.make("other") })
    const before = server.paths.length
    expect(yield* Effect.flip(run({ identity: other }))).toMatchObject({ reason: "other-fleet" })
    expect(server.paths).toHaveLength(before)
    const elsewhere = identity({ fleetId: FleetId.make("55555555-5555-4555-8555-555555555555") })
    const kept = saved.length
    expect(yield* Effect.flip(run({ identity: elsewhere }))).toMatchObject({ reason: "other-instance" })
    expect(saved).toHaveLength(kept)
    expect(yield* Effect.flip(run({ serverUrl: `${server.url}/other` }))).toMatchObject({ from: "server" })
  }))

it.scopedLive("a credential goes over plain http to this machine alone", () =>
  Effect.gen(function*() {
    const { run, tags, write } = yield* running
    write(agent("ww"))
    for (const serverUrl of ["http://crossfire.test", "http://10.0.0.1:80", "http://127.0.0.1.evil.test", "ftp://x"]) {
      expect(yield* Effect.flip(run({ serverUrl }))).toMatchObject({ _tag: "ServerUrlRefused" })
    }
    expect(tags()).toStrictEqual([])
  }))
