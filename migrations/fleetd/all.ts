// fleetd's migrations in order.
import type { Migration } from "../../src/layers/sqlite/Migrations.ts"
import * as core from "./0001_core.ts"
import * as credentials from "./0002_credentials.ts"
import * as retention from "./0003_retention.ts"
import * as redactions from "./0004_redactions.ts"

export const fleetdMigrations: ReadonlyArray<Migration> = [core, credentials, retention, redactions]
