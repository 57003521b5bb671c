// A crossfire core over the homeserver in memory and a database in memory: what tests of the core begin with.
import { Effect, Layer, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { crossfireMigrations } from "../../../migrations/crossfire/all.ts"
import { AgentId, EventId, FleetId, type RoomId, UserId } from "../../../src/domain/Ids.ts"
import { membership } from "../../../src/domain/MatrixEvent.ts"
import { nameSkeleton } from "../../../src/domain/Roster.ts"
import { botUser } from "../../../src/domain/SystemUsers.ts"
import { coreLayer, foundation, rooms } from "../../../src/layers/crossfire/CoreLayer.ts"
import * as NoConversation from "../../../src/layers/crossfire/NoConversation.ts"
import type { PushedEvent } from "../../../src/layers/matrix/ApplicationServicePush.ts"
import * as MemoryMatrix from "../../../src/layers/matrix/MemoryMatrix.ts"
import { migrateMemory } from "../../../src/layers/sqlite/Migrations.ts"
import { open } from "../../../src/layers/sqlite/SqliteDatabase.ts"
import { Announcements } from "../../../src/services/Announcements.ts"
import { CrossfireDb } from "../../../src/services/Database.ts"
import { Matrix } from "../../../src/services/Matrix.ts"
import { WakePolicies } from "../../../src/services/WakePolicies.ts"

export const serverName = "cf.test"
export const user = (name: string): UserId => UserId.make(`@${name}:${serverName}`)
export const alice = user("alice")
export const bob = user("bob")
export const mallory = user("mallory")
export const bot = botUser(serverName)

export interface TestAgent {
  readonly agentId: AgentId
  readonly fleetId: FleetId
  readonly userId: UserId
  readonly owner: UserId
  readonly name: string
}

const migrated = Effect.runSync(Effect.cached(migrateMemory("crossfire", crossfireMigrations)))

export const database = Effect.flatMap(migrated, open)

export const message = (body: string, extra: Record<string, unknown> = {}) => ({ msgtype: "m.text", body, ...extra })
export const mention = (body: string, ...users: ReadonlyArray<UserId>) =>
  message(body, { "m.mentions": { user_ids: users } })

/** The homeserver, the database, and what people do. Cores are begun and ended on it, as often as a test wants. */
export const make = (config: Partial<MemoryMatrix.MemoryMatrixConfig> = {}) =>
  Effect.gen(function*() {
    const memory = yield* MemoryMatrix.make({ serverName, ...config })
    const db = yield* database
    const { sql } = db
    const pushed: Array<PushedEvent> = []
    yield* memory.onPush((event) => Effect.sync(() => void pushed.push(event)))
    yield* memory.matrix.ensureUser(bot, "crossfire").pipe(Effect.orDie)

    const outside = Layer.merge(Layer.succeed(Matrix, memory.matrix), Layer.succeed(CrossfireDb, db))

    const person = (userId: UserId, role: "member" | "administrator") =>
      db.transaction(sql`INSERT INTO person (user_id, role, created_at) VALUES (${userId}, ${role}, 0)`)

    const fleet = (owner: UserId) =>
      Effect.gen(function*() {
        const fleetId = FleetId.make(randomUUID())
        yield* db.transaction(sql`INSERT INTO fleet ${
          sql.insert({
            fleet_id: fleetId,
            owner,
            fleet_key: fleetId.slice(0, 8),
            token_hash: randomUUID(),
            created_at: 0
          })
        }`)
        return fleetId
      })

    const agent = (name: string, owner: UserId, inFleet?: FleetId) =>
      Effect.gen(function*() {
        const fleetId = inFleet ?? (yield* fleet(owner))
        const made: TestAgent = {
          agentId: AgentId.make(randomUUID()),
          fleetId,
          userId: user(`cf-${name}`),
          owner,
          name
        }
        yield* memory.matrix.ensureUser(made.userId, name).pipe(Effect.orDie)
        yield* db.transaction(sql`INSERT INTO agent ${
          sql.insert({
            agent_id: made.agentId,
            fleet_id: fleetId,
            instance_key: name,
            owner,
            name,
            name_skeleton: nameSkeleton(name),
            user_id: made.userId,
            engine: "codex",
            created_at: 0
          })
        }`)
        yield* db.transaction(sql`INSERT INTO wake_policy (agent_id, room_id, revision, updated_at)
          VALUES (${made.agentId}, '', 1, 0)`)
        yield* db.transaction(sql`INSERT INTO wake_selection (agent_id, room_id, kind, subject)
          VALUES (${made.agentId}, '', 'person', ${owner})`)
        return made
      })

    /** Hands over what was pushed so far, as the homeserver would, and forgets it. */
    const push = Effect.suspend(() => {
      const events = pushed.splice(0)
      return Effect.flatMap(Announcements, (announcements) => announcements.accept(events.map(announcementOf)))
    })

    return { memory, human: memory.human, db, sql, outside, pushed, person, fleet, agent, push }
  })

export type World = Effect.Effect.Success<ReturnType<typeof make>>

const isUser = Schema.is(UserId)

export const announcementOf = (event: PushedEvent) => ({
  roomId: event.room_id,
  member: membership(event) !== null && isUser(event.state_key) ? event.state_key : null
})

/** The core's services without anything that runs by itself: every step is the test's. */
export const still = (world: World) =>
  rooms.pipe(
    Layer.provide(NoConversation.layer),
    Layer.provideMerge(foundation),
    Layer.provideMerge(world.outside)
  )

/** The core as it runs. */
export const running = (world: World) => coreLayer.pipe(Layer.provideMerge(world.outside))

const maxTurns = 20_000

/** Lets other fibers go on until this holds. No time passes. */
export const until = <E, R>(what: string, condition: Effect.Effect<boolean, E, R>) =>
  Effect.gen(function*() {
    for (let turn = 0; turn < maxTurns; turn += 1) {
      if (yield* condition) return
      yield* Effect.yieldNow({ priority: 0 })
    }
    return yield* Effect.dieMessage(`waited in vain: ${what}`)
  })

const decodeRows = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  event_id: EventId,
  name: Schema.String,
  kind: Schema.String,
  closed_as: Schema.NullOr(Schema.String)
})))

/** What was decided, as `name kind`, by event; closed wakes say how. */
export const decisionsIn = (world: World, roomId: RoomId) =>
  world.db.read(Effect.gen(function*() {
    const rows = yield* decodeRows(
      yield* world.sql`SELECT d.event_id, a.name, d.kind, d.closed_as FROM decision d
        JOIN agent a ON a.agent_id = d.agent_id WHERE d.room_id = ${roomId} ORDER BY d.sequence`
    )
    const found = new Map<EventId, Array<string>>()
    for (const row of rows) {
      const told = row.closed_as === null ? `${row.name} ${row.kind}` : `${row.name} ${row.kind} ${row.closed_as}`
      found.set(row.event_id, [...found.get(row.event_id) ?? [], told])
    }
    return found
  }))

export const policy = (agent: TestAgent, selections: Parameters<typeof WakePolicies.Service.set>[2]) =>
  Effect.flatMap(WakePolicies, (policies) => policies.set(agent.agentId, null, selections))
