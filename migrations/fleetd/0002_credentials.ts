// Credentials that are being replaced, the claim that brought the present ones, agents that crossfire retired or whose
// credential it refuses. Times are milliseconds since 1970.
import type { Knex } from "knex"

export const name = "0002_credentials"

const statements = [
  // Set, all of them or none, from before crossfire is asked to take them until it is known whether it did.
  `ALTER TABLE fleet ADD COLUMN pending_token TEXT`,
  `ALTER TABLE agent ADD COLUMN pending_token TEXT`,

  // SHA-256 of the claim whose introduction was kept last: its tokens were taken from it once, and never again.
  `ALTER TABLE fleet ADD COLUMN claim_hash TEXT`,

  `ALTER TABLE agent ADD COLUMN retired_at INTEGER`,
  `ALTER TABLE agent ADD COLUMN credential_refused_at INTEGER`
]

export const up = async (knex: Knex): Promise<void> => {
  for (const statement of statements) await knex.raw(statement)
}
