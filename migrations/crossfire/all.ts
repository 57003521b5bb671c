// crossfire's migrations in order.
import type { Migration } from "../../src/layers/sqlite/Migrations.ts"
import * as core from "./0001_core.ts"
import * as people from "./0002_people.ts"
import * as reading from "./0003_reading.ts"

export const crossfireMigrations: ReadonlyArray<Migration> = [core, people, reading]
