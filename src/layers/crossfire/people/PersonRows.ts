// The rows of people in crossfire's file. It decides nothing: the rules stand in the domain.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Effect, Schema } from "effect"
import { PersonRole } from "../../../domain/Actor.ts"
import { UserId } from "../../../domain/Ids.ts"
import { sessionIdleMillis } from "../../../domain/Session.ts"
import type { Database } from "../../../services/Database.ts"

const Flag = Schema.transformLiterals([0, false], [1, true])

const KnownRow = Schema.Struct({ userId: UserId, role: PersonRole, active: Flag })

const ViewRow = Schema.Struct({
  ...KnownRow.fields,
  addedBy: Schema.NullOr(UserId),
  addedAtMillis: Schema.Int,
  sessions: Schema.Int,
  agents: Schema.Int
})

const decodeCount = Schema.decodeUnknown(Schema.Array(Schema.Struct({ count: Schema.Int })))

export const make = ({ sql }: Database) => {
  const known = sql.literal("person.user_id AS userId, person.role, person.deactivated_at IS NULL AS active")

  return {
    find: SqlSchema.findOne({
      Request: UserId,
      Result: KnownRow,
      execute: (userId) => sql`SELECT ${known} FROM person WHERE user_id = ${userId}`
    }),
    /** By user ID; of one, or of all. Sessions that are over and retired agents are not counted. */
    views: SqlSchema.findAll({
      Request: Schema.Struct({ userId: Schema.NullOr(UserId), nowMillis: Schema.Int, maxRows: Schema.Int }),
      Result: ViewRow,
      execute: ({ maxRows, nowMillis, userId }) =>
        sql`SELECT ${known}, person.added_by AS addedBy, person.created_at AS addedAtMillis,
              (SELECT COUNT(*) FROM session WHERE session.user_id = person.user_id AND ends_at > ${nowMillis}
                AND seen_at > ${nowMillis - sessionIdleMillis}) AS sessions,
              (SELECT COUNT(*) FROM agent WHERE agent.owner = person.user_id AND retired_at IS NULL) AS agents
            FROM person WHERE person.user_id = COALESCE(${userId}, person.user_id)
            ORDER BY person.user_id LIMIT ${maxRows}`
    }),
    insert: (userId: UserId, role: PersonRole, addedBy: UserId | null, nowMillis: number) =>
      sql`INSERT INTO person (user_id, role, created_at, added_by)
          VALUES (${userId}, ${role}, ${nowMillis}, ${addedBy})`,
    setRole: (userId: UserId, role: PersonRole) => sql`UPDATE person SET role = ${role} WHERE user_id = ${userId}`,
    setDeactivated: (userId: UserId, atMillis: number | null) =>
      sql`UPDATE person SET deactivated_at = ${atMillis} WHERE user_id = ${userId}`,
    otherAdministrators: (userId: UserId) =>
      Effect.flatMap(
        sql`SELECT COUNT(*) AS count FROM person
            WHERE role = 'administrator' AND deactivated_at IS NULL AND user_id <> ${userId}`,
        decodeCount
      ).pipe(Effect.map(([row]) => row?.count ?? 0)),
    isAgent: (userId: UserId) =>
      Effect.map(sql`SELECT 1 FROM agent WHERE user_id = ${userId}`, (rows) => rows.length > 0)
  }
}
