// fleetd's migrations in order.
import type { Migration } from "../../src/layers/sqlite/Migrations.ts"
import * as core from "./0001_core.ts"

export const fleetdMigrations: ReadonlyArray<Migration> = [core]
