// `crossfire serve`: the whole server as one layer, read from top to bottom: what runs by itself, what is answered over
// HTTP, the services, the homeserver, the database. Dependencies close in the reverse order.
import { Effect, Layer } from "effect"
import type { HomeserverKind } from "../../domain/Person.ts"
import { registrationGate } from "../../domain/Signup.ts"
import { features, foundation, rooms } from "../../layers/crossfire/CoreLayer.ts"
import * as AgentAccounts from "../../layers/crossfire/enrollment/AgentAccounts.ts"
import * as EnrollmentBot from "../../layers/crossfire/enrollment/EnrollmentBot.ts"
import * as SqliteCredentials from "../../layers/crossfire/enrollment/SqliteCredentials.ts"
import * as SqliteEnrollment from "../../layers/crossfire/enrollment/SqliteEnrollment.ts"
import * as SqliteFleetDirectory from "../../layers/crossfire/fleets/SqliteFleetDirectory.ts"
import * as HomeserverRestarts from "../../layers/crossfire/HomeserverRestarts.ts"
import * as AccountWatch from "../../layers/crossfire/people/AccountWatch.ts"
import * as MemoryChanges from "../../layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../layers/crossfire/people/MemoryRevocations.ts"
import * as SignIn from "../../layers/crossfire/people/SignIn.ts"
import * as SqliteInvitations from "../../layers/crossfire/people/SqliteInvitations.ts"
import * as SqlitePeople from "../../layers/crossfire/people/SqlitePeople.ts"
import * as SqliteSessions from "../../layers/crossfire/people/SqliteSessions.ts"
import * as SqliteSignup from "../../layers/crossfire/people/SqliteSignup.ts"
import { doubts } from "../../layers/crossfire/ServerSettings.ts"
import * as WebAddress from "../../layers/crossfire/WebAddress.ts"
import * as SynapseMatrix from "../../layers/matrix/SynapseMatrix.ts"
import { database } from "./Database.ts"
import { prepare } from "./Homeserver.ts"
import * as HttpRoutes from "./HttpRoutes.ts"
import type { Installation } from "./Installation.ts"
import * as OperatorSocket from "./OperatorSocket.ts"
import { builtFolder } from "./WebPages.ts"

/** What the bot says, who enrolls, whose credential it is, who manages fleets. */
export const enrollment = EnrollmentBot.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(SqliteEnrollment.layer(), SqliteCredentials.layer, SqliteFleetDirectory.layer)),
  Layer.provideMerge(Layer.mergeAll(AgentAccounts.layer, MemoryChanges.layer, MemoryRevocations.layer))
)

/** Who is known, how people come in, and how they prove who they are. */
export const people = (homeserver: HomeserverKind) =>
  Layer.merge(SqliteInvitations.layer, SignIn.layer).pipe(
    Layer.provideMerge(SqliteSignup.layer(homeserver)),
    Layer.provideMerge(Layer.merge(SqlitePeople.layer({ homeserver }), SqliteSessions.layer))
  )

/** The stored policy is read before the homeserver's settings are written: it starts with the gate that holds. */
const prepared = (installation: Installation) =>
  Effect.flatMap(SqliteSignup.storedPolicy, (policy) => prepare(installation, registrationGate(policy)))

const programOn = (installation: Installation) =>
  Effect.map(prepared(installation), (homeserver) => {
    const { settings } = installation
    const listening = Effect.annotateLogs(Effect.logInfo("crossfire listens"), {
      address: `http://127.0.0.1:${settings.http.port}`,
      serverName: settings.server_name,
      homeserver: homeserver.access.baseUrl
    })
    const doubted = Effect.forEach(doubts(settings), (doubt) => Effect.logWarning(doubt), { discard: true })
    const http = HttpRoutes.layer({
      port: settings.http.port,
      hsToken: homeserver.hsToken,
      pushUrl: settings.homeserver.mode === "own" ? settings.homeserver.push_url ?? null : null,
      trustedProxies: settings.http.trusted_proxies,
      webFolder: builtFolder
    })
    return Layer.mergeAll(features, HomeserverRestarts.layer, AccountWatch.layer).pipe(
      Layer.provide(homeserver.running),
      Layer.provide(Layer.tap(http, () => Effect.zipRight(doubted, listening))),
      Layer.provide(OperatorSocket.layer(installation.data, homeserver.accounts)),
      Layer.provide(rooms),
      Layer.provide(people(settings.homeserver.mode)),
      Layer.provide(enrollment),
      Layer.provide(foundation),
      Layer.provide([homeserver.process, homeserver.tokens]),
      Layer.provide(WebAddress.layer(settings, homeserver.access.baseUrl)),
      Layer.provide(SynapseMatrix.layer(homeserver.access))
    )
  })

const outdated = ({ settings: { homeserver } }: Installation) =>
  homeserver.mode === "managed" && homeserver.signup !== undefined
    ? Effect.logWarning(
      "homeserver.signup in crossfire.toml holds no more and can be removed. Who may sign up is shown and changed with: crossfire signup"
    )
    : Effect.void

/** Runs until it is interrupted. Nothing is read of the homeserver's folder before the lock is held. */
export const serve = (installation: Installation) =>
  Effect.zipRight(
    Effect.zipRight(OperatorSocket.checkedFolder(installation.data), outdated(installation)),
    Layer.launch(Layer.provide(Layer.unwrapEffect(programOn(installation)), database(installation.data)))
  )
