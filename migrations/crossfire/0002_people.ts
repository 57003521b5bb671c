// People's access: who may use the instance and how they come in, sessions of the web UI, sign-in links, invitations, and
// credentials that were revoked. No secret stands here, only SHA-256 hashes. Times are milliseconds since 1970.
import type { Knex } from "knex"

export const name = "0002_people"

const statements = [
  // Who may come in: by an administrator's invitation, by any member's, or anybody who reaches the homeserver.
  `ALTER TABLE instance ADD COLUMN signup TEXT NOT NULL DEFAULT 'invite'
     CHECK (signup IN ('invite', 'members', 'open'))`,

  // Where a message to a person went, so that it can be taken back there: the person may have another chat by then.
  `ALTER TABLE outbound ADD COLUMN sent_to TEXT`,

  // A deactivated person keeps the row: identities and records go on naming them. added_by is null for the operator.
  `ALTER TABLE person ADD COLUMN deactivated_at INTEGER`,
  `ALTER TABLE person ADD COLUMN added_by TEXT`,

  // One browser's session. session_id is public within its owner's list; the cookie's secret is not kept.
  `CREATE TABLE session (
    session_id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES person (user_id),
    secret_hash TEXT NOT NULL UNIQUE,
    browser TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
  ) STRICT`,

  `CREATE INDEX session_person ON session (user_id)`,

  // One link to sign in. browser_hash is of the cookie that the asking browser got; operation_id names the bot's message
  // with the link for as long as it is to be taken back.
  `CREATE TABLE sign_in (
    sign_in_id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    browser_hash TEXT NOT NULL,
    link_hash TEXT NOT NULL UNIQUE,
    operation_id TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
  ) STRICT`,

  `CREATE INDEX sign_in_age ON sign_in (expires_at)`,

  // token_hash is of the homeserver's registration token; the token itself is shown once and kept by the homeserver alone.
  // state: making until the homeserver has the token; expired once the homeserver has it no more.
  `CREATE TABLE invitation (
    invitation_id TEXT PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    made_by TEXT,
    note TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('making', 'open', 'used', 'revoked', 'expired')),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    settled_at INTEGER
  ) STRICT`,

  `CREATE INDEX invitation_maker ON invitation (made_by)`,

  // A credential that was revoked is never taken again, whoever offers it.
  `CREATE TABLE revoked_token (
    token_hash TEXT PRIMARY KEY,
    revoked_at INTEGER NOT NULL
  ) STRICT`,

  // fleet.token_hash cannot be null in the first schema; a fleet whose credential is revoked has this set instead.
  `ALTER TABLE fleet ADD COLUMN revoked_at INTEGER`
]

export const up = async (knex: Knex): Promise<void> => {
  for (const statement of statements) await knex.raw(statement)
}
