// How people come in, over a real homeserver and a database of its own: the services, and a client that registers as Element
// does.
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { crossfireMigrations } from "../../../../migrations/crossfire/all.ts"
import * as MemoryChanges from "../../../../src/layers/crossfire/people/MemoryChanges.ts"
import * as SqliteInvitations from "../../../../src/layers/crossfire/people/SqliteInvitations.ts"
import * as SqliteSignup from "../../../../src/layers/crossfire/people/SqliteSignup.ts"
import * as SqliteInstance from "../../../../src/layers/crossfire/sqlite/SqliteInstance.ts"
import * as HomeserverRegistration from "../../../../src/layers/homeserver/HomeserverRegistration.ts"
import { prepare, start } from "../../../../src/layers/homeserver/ManagedSynapse.ts"
import * as SynapseRegistrationTokens from "../../../../src/layers/homeserver/SynapseRegistrationTokens.ts"
import * as HomeserverHttp from "../../../../src/layers/matrix/HomeserverHttp.ts"
import { migrateMemory } from "../../../../src/layers/sqlite/Migrations.ts"
import { open } from "../../../../src/layers/sqlite/SqliteDatabase.ts"
import { CrossfireDb } from "../../../../src/services/Database.ts"
import { HomeserverProcess } from "../../../../src/services/HomeserverProcess.ts"
import { Invitations } from "../../../../src/services/Invitations.ts"
import { RegistrationTokens } from "../../../../src/services/RegistrationTokens.ts"
import { Signup } from "../../../../src/services/Signup.ts"
import { WebAddress } from "../../../../src/services/WebAddress.ts"
import { nowhere, serverName, temporaryFolder, testConfig } from "../../homeserver/TestSynapse.ts"

const Answered = Schema.parseJson(Schema.Struct({
  session: Schema.optional(Schema.String),
  user_id: Schema.optional(Schema.String),
  access_token: Schema.optional(Schema.String),
  errcode: Schema.optional(Schema.String),
  completed: Schema.optional(Schema.Array(Schema.String)),
  flows: Schema.optional(Schema.Array(Schema.Struct({ stages: Schema.Array(Schema.String) })))
}))
const readAnswered = Schema.decodeUnknownSync(Answered)
const json = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const database = Layer.scoped(CrossfireDb, Effect.flatMap(migrateMemory("crossfire", crossfireMigrations), open))

/** A homeserver of your own, which nobody calls here. */
export const own = SqliteInvitations.layer.pipe(
  Layer.provideMerge(SqliteSignup.layer("own")),
  Layer.provideMerge(SqliteInstance.layerFor(serverName)),
  Layer.provideMerge(Layer.mergeAll(
    database,
    MemoryChanges.layer,
    SynapseRegistrationTokens.layerElsewhere,
    Layer.succeed(
      WebAddress,
      WebAddress.of({ origin: nowhere, homeserverUrl: nowhere, elementUrl: "https://e.test" })
    ),
    HomeserverRegistration.layer({
      baseUrl: nowhere,
      serverName,
      asToken: Redacted.make("none"),
      serviceId: "crossfire"
    })
  ))
)

/** The registration of the client API, step by step. */
export const registrations = (baseUrl: string) =>
  Effect.map(HomeserverHttp.make, (http) => {
    const post = (body: object) =>
      http.exchange({
        operation: "register",
        method: "POST",
        url: new URL(`${baseUrl}/_matrix/client/v3/register`),
        headers: { "content-type": "application/json" },
        body: new TextEncoder().encode(json(body)),
        deadlineSeconds: 30
      }).pipe(
        Effect.map((answer) => ({
          status: answer.status,
          body: readAnswered(Buffer.from(answer.body).toString("utf8"))
        }))
      )
    const begin = (username: string, password: string) =>
      Effect.map(post({ username, password }), ({ body }) => body.session ?? "")
    const giveToken = (session: string, token: string, username: string, password: string) =>
      post({ username, password, auth: { type: "m.login.registration_token", token, session } })
    const finish = (session: string, username: string, password: string) =>
      post({ username, password, auth: { type: "m.login.dummy", session } })
    /** With a token that is not taken it ends there. */
    const complete = (session: string, token: string, username: string, password: string) =>
      Effect.filterOrElse(
        giveToken(session, token, username, password),
        (given) => given.body.completed?.includes("m.login.registration_token") !== true,
        () => finish(session, username, password)
      )
    return {
      begin,
      complete,
      giveToken,
      finish,
      /** As Element does it: begins, gives the token where one is asked for, and finishes. */
      register: (username: string, password: string, token: string | null) =>
        Effect.gen(function*() {
          const session = yield* begin(username, password)
          if (token === null) {
            return yield* finish(session, username, password)
          }
          return yield* complete(session, token, username, password)
        })
    }
  })

export const make = Effect.gen(function*() {
  const folder = yield* temporaryFolder
  const prepared = yield* prepare(testConfig(folder, nowhere))
  const homeserver = yield* start(prepared)
  const { baseUrl } = prepared.access
  const registrar = { baseUrl, registrationSharedSecret: prepared.registrationSharedSecret, folder }
  const address = WebAddress.of({ origin: "http://127.0.0.1:1", homeserverUrl: baseUrl, elementUrl: "https://e.test" })
  const layer = SqliteInvitations.layer.pipe(
    Layer.provideMerge(SqliteSignup.layer("managed")),
    Layer.provideMerge(SqliteInstance.layerFor(serverName)),
    Layer.provideMerge(Layer.mergeAll(
      database,
      MemoryChanges.layer,
      Layer.succeed(WebAddress, address),
      Layer.succeed(HomeserverProcess, homeserver),
      SynapseRegistrationTokens.layer(registrar)
    ))
  )
  const context = yield* Layer.build(layer)
  return {
    folder,
    prepared,
    homeserver,
    db: Context.get(context, CrossfireDb),
    signup: Context.get(context, Signup),
    invitations: Context.get(context, Invitations),
    tokens: Context.get(context, RegistrationTokens),
    client: yield* registrations(baseUrl)
  }
})
