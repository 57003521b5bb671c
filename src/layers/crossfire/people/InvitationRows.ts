// The rows of invitations: made, settled, read. No token stands in them, only its hash.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Schema } from "effect"
import type { SecretHash } from "../../../domain/api/Crossfire.ts"
import { InvitationId, type InvitationView } from "../../../domain/api/People.ts"
import { UserId } from "../../../domain/Ids.ts"
import type { Database } from "../../../services/Database.ts"

export const InvitationRow = Schema.Struct({
  invitationId: InvitationId,
  tokenHash: Schema.String,
  madeBy: Schema.NullOr(UserId),
  note: Schema.String,
  state: Schema.Literal("making", "open", "used", "revoked", "expired"),
  createdAtMillis: Schema.Number,
  expiresAtMillis: Schema.Number
})
export type InvitationRow = typeof InvitationRow.Type

const maxListed = 200
const Count = Schema.Struct({ count: Schema.Int })

/** One that was never shown to anybody is nobody's. */
export const viewOf = (row: InvitationRow, nowMillis: number): InvitationView | null => {
  const { createdAtMillis, expiresAtMillis, invitationId, madeBy, note, state } = row
  if (state === "making") return null
  const isOver = state === "open" && expiresAtMillis <= nowMillis
  return { invitationId, madeBy, note, state: isOver ? "expired" : state, createdAtMillis, expiresAtMillis }
}

export const make = ({ sql }: Database) => {
  const columns = sql.literal(
    `invitation_id AS invitationId, token_hash AS tokenHash, made_by AS madeBy, note, state,
     created_at AS createdAtMillis, expires_at AS expiresAtMillis`
  )
  return {
    insert: (row: {
      readonly invitationId: InvitationId
      readonly tokenHash: SecretHash
      readonly madeBy: UserId | null
      readonly note: string
      readonly createdAtMillis: number
      readonly expiresAtMillis: number
    }) =>
      sql`INSERT INTO invitation (invitation_id, token_hash, made_by, note, state, created_at, expires_at)
          VALUES (${row.invitationId}, ${row.tokenHash}, ${row.madeBy}, ${row.note}, 'making',
                  ${row.createdAtMillis}, ${row.expiresAtMillis})`,
    opened: (invitationId: InvitationId) =>
      sql`UPDATE invitation SET state = 'open' WHERE invitation_id = ${invitationId} AND state = 'making'`,
    /** From open alone: what was settled stays as it is. */
    settle: (invitationId: InvitationId, state: "used" | "revoked" | "expired", nowMillis: number) =>
      sql`UPDATE invitation SET state = ${state}, settled_at = ${nowMillis}
          WHERE invitation_id = ${invitationId} AND state = 'open'`,
    forget: (invitationId: InvitationId) =>
      sql`DELETE FROM invitation WHERE invitation_id = ${invitationId} AND state = 'making'`,
    find: SqlSchema.findOne({
      Request: InvitationId,
      Result: InvitationRow,
      execute: (invitationId) => sql`SELECT ${columns} FROM invitation WHERE invitation_id = ${invitationId}`
    }),
    /** Those of this person, or of everybody. */
    newest: SqlSchema.findAll({
      Request: Schema.NullOr(UserId),
      Result: InvitationRow,
      execute: (madeBy) =>
        sql`SELECT ${columns} FROM invitation
            WHERE state <> 'making' AND (${madeBy} IS NULL OR made_by = ${madeBy})
            ORDER BY created_at DESC, invitation_id LIMIT ${maxListed}`
    }),
    unsettled: SqlSchema.findAll({
      Request: Schema.Void,
      Result: InvitationRow,
      execute: () => sql`SELECT ${columns} FROM invitation WHERE state IN ('making', 'open') ORDER BY created_at`
    }),
    /** Open ones, those being made too: of this person, or of everybody. */
    countOpen: SqlSchema.single({
      Request: Schema.Struct({ madeBy: Schema.NullOr(UserId), nowMillis: Schema.Number }),
      Result: Count,
      execute: ({ madeBy, nowMillis }) =>
        sql`SELECT COUNT(*) AS count FROM invitation
            WHERE state IN ('making', 'open') AND expires_at > ${nowMillis}
              AND (${madeBy} IS NULL OR made_by = ${madeBy})`
    })
  }
}
