// `crossfire person add` as a command of its own process, beside a server that runs or without one.
import { Duration, Effect, Layer, Option, Schedule, Schema } from "effect"
import { crossfireMigrations } from "../../../migrations/crossfire/all.ts"
import { UserId } from "../../domain/Ids.ts"
import { registrationGate } from "../../domain/Signup.ts"
import * as MemoryChanges from "../../layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../layers/crossfire/people/MemoryRevocations.ts"
import * as SqlitePeople from "../../layers/crossfire/people/SqlitePeople.ts"
import { storedPolicy } from "../../layers/crossfire/people/SqliteSignup.ts"
import * as SqliteAgents from "../../layers/crossfire/sqlite/SqliteAgents.ts"
import * as SqliteInstance from "../../layers/crossfire/sqlite/SqliteInstance.ts"
import * as SqliteLevelChanges from "../../layers/crossfire/sqlite/SqliteLevelChanges.ts"
import * as SqliteWakePolicies from "../../layers/crossfire/sqlite/SqliteWakePolicies.ts"
import * as PersonAccounts from "../../layers/homeserver/PersonAccounts.ts"
import * as HomeserverHttp from "../../layers/matrix/HomeserverHttp.ts"
import { acquire } from "../../layers/sqlite/KernelLock.ts"
import { migrate, type Migrated } from "../../layers/sqlite/Migrations.ts"
import { open } from "../../layers/sqlite/SqliteDatabase.ts"
import { CrossfireDb, type Database, StoreFailed } from "../../services/Database.ts"
import { prepare } from "./Homeserver.ts"
import { databasePath, type Installation } from "./Installation.ts"
import { makeKnown, personAdd, promptedPassword } from "./PersonAdd.ts"

export class NotServing extends Schema.TaggedError<NotServing>()("NotServing", {}) {
  override get message(): string {
    return "The homeserver does not answer. Accounts are made while crossfire runs: start `crossfire serve` first"
  }
}

export class NameUnusable extends Schema.TaggedError<NameUnusable>()("NameUnusable", { name: Schema.String }) {
  override get message(): string {
    return `"${this.name}" cannot be a name on this homeserver`
  }
}

const busyRetryMillis = 50
const maxBusyRetries = 100

/** The running server writes for milliseconds at a time: its turn is waited for. */
const patient = (database: Database): Database => ({
  ...database,
  transaction: (body) => {
    const run = database.transaction(body)
    const attempt = (triesLeft: number): typeof run =>
      Effect.catchAll(run, (error) =>
        error instanceof StoreFailed && error.reason === "busy" && triesLeft > 0
          ? Effect.delay(attempt(triesLeft - 1), Duration.millis(busyRetryMillis))
          : Effect.fail(error))
    return attempt(maxBusyRetries)
  }
})

/** A server that holds the lock has brought the file to the newest schema. */
const database = (data: string) => {
  const filename = databasePath(data)
  const beside: Migrated = { name: "crossfire", filename, schema: [] }
  return Layer.scoped(
    CrossfireDb,
    acquire("crossfire", data).pipe(
      Effect.zipRight(migrate("crossfire", filename, crossfireMigrations)),
      Effect.catchTag("AlreadyRunning", () => Effect.succeed(beside)),
      Effect.flatMap(open),
      Effect.map(patient)
    )
  )
}

/** The people as this process writes them down; a server that runs finds them there. */
const people = ({ settings }: Installation) =>
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

export interface PersonOptions {
  readonly name: string
  readonly administrator: boolean
  readonly askPassword: boolean
}

/** On a homeserver of your own people have their accounts already: crossfire is only told who they are. */
const known = (installation: Installation, { administrator, name }: PersonOptions) =>
  Effect.gen(function*() {
    const serverName = installation.settings.server_name
    const userId = yield* Effect.mapError(
      Schema.decode(UserId)(`@${name}:${serverName}`),
      () => new NameUnusable({ name })
    )
    yield* makeKnown(userId, administrator ? "administrator" : "member")
    return `${userId} is ${administrator ? "an administrator" : "a person"} of this instance now.`
  })

/** A server that was just started brings its homeserver up in a few seconds. */
const homeserverLooks = 60
const homeserverLookMillis = 500

const answering = (baseUrl: string, serving: boolean) =>
  Effect.gen(function*() {
    const http = yield* HomeserverHttp.make
    const answers = HomeserverHttp.answers(http, baseUrl)
    const looks = Schedule.intersect(
      Schedule.spaced(homeserverLookMillis),
      Schedule.recurs(serving ? homeserverLooks : 0)
    )
    yield* Effect.repeat(answers, { until: (answered) => answered, schedule: looks })
    if (!(yield* answers)) return yield* new NotServing()
  }).pipe(Effect.scoped)

/** Told by the server's own lock. */
const beingServed = (data: string) =>
  Effect.scoped(acquire("crossfire", data)).pipe(
    Effect.as(false),
    Effect.catchTag("AlreadyRunning", () => Effect.succeed(true))
  )

const added = (installation: Installation, options: PersonOptions, serving: boolean) =>
  Effect.gen(function*() {
    const homeserver = yield* prepare(installation, registrationGate(yield* storedPolicy))
    if (Option.isNone(homeserver.registrationSharedSecret)) return yield* known(installation, options)
    // Asked before a password is made and shown: none is shown of an account that cannot be made.
    yield* answering(homeserver.access.baseUrl, serving)
    const accounts = PersonAccounts.layer({
      baseUrl: homeserver.access.baseUrl,
      registrationSharedSecret: homeserver.registrationSharedSecret.value
    })
    const password = options.askPassword ? Option.some(yield* promptedPassword) : Option.none()
    yield* personAdd({
      name: options.name,
      serverName: installation.settings.server_name,
      administrator: options.administrator,
      password
    }).pipe(
      Effect.provide(accounts),
      Effect.catchTag("HomeserverUnavailable", () => Effect.fail(new NotServing()))
    )
    return ""
  }).pipe(Effect.provide(Layer.provideMerge(people(installation), database(installation.data))))

export const add = (installation: Installation, options: PersonOptions) =>
  Effect.flatMap(beingServed(installation.data), (serving) => added(installation, options, serving))
