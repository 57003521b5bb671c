// `crossfire serve`: the whole server as one layer, read from top to bottom: what runs by itself, what is answered over
// HTTP, the services, the homeserver, the database. Dependencies close in the reverse order.
import { Effect, Layer } from "effect"
import { crossfireMigrations } from "../../../migrations/crossfire/all.ts"
import { registrationGate } from "../../domain/Signup.ts"
import { features, foundation, rooms } from "../../layers/crossfire/CoreLayer.ts"
import * as AgentAccounts from "../../layers/crossfire/enrollment/AgentAccounts.ts"
import * as EnrollmentBot from "../../layers/crossfire/enrollment/EnrollmentBot.ts"
import * as SqliteCredentials from "../../layers/crossfire/enrollment/SqliteCredentials.ts"
import * as SqliteEnrollment from "../../layers/crossfire/enrollment/SqliteEnrollment.ts"
import * as SqliteFleetDirectory from "../../layers/crossfire/fleets/SqliteFleetDirectory.ts"
import * as HomeserverRestarts from "../../layers/crossfire/HomeserverRestarts.ts"
import * as MemoryChanges from "../../layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../layers/crossfire/people/MemoryRevocations.ts"
import { storedPolicy } from "../../layers/crossfire/people/SqliteSignup.ts"
import * as WebAddress from "../../layers/crossfire/WebAddress.ts"
import * as SynapseMatrix from "../../layers/matrix/SynapseMatrix.ts"
import { acquire } from "../../layers/sqlite/KernelLock.ts"
import { migrate } from "../../layers/sqlite/Migrations.ts"
import { open } from "../../layers/sqlite/SqliteDatabase.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { prepare } from "./Homeserver.ts"
import * as HttpRoutes from "./HttpRoutes.ts"
import { databasePath, type Installation } from "./Installation.ts"

/** The instance lock, the newest schema, the open file: in this order, for the program's whole life. */
const database = (data: string) =>
  Layer.scoped(
    CrossfireDb,
    acquire("crossfire", data).pipe(
      Effect.zipRight(migrate("crossfire", databasePath(data), crossfireMigrations)),
      Effect.flatMap(open)
    )
  )

/** What the bot says, who enrolls, whose credential it is, who manages fleets. */
export const enrollment = EnrollmentBot.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(SqliteEnrollment.layer(), SqliteCredentials.layer, SqliteFleetDirectory.layer)),
  Layer.provideMerge(Layer.mergeAll(AgentAccounts.layer, MemoryChanges.layer, MemoryRevocations.layer))
)

/** The stored policy is read before the homeserver's settings are written: it starts with the gate that holds. */
const prepared = (installation: Installation) =>
  Effect.flatMap(storedPolicy, (policy) => prepare(installation, registrationGate(policy)))

const programOn = (installation: Installation) =>
  Effect.map(prepared(installation), (homeserver) => {
    const { settings } = installation
    const listening = Effect.annotateLogs(Effect.logInfo("crossfire listens"), {
      address: `http://127.0.0.1:${settings.http.port}`,
      serverName: settings.server_name,
      homeserver: homeserver.access.baseUrl
    })
    return Layer.mergeAll(features, HomeserverRestarts.layer).pipe(
      Layer.provide(homeserver.running),
      Layer.provide(Layer.tap(HttpRoutes.layer(settings.http.port, homeserver.hsToken), () => listening)),
      Layer.provide(rooms),
      Layer.provide(enrollment),
      Layer.provide(foundation),
      Layer.provide(homeserver.process),
      Layer.provide(WebAddress.layer(settings, homeserver.access.baseUrl)),
      Layer.provide(SynapseMatrix.layer(homeserver.access))
    )
  })

/** Runs until it is interrupted. Nothing is read of the homeserver's folder before the lock is held. */
export const serve = (installation: Installation) =>
  Layer.launch(Layer.provide(Layer.unwrapEffect(programOn(installation)), database(installation.data)))
