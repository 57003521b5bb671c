// People and sessions over a database in memory, without a homeserver.
import { Context, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { Actor, type PersonRole } from "../../../../src/domain/Actor.ts"
import type { UserId } from "../../../../src/domain/Ids.ts"
import type { HomeserverKind } from "../../../../src/domain/Person.ts"
import * as SqliteCredentials from "../../../../src/layers/crossfire/enrollment/SqliteCredentials.ts"
import * as MemoryChanges from "../../../../src/layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../../../src/layers/crossfire/people/MemoryRevocations.ts"
import * as SqlitePeople from "../../../../src/layers/crossfire/people/SqlitePeople.ts"
import * as SqliteSessions from "../../../../src/layers/crossfire/people/SqliteSessions.ts"
import * as SqliteAgents from "../../../../src/layers/crossfire/sqlite/SqliteAgents.ts"
import * as SqliteInstance from "../../../../src/layers/crossfire/sqlite/SqliteInstance.ts"
import * as SqliteLevelChanges from "../../../../src/layers/crossfire/sqlite/SqliteLevelChanges.ts"
import * as SqliteWakePolicies from "../../../../src/layers/crossfire/sqlite/SqliteWakePolicies.ts"
import { Changes } from "../../../../src/services/Changes.ts"
import { Credentials } from "../../../../src/services/Credentials.ts"
import { CrossfireDb } from "../../../../src/services/Database.ts"
import { People } from "../../../../src/services/People.ts"
import { type Revocable, Revocations } from "../../../../src/services/Revocations.ts"
import { type NewSession, Sessions } from "../../../../src/services/Sessions.ts"
import { database, serverName } from "../World.ts"

export const operator = Actor.Operator()
export const administrator = (userId: UserId) => Actor.Person({ userId, role: "administrator" })
export const member = (userId: UserId) => Actor.Person({ userId, role: "member" })

export const start = (homeserver: HomeserverKind = "managed") =>
  Effect.gen(function*() {
    const db = yield* database
    const layer = Layer.mergeAll(SqlitePeople.layer({ homeserver }), SqliteSessions.layer, SqliteCredentials.layer)
      .pipe(
        Layer.provideMerge(SqliteWakePolicies.layer),
        Layer.provideMerge(Layer.mergeAll(
          SqliteLevelChanges.layer,
          SqliteAgents.layer,
          SqliteInstance.layerFor(serverName),
          MemoryChanges.layer,
          MemoryRevocations.layer
        )),
        Layer.provideMerge(Layer.succeed(CrossfireDb, db))
      )
    const context = yield* Layer.build(layer)
    const people = Context.get(context, People)
    const sessions = Context.get(context, Sessions)
    const revocations = Context.get(context, Revocations)

    const rows = <A extends object>(query: string) => db.read(db.sql.unsafe<A>(query))
    const execute = (query: string) => db.transaction(db.sql.unsafe(query))

    /** As an open stream would: listens, then tells whether it was ended. */
    const listening = (of: Revocable) =>
      Effect.gen(function*() {
        const over = yield* revocations.ended(of)
        const fiber = yield* Effect.forkScoped(over)
        return { isOver: Effect.zipRight(Effect.yieldNow(), Effect.map(Fiber.poll(fiber), Option.isSome)) }
      })

    const signedIn = (userId: UserId, browser = "Firefox") => sessions.begin(userId, browser)
    /** Whether the cookie still opens anything; each from its own address. */
    const holds = (session: NewSession) =>
      sessions.find(session.secret, randomUUID()).pipe(
        Effect.as(true),
        Effect.catchTag("Unauthorized", () => Effect.succeed(false))
      )
    const add = (userId: UserId, role: PersonRole = "member") => people.add(operator, userId, role)

    const agent = (owner: UserId, userId: UserId) =>
      Effect.gen(function*() {
        const fleetId = randomUUID()
        yield* db.transaction(db.sql`INSERT INTO fleet ${
          db.sql.insert({
            fleet_id: fleetId,
            owner,
            fleet_key: "street",
            token_hash: randomUUID(),
            created_at: 0
          })
        }`)
        yield* db.transaction(db.sql`INSERT INTO agent ${
          db.sql.insert({
            agent_id: randomUUID(),
            fleet_id: fleetId,
            instance_key: "writer",
            owner,
            name: userId,
            name_skeleton: userId,
            user_id: userId,
            engine: "codex",
            created_at: 0
          })
        }`)
      })

    return {
      db,
      people,
      sessions,
      credentials: Context.get(context, Credentials),
      revocations,
      changes: Context.get(context, Changes),
      rows,
      execute,
      listening,
      signedIn,
      holds,
      add,
      agent
    }
  })

export const secretOf = (session: NewSession): string => Redacted.value(session.secret)
