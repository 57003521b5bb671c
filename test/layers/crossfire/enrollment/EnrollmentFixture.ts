// crossfire's enrollment over a real file, with a homeserver and an outbox that only write down what they were asked.
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { crossfireMigrations } from "../../../../migrations/crossfire/all.ts"
import { Actor } from "../../../../src/domain/Actor.ts"
import { ClaimSecret, type SecretHash } from "../../../../src/domain/api/Crossfire.ts"
import { EventId, RoomId, UserId } from "../../../../src/domain/Ids.ts"
import { FleetKey, InstanceKey, RegisteredName, type Roster, type RosterAgent } from "../../../../src/domain/Roster.ts"
import * as AgentAccounts from "../../../../src/layers/crossfire/enrollment/AgentAccounts.ts"
import * as EnrollmentBot from "../../../../src/layers/crossfire/enrollment/EnrollmentBot.ts"
import * as SqliteCredentials from "../../../../src/layers/crossfire/enrollment/SqliteCredentials.ts"
import * as SqliteEnrollment from "../../../../src/layers/crossfire/enrollment/SqliteEnrollment.ts"
import * as FleetLeases from "../../../../src/layers/crossfire/FleetLeases.ts"
import * as SqliteFleetDirectory from "../../../../src/layers/crossfire/fleets/SqliteFleetDirectory.ts"
import * as MemoryChanges from "../../../../src/layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../../../src/layers/crossfire/people/MemoryRevocations.ts"
import * as SqlitePeople from "../../../../src/layers/crossfire/people/SqlitePeople.ts"
import * as SqliteAgents from "../../../../src/layers/crossfire/sqlite/SqliteAgents.ts"
import * as SqliteDecisions from "../../../../src/layers/crossfire/sqlite/SqliteDecisions.ts"
import * as SqliteInstance from "../../../../src/layers/crossfire/sqlite/SqliteInstance.ts"
import * as SqliteLevelChanges from "../../../../src/layers/crossfire/sqlite/SqliteLevelChanges.ts"
import * as SqliteWakePolicies from "../../../../src/layers/crossfire/sqlite/SqliteWakePolicies.ts"
import * as SweepQueue from "../../../../src/layers/crossfire/SweepQueue.ts"
import { hashOf, newSecret } from "../../../../src/layers/crypto/Secret.ts"
import { migrate } from "../../../../src/layers/sqlite/Migrations.ts"
import { open } from "../../../../src/layers/sqlite/SqliteDatabase.ts"
import { BotConversation } from "../../../../src/services/BotConversation.ts"
import { Credentials } from "../../../../src/services/Credentials.ts"
import { CrossfireDb } from "../../../../src/services/Database.ts"
import { Enrollment } from "../../../../src/services/Enrollment.ts"
import { FleetDirectory } from "../../../../src/services/FleetDirectory.ts"
import { Matrix, type MatrixError } from "../../../../src/services/Matrix.ts"
import { Outbound } from "../../../../src/services/Outbound.ts"
import { People } from "../../../../src/services/People.ts"
import { WakePolicies } from "../../../../src/services/WakePolicies.ts"
import { WebAddress } from "../../../../src/services/WebAddress.ts"

export const alice = UserId.make("@alice:test")
export const bob = UserId.make("@bob:test")
export const root = UserId.make("@root:test")
export const bot = UserId.make("@cf-bot:test")
export const room = RoomId.make("!dm:test")

export const webAddress = Layer.succeed(WebAddress, {
  origin: "https://crossfire.test",
  homeserverUrl: "https://matrix.test",
  elementUrl: "https://element.test"
})

export const asAlice = Actor.Person({ userId: alice, role: "member" })
export const asBob = Actor.Person({ userId: bob, role: "member" })
export const asRoot = Actor.Person({ userId: root, role: "administrator" })

export const scratch = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "enrollment-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

export interface Options {
  /** What happens when a Matrix user is asked for, after it was written down. */
  readonly onUser?: Effect.Effect<void, MatrixError>
  /** What happens inside of an introduction's transaction, after an agent's rows were written. */
  readonly onAgent?: Effect.Effect<void>
  readonly maxAgentsPerOwner?: number
  readonly maxAgentsPerInstance?: number
}

