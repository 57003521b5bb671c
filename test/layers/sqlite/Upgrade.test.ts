// Files of the first schemas, opened with the newest: every row as it was, and usable.
import { expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Layer, Option, Redacted } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { crossfireMigrations } from "../../../migrations/crossfire/all.ts"
import { fleetdMigrations } from "../../../migrations/fleetd/all.ts"
import { UserId } from "../../../src/domain/Ids.ts"
import * as PersonRows from "../../../src/layers/crossfire/people/PersonRows.ts"
import { storedPolicy } from "../../../src/layers/crossfire/people/SqliteSignup.ts"
import * as ServerSettings from "../../../src/layers/crossfire/ServerSettings.ts"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { migrate, type Migration } from "../../../src/layers/sqlite/Migrations.ts"
import { open } from "../../../src/layers/sqlite/SqliteDatabase.ts"
import { CrossfireDb } from "../../../src/services/Database.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { editor, registryIn, scratchFolder } from "../../support/FleetFile.ts"

/** The file as its first version left it, with these rows. */
const first = (name: string, path: string, migrations: ReadonlyArray<Migration>, rows: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    yield* migrate(name, path, migrations.slice(0, 1))
    yield* Effect.sync(() => {
      const file = new Sqlite(path)
      for (const row of rows) file.exec(row)
      file.close()
    })
  })

const tablesOf = (path: string, tables: ReadonlyArray<string>, columns: "*" | ReadonlyMap<string, string> = "*") => {
  const file = new Sqlite(path, { readonly: true })
  const read = tables.map((table) => {
    const row = file.prepare(`SELECT * FROM ${table}`)
    const names = columns === "*" ? row.columns().map(({ name }) => name).join(", ") : columns.get(table) ?? ""
    return { table, names, rows: file.prepare(`SELECT ${names} FROM ${table} ORDER BY 1`).all() }
  })
  file.close()
  return read
}
const columnsOf = (before: ReturnType<typeof tablesOf>) => new Map(before.map(({ names, table }) => [table, names]))

it.scoped("[I-10] crossfire's first file keeps people, fleets, agents, requests and rooms; nobody is deactivated, none revoked", () =>
  Effect.gen(function*() {
    const path = join(yield* scratchFolder, "crossfire.sqlite")
    yield* first("crossfire", path, crossfireMigrations, [
      "INSERT INTO instance VALUES (1, 'i', 'n', 'cf.test', 1)",
      "INSERT INTO person VALUES ('@alice:cf.test', 'administrator', 5)",
      "INSERT INTO fleet (fleet_id, owner, fleet_key, token_hash, generation, created_at) VALUES ('f', '@alice:cf.test', 'street', 'h', 7, 1)",
      `INSERT INTO agent (agent_id, fleet_id, instance_key, owner, name, name_skeleton, user_id, engine, token_hash, created_at)
       VALUES ('a', 'f', 'writer', '@alice:cf.test', 'writer', 'wrlter', '@cf-0:cf.test', 'codex', 'h2', 1)`,
      "INSERT INTO enrollment VALUES ('e', 'c', '@alice:cf.test', 'street', '{}', 'CODE', 'approved', NULL, NULL, NULL, 1, 9, 2, '@alice:cf.test')",
      "INSERT INTO participation (agent_id, room_id, permitted_by, membership, updated_at) VALUES ('a', '!r', '@alice:cf.test', 'joined', 1)",
      `INSERT INTO outbound (operation_id, sender, room_id, transaction_id, event_type, content, state, created_at)
       VALUES ('o', '@cf-0:cf.test', '!r', 't', 'm.room.message', '{}', 'waiting', 1)`
    ])
    const tables = ["instance", "person", "fleet", "agent", "enrollment", "participation", "outbound"]
    const before = tablesOf(path, tables)
    const database = yield* Effect.flatMap(migrate("crossfire", path, crossfireMigrations), open)
    expect(tablesOf(path, tables, columnsOf(before))).toStrictEqual(before)
    const alice = yield* database.read(PersonRows.make(database).find(UserId.make("@alice:cf.test")))
    expect(Option.getOrThrow(alice)).toMatchObject({ role: "administrator", active: true })
    expect(yield* Effect.provideService(storedPolicy, CrossfireDb, database)).toBe("invite")
    expect(yield* database.read(database.sql`SELECT revoked_at FROM fleet`)).toStrictEqual([{ revoked_at: null }])
  }))

it.scoped("fleetd's first file keeps its credentials, and no rotation, refusal or retirement stands in it", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const path = join(folder, "fleetd.sqlite")
    yield* first("fleetd", path, fleetdMigrations, [
      "INSERT INTO root VALUES (1, '44444444-4444-4444-8444-444444444444', '/root', 1)",
      "INSERT INTO fleet VALUES (1, '33333333-3333-4333-8333-333333333333', 'street', '@alice:cf.test', 'http://127.0.0.1:1', 'cff_old', 1)",
      `INSERT INTO agent (agent_id, instance_key, name, user_id, token, engine, model, work_folder, history_mode, created_at)
       VALUES ('${editor}', 'editor', 'editor', '@cf-0:cf.test', 'cfa_old', 'pi', 'm', '/work', 'shared', 1)`
    ])
    const before = tablesOf(path, ["root", "fleet", "agent"])
    yield* Effect.gen(function*() {
      const registry = yield* FleetRegistry
      expect(yield* registry.agent(editor)).toMatchObject({ retired: false, credentialRefused: false, enabled: true })
      expect(yield* registry.pendingCredentials).toStrictEqual(Option.none())
      const held = Option.getOrThrow(yield* registry.credentials)
      expect([Redacted.value(held.fleetToken), held.claim]).toStrictEqual(["cff_old", null])
      expect([...held.agentTokens.values()].map(Redacted.value)).toStrictEqual(["cfa_old"])
    }).pipe(Effect.provide(SqliteRegistry.layer.pipe(Layer.provide(registryIn(folder)))))
    expect(tablesOf(path, ["root", "fleet", "agent"], columnsOf(before))).toStrictEqual(before)
  }))

it.scoped("settings that an earlier `crossfire init` wrote are read as they are", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const lines = [
      "server_name = \"localhost\"",
      "[http]",
      "port = 8740",
      "[homeserver]",
      "mode = \"managed\"",
      "port = 8008"
    ]
    writeFileSync(ServerSettings.settingsPath(folder), [...lines, "signup = \"by-token\"", ""].join("\n"), {
      mode: 0o600
    })
    expect((yield* ServerSettings.read(folder)).homeserver).toMatchObject({ mode: "managed", port: 8008 })
  }))
