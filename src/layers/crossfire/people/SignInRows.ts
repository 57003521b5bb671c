// The rows of sign-in links in crossfire's file. Hashes alone: the link's text stands with the bot's message until that is
// taken back.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Effect, Schema } from "effect"
import { SecretHash } from "../../../domain/api/Crossfire.ts"
import { UserId } from "../../../domain/Ids.ts"
import { linkLifeMillis } from "../../../domain/Session.ts"
import type { Database } from "../../../services/Database.ts"

const LinkRow = Schema.Struct({
  signInId: Schema.String,
  userId: UserId,
  browserHash: SecretHash,
  operationId: Schema.NullOr(Schema.String),
  expiresAtMillis: Schema.Int,
  usedAtMillis: Schema.NullOr(Schema.Int)
})

const decodeCounts = Schema.decodeUnknown(Schema.Array(Schema.Struct({ all: Schema.Int, own: Schema.Int })))

export const make = ({ sql }: Database) => ({
  insert: (link: {
    readonly signInId: string
    readonly userId: UserId
    readonly browserHash: SecretHash
    readonly linkHash: SecretHash
    readonly operationId: string
    readonly nowMillis: number
    readonly expiresAtMillis: number
  }) =>
    Effect.asVoid(sql`INSERT INTO sign_in ${
      sql.insert({
        sign_in_id: link.signInId,
        user_id: link.userId,
        browser_hash: link.browserHash,
        link_hash: link.linkHash,
        operation_id: link.operationId,
        created_at: link.nowMillis,
        expires_at: link.expiresAtMillis
      })
    }`),
  /** How many links were made since: of everybody, and of this person. */
  madeSince: (userId: UserId, sinceMillis: number) =>
    Effect.flatMap(
      sql`SELECT COUNT(*) AS "all", COUNT(*) FILTER (WHERE user_id = ${userId}) AS own FROM sign_in
        WHERE expires_at > ${sinceMillis + linkLifeMillis}`,
      decodeCounts
    ).pipe(Effect.map(([counts]) => counts ?? { all: 0, own: 0 })),
  /** The whole hash of 256 random bits: how long the look-up takes tells nothing that can be steered. */
  byLink: SqlSchema.findOne({
    Request: SecretHash,
    Result: LinkRow,
    execute: (linkHash) =>
      sql`SELECT sign_in_id AS signInId, user_id AS userId, browser_hash AS browserHash, operation_id AS operationId,
          expires_at AS expiresAtMillis, used_at AS usedAtMillis FROM sign_in WHERE link_hash = ${linkHash}`
  }),
  use: (signInId: string, nowMillis: number) =>
    Effect.asVoid(sql`UPDATE sign_in SET used_at = ${nowMillis} WHERE sign_in_id = ${signInId}`),
  /** Links that are over and whose messages still stand, oldest first. */
  toTakeBack: SqlSchema.findAll({
    Request: Schema.Struct({ nowMillis: Schema.Int, maxRows: Schema.Int }),
    Result: Schema.Struct({ signInId: Schema.String, operationId: Schema.String }),
    execute: ({ maxRows, nowMillis }) =>
      sql`SELECT sign_in_id AS signInId, operation_id AS operationId FROM sign_in
          WHERE operation_id IS NOT NULL AND expires_at <= ${nowMillis} ORDER BY expires_at LIMIT ${maxRows}`
  }),
  takenBack: (signInId: string) =>
    Effect.asVoid(sql`UPDATE sign_in SET operation_id = NULL WHERE sign_in_id = ${signInId}`),
  /** Answers how many. */
  remove: (expiredBeforeMillis: number, maxRows: number) =>
    Effect.map(
      sql`DELETE FROM sign_in WHERE sign_in_id IN (
          SELECT sign_in_id FROM sign_in
          WHERE expires_at < ${expiredBeforeMillis} AND operation_id IS NULL LIMIT ${maxRows}
        ) RETURNING sign_in_id`,
      (rows) => rows.length
    )
})
