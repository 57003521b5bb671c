// crossfire's database as its programs open it, and the people in it for a program that makes the first of them.
import { Effect, Layer } from "effect"
import { crossfireMigrations } from "../../../migrations/crossfire/all.ts"
import * as MemoryChanges from "../../layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../layers/crossfire/people/MemoryRevocations.ts"
import * as SqlitePeople from "../../layers/crossfire/people/SqlitePeople.ts"
import * as SqliteAgents from "../../layers/crossfire/sqlite/SqliteAgents.ts"
import * as SqliteInstance from "../../layers/crossfire/sqlite/SqliteInstance.ts"
import * as SqliteLevelChanges from "../../layers/crossfire/sqlite/SqliteLevelChanges.ts"
import * as SqliteWakePolicies from "../../layers/crossfire/sqlite/SqliteWakePolicies.ts"
import { acquire } from "../../layers/sqlite/KernelLock.ts"
import { migrate } from "../../layers/sqlite/Migrations.ts"
import { open } from "../../layers/sqlite/SqliteDatabase.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { databasePath, type Installation } from "./Installation.ts"

/** The instance lock, the newest schema, the open file: in this order, for the program's whole life. */
export const database = (data: string) =>
  Layer.scoped(
    CrossfireDb,
    acquire("crossfire", data).pipe(
      Effect.zipRight(migrate("crossfire", databasePath(data), crossfireMigrations)),
      Effect.flatMap(open)
    )
  )

/** Without a server: nobody has a session yet, and no page is open. */
export const people = ({ settings }: Installation) =>
  SqlitePeople.layer({ homeserver: settings.homeserver.mode }).pipe(
    Layer.provide(SqliteWakePolicies.layer),
    Layer.provide(
      Layer.mergeAll(
        SqliteLevelChanges.layer,
        SqliteAgents.layer,
        MemoryChanges.layer,
        MemoryRevocations.layer,
        SqliteInstance.layerFor(settings.server_name)
      )
    )
  )
