// The rows of enrollment requests in crossfire's file. It decides nothing: states and who may move them stand in the domain.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Effect, Schema } from "effect"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import { StoredState } from "../../../domain/Enrollment.ts"
import { EnrollmentCode } from "../../../domain/EnrollmentCode.ts"
import { EnrollmentId, FleetId, RoomId, UserId } from "../../../domain/Ids.ts"
import type { Roster } from "../../../domain/Roster.ts"
import { RosterJson } from "../../../domain/RosterCheck.ts"
import type { Database } from "../../../services/Database.ts"

export const EnrollmentRow = Schema.Struct({
  enrollmentId: EnrollmentId,
  owner: UserId,
  roster: RosterJson,
  code: EnrollmentCode,
  state: StoredState,
  shownRoom: Schema.NullOr(RoomId),
  fleetId: Schema.NullOr(FleetId),
  introductionHash: Schema.NullOr(Schema.String),
  createdAtMillis: Schema.Int,
  expiresAtMillis: Schema.Int
})
export type EnrollmentRow = typeof EnrollmentRow.Type

const encodeRoster = Schema.encode(RosterJson)

export const make = ({ sql }: Database) => {
  const columns = sql.literal(
    `enrollment_id AS enrollmentId, owner, roster, code, state, shown_room AS shownRoom, fleet_id AS fleetId,
     introduction_hash AS introductionHash, created_at AS createdAtMillis, expires_at AS expiresAtMillis`
  )
  const open = sql.literal(`state IN ('pending', 'approved')`)

  return {
    byClaim: SqlSchema.findOne({
      Request: Schema.String,
      Result: EnrollmentRow,
      execute: (claimHash) => sql`SELECT ${columns} FROM enrollment WHERE claim_hash = ${claimHash}`
    }),
    byId: SqlSchema.findOne({
      Request: EnrollmentId,
      Result: EnrollmentRow,
      execute: (enrollmentId) => sql`SELECT ${columns} FROM enrollment WHERE enrollment_id = ${enrollmentId}`
    }),
    byCode: SqlSchema.findOne({
      Request: EnrollmentCode,
      Result: EnrollmentRow,
      execute: (code) => sql`SELECT ${columns} FROM enrollment WHERE code = ${code}`
    }),
    /** Requests that wait, oldest first; of one owner, or of all. */
    open: SqlSchema.findAll({
      Request: Schema.Struct({
        owner: Schema.NullOr(UserId),
        nowMillis: Schema.Int,
        maxRows: Schema.Int
      }),
      Result: EnrollmentRow,
      execute: ({ maxRows, nowMillis, owner }) =>
        sql`SELECT ${columns} FROM enrollment
            WHERE ${open} AND expires_at > ${nowMillis} AND owner = COALESCE(${owner}, owner)
            ORDER BY created_at, rowid LIMIT ${maxRows}`
    }),
    openCounts: SqlSchema.findAll({
      Request: Schema.Struct({ nowMillis: Schema.Int }),
      Result: Schema.Struct({ owner: UserId, count: Schema.Int }),
      execute: ({ nowMillis }) =>
        sql`SELECT owner, COUNT(*) AS count FROM enrollment WHERE ${open} AND expires_at > ${nowMillis} GROUP BY owner`
    }),
    insert: (row: {
      readonly enrollmentId: EnrollmentId
      readonly claimHash: SecretHash
      readonly roster: Roster
      readonly code: EnrollmentCode
      readonly createdAtMillis: number
      readonly expiresAtMillis: number
    }) =>
      Effect.flatMap(
        encodeRoster(row.roster),
        (roster) =>
          sql`INSERT INTO enrollment (enrollment_id, claim_hash, owner, fleet_key, roster, code, state, created_at,
                                      expires_at)
            VALUES (${row.enrollmentId}, ${row.claimHash}, ${row.roster.owner}, ${row.roster.fleet}, ${roster},
                    ${row.code}, 'pending', ${row.createdAtMillis}, ${row.expiresAtMillis})`
      ),
    shown: (enrollmentId: EnrollmentId, roomId: RoomId) =>
      sql`UPDATE enrollment SET shown_room = ${roomId} WHERE enrollment_id = ${enrollmentId}`,
    /** `by` null: the operator. */
    settle: (enrollmentId: EnrollmentId, state: "approved" | "rejected", by: UserId | null, nowMillis: number) =>
      sql`UPDATE enrollment SET state = ${state}, decided_by = ${by}, decided_at = ${nowMillis}
          WHERE enrollment_id = ${enrollmentId}`,
    /** Forgets requests that came to nothing and whose time was over before; the number of them. Introduced ones stay. */
    expire: (beforeMillis: number, limit: number) =>
      Effect.map(
        sql`DELETE FROM enrollment WHERE rowid IN (
          SELECT rowid FROM enrollment WHERE state <> 'introduced' AND expires_at < ${beforeMillis} LIMIT ${limit}
        ) RETURNING enrollment_id`,
        (rows) => rows.length
      ),
    introduced: (enrollmentId: EnrollmentId, fleetId: FleetId, introductionHash: SecretHash) =>
      sql`UPDATE enrollment SET state = 'introduced', fleet_id = ${fleetId}, introduction_hash = ${introductionHash}
          WHERE enrollment_id = ${enrollmentId}`
  }
}
