// The rows of browsers' sessions in crossfire's file. A session that is over has no row for anybody, whether or not it was
// removed yet.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Effect, Schema } from "effect"
import { PersonRole } from "../../../domain/Actor.ts"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import { UserId } from "../../../domain/Ids.ts"
import { SessionId, sessionIdleMillis } from "../../../domain/Session.ts"
import type { Database } from "../../../services/Database.ts"

const FoundRow = Schema.Struct({
  sessionId: SessionId,
  userId: UserId,
  role: PersonRole,
  seenAtMillis: Schema.Int,
  endsAtMillis: Schema.Int
})

const ListedRow = Schema.Struct({
  sessionId: SessionId,
  browser: Schema.String,
  signedInAtMillis: Schema.Int,
  seenAtMillis: Schema.Int,
  endsAtMillis: Schema.Int
})

const EndedRow = Schema.Struct({ sessionId: SessionId, userId: UserId })
export type EndedRow = typeof EndedRow.Type
const decodeNext = Schema.decodeUnknown(Schema.Array(Schema.Struct({ atMillis: Schema.NullOr(Schema.Int) })))
const decodeEnded = Schema.decodeUnknown(Schema.Array(EndedRow))

export const make = ({ sql }: Database) => {
  const lives = (nowMillis: number) => sql`ends_at > ${nowMillis} AND seen_at > ${nowMillis - sessionIdleMillis}`
  const ended = sql.literal("session_id AS sessionId, user_id AS userId")

  return {
    /** Of people who may act. */
    find: SqlSchema.findOne({
      Request: Schema.Struct({ secretHash: Schema.String, nowMillis: Schema.Int }),
      Result: FoundRow,
      execute: ({ nowMillis, secretHash }) =>
        sql`SELECT session_id AS sessionId, user_id AS userId, role, seen_at AS seenAtMillis, ends_at AS endsAtMillis
            FROM session JOIN person USING (user_id)
            WHERE secret_hash = ${secretHash} AND deactivated_at IS NULL AND ${lives(nowMillis)}`
    }),
    /** Newest first. */
    list: SqlSchema.findAll({
      Request: Schema.Struct({ userId: UserId, nowMillis: Schema.Int, maxRows: Schema.Int }),
      Result: ListedRow,
      execute: ({ maxRows, nowMillis, userId }) =>
        sql`SELECT session_id AS sessionId, browser, created_at AS signedInAtMillis, seen_at AS seenAtMillis,
              ends_at AS endsAtMillis
            FROM session WHERE user_id = ${userId} AND ${lives(nowMillis)}
            ORDER BY created_at DESC, rowid DESC LIMIT ${maxRows}`
    }),
    insert: (row: {
      readonly sessionId: SessionId
      readonly userId: UserId
      readonly secretHash: SecretHash
      readonly browser: string
      readonly nowMillis: number
      readonly endsAtMillis: number
    }) =>
      sql`INSERT INTO session (session_id, user_id, secret_hash, browser, created_at, seen_at, ends_at)
          VALUES (${row.sessionId}, ${row.userId}, ${row.secretHash}, ${row.browser}, ${row.nowMillis},
                  ${row.nowMillis}, ${row.endsAtMillis})`,
    seen: (sessionId: SessionId, nowMillis: number) =>
      sql`UPDATE session SET seen_at = ${nowMillis} WHERE session_id = ${sessionId}`,
    /** Ends one of this person's that lives. */
    endOne: (userId: UserId, sessionId: SessionId, nowMillis: number) =>
      Effect.flatMap(
        sql`DELETE FROM session WHERE session_id = ${sessionId} AND user_id = ${userId} AND ${lives(nowMillis)}
            RETURNING ${ended}`,
        decodeEnded
      ),
    /** Ends this person's that live, but the one named. */
    endAll: (userId: UserId, but: SessionId | null, nowMillis: number) =>
      Effect.flatMap(
        sql`DELETE FROM session WHERE user_id = ${userId} AND session_id IS NOT ${but} AND ${lives(nowMillis)}
            RETURNING ${ended}`,
        decodeEnded
      ),
    /** Ends this person's oldest until only so many are left. */
    endOldest: (userId: UserId, left: number) =>
      Effect.flatMap(
        sql`DELETE FROM session WHERE session_id IN (
              SELECT session_id FROM session WHERE user_id = ${userId}
              ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ${left}
            ) RETURNING ${ended}`,
        decodeEnded
      ),
    /** When the next one ends by itself, unless it is used; null where there is none. */
    nextOver: Effect.flatMap(
      sql`SELECT MIN(MIN(ends_at, seen_at + ${sessionIdleMillis})) AS atMillis FROM session`,
      decodeNext
    ).pipe(Effect.map(([row]) => row?.atMillis ?? null)),
    /** Removes those that ended by themselves. */
    endOver: (nowMillis: number, maxRows: number) =>
      Effect.flatMap(
        sql`DELETE FROM session WHERE session_id IN (
              SELECT session_id FROM session WHERE NOT (${lives(nowMillis)}) LIMIT ${maxRows}
            ) RETURNING ${ended}`,
        decodeEnded
      )
  }
}