const services = (folder: string, options: Options, users: Array<string>, notices: Array<string>) => {
  const database = Layer.scoped(
    CrossfireDb,
    migrate("crossfire", join(folder, "crossfire.sqlite"), crossfireMigrations).pipe(Effect.flatMap(open))
  )
  const matrix = Layer.mock(Matrix, {
    serverName: "test",
    ensureUser: (user, displayName) =>
      Effect.sync(() => users.push(`${user} ${displayName}`)).pipe(Effect.zipRight(options.onUser ?? Effect.void))
  })
  const outbound = Layer.mock(Outbound, {
    notice: ({ text }) => Effect.sync(() => void notices.push(text))
  })
  const enrollment = SqliteEnrollment.layer({
    maxAgentsPerOwner: options.maxAgentsPerOwner ?? 64,
    maxAgentsPerInstance: options.maxAgentsPerInstance ?? 1_000
  })
  const people = SqlitePeople.layer({ homeserver: "managed" }).pipe(
    Layer.provide(Layer.merge(SqliteAgents.layer, SqliteInstance.layer))
  )
  const wakePolicies = Layer.effect(
    WakePolicies,
    Effect.map(SqliteWakePolicies.make, (policies) =>
      WakePolicies.of({
        ...policies,
        install: (agentId, owner) => Effect.zipRight(policies.install(agentId, owner), options.onAgent ?? Effect.void)
      }))
  )
  return Layer.mergeAll(EnrollmentBot.layer, SqliteCredentials.layer, people).pipe(
    Layer.provideMerge(Layer.merge(enrollment, SqliteFleetDirectory.layer)),
    Layer.provideMerge(wakePolicies),
    Layer.provideMerge(Layer.mergeAll(SqliteLevelChanges.layer, AgentAccounts.layer)),
    Layer.provideMerge(Layer.mergeAll(FleetLeases.layer, SqliteDecisions.layer, SweepQueue.layer)),
    Layer.provide(SqliteInstance.layer),
    Layer.provideMerge(Layer.mergeAll(MemoryChanges.layer, MemoryRevocations.layer, webAddress)),
    Layer.provideMerge(Layer.mergeAll(database, matrix, outbound))
  )
}

/** A crossfire that lives in the surrounding scope; the same folder again is the same instance after a restart. */
export const start = (folder: string, options: Options = {}) =>
  Effect.gen(function*() {
    const users: Array<string> = []
    const notices: Array<string> = []
    const context = yield* Layer.build(services(folder, options, users, notices))
    const database = Context.get(context, CrossfireDb)
    const conversation = Context.get(context, BotConversation)
    const people = (userId: UserId, role: "member" | "administrator") =>
      Context.get(context, People).add(Actor.Operator(), userId, role).pipe(
        Effect.catchTag("AlreadySettled", () => Effect.void)
      )
    yield* people(alice, "member")
    yield* people(bob, "member")
    yield* people(root, "administrator")
    let events = 0
    /** Says it to the bot as that person, and returns the answers. */
    const say = (sender: UserId, text: string, roomId = room) =>
      Effect.gen(function*() {
        const before = notices.length
        events += 1
        const eventId = EventId.make(`$event${events}`)
        yield* database.transaction(conversation.handle({ eventId, roomId, sender, text }))
        return notices.slice(before)
      })
    const rows = <A extends object>(query: string) => database.read(database.sql.unsafe<A>(query))
    return {
      context,
      database,
      rows,
      users,
      say,
      enrollment: Context.get(context, Enrollment),
      fleets: Context.get(context, FleetDirectory),
      credentials: Context.get(context, Credentials)
    }
  })

export type Crossfire = Effect.Effect.Success<ReturnType<typeof start>>

/** One life of the instance: everything closed at its end. */
export const life = <A, E>(folder: string, body: (crossfire: Crossfire) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.scoped(Effect.flatMap(start(folder), body))

export const entry = (key: string, name = key, settings: Partial<RosterAgent> = {}): RosterAgent => ({
  key: InstanceKey.make(key),
  name: RegisteredName.make(name),
  engine: "codex",
  model: "gpt-5",
  effort: null,
  work_folder: "/srv/work",
  history_mode: "shared",
  instructions: null,
  ...settings
})

export const roster = (agents: ReadonlyArray<RosterAgent>, owner = alice, fleet = "street"): Roster => ({
  fleet: FleetKey.make(fleet),
  owner,
  agents
})

export const newClaim = Effect.map(newSecret(), (secret) => ClaimSecret.make(Redacted.value(secret)))

export interface Tokens {
  readonly fleet: Redacted.Redacted
  readonly agents: ReadonlyArray<{ readonly key: InstanceKey; readonly token: Redacted.Redacted }>
}

export const newTokens = (of: Roster) =>
  Effect.gen(function*() {
    const fleet = yield* newSecret("cff_")
    const agents = yield* Effect.forEach(
      of.agents,
      ({ key }) => Effect.map(newSecret("cfa_"), (token) => ({ key, token }))
    )
    return { fleet, agents }
  })

export const hashes = (claim: ClaimSecret, tokens: Tokens) => ({
  claim,
  fleetToken: hashOf(tokens.fleet),
  agentTokens: tokens.agents.map(({ key, token }): { readonly key: InstanceKey; readonly token: SecretHash } => ({
    key,
    token: hashOf(token)
  }))
})

/** Submits and lets the owner approve in the bot's direct chat. */
export const approved = (crossfire: Crossfire, of: Roster) =>
  Effect.gen(function*() {
    const claim = yield* newClaim
    const tokens = yield* newTokens(of)
    const { code } = yield* crossfire.enrollment.submit(claim, of)
    yield* crossfire.say(of.owner, String(code))
    yield* crossfire.say(of.owner, `confirm ${code}`)
    return { claim, tokens, code, request: hashes(claim, tokens) }
  })

export const introduced = (crossfire: Crossfire, of: Roster) =>
  Effect.gen(function*() {
    const enrolled = yield* approved(crossfire, of)
    return { ...enrolled, introduction: yield* crossfire.enrollment.introduce(enrolled.request) }
  })
