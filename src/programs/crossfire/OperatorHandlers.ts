// What the operator's command line asks, answered by the services that the web pages use too; its word is the operator's.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { type Context, Duration, Effect, Option, type Redacted, Schema } from "effect"
import { Actor } from "../../domain/Actor.ts"
import { HomeserverDown, ServerBusy } from "../../domain/api/CrossfireErrors.ts"
import { type AddedPerson, OperatorApi, PersonRefused } from "../../domain/api/Operator.ts"
import { UserId } from "../../domain/Ids.ts"
import { makeKnown } from "../../layers/crossfire/people/OperatorWord.ts"
import * as PersonAccount from "../../layers/crossfire/people/PersonAccount.ts"
import type { StoreFailed } from "../../services/Database.ts"
import { HomeserverProcess } from "../../services/HomeserverProcess.ts"
import { Instance } from "../../services/Instance.ts"
import { Invitations } from "../../services/Invitations.ts"
import type { MatrixError } from "../../services/Matrix.ts"
import { People } from "../../services/People.ts"
import type { PersonAccounts } from "../../services/PersonAccounts.ts"
import { Signup } from "../../services/Signup.ts"

const by = Actor.Operator()
const retryMillis = 5_000
const homeserverWithinSeconds = 20

const storeBusy = ({ message }: StoreFailed) => Effect.fail(new ServerBusy({ reason: message }))
const homeserverDown = (error: MatrixError) =>
  Effect.fail(
    new HomeserverDown({
      retryAfterMillis: error._tag === "HomeserverBusy" ? error.retryAfterMillis : retryMillis
    })
  )
const down = {
  HomeserverUnavailable: homeserverDown,
  HomeserverBusy: homeserverDown,
  MatrixRefused: homeserverDown
}
const refused = ({ message }: { readonly message: string }) => Effect.fail(new PersonRefused({ reason: message }))

export interface OperatorConfig {
  /** Made passwords go there. */
  readonly data: string
  /** None where accounts are made on a homeserver of one's own. */
  readonly accounts: Option.Option<Context.Tag.Service<typeof PersonAccounts>>
}

export const operatorHandlers = ({ accounts, data }: OperatorConfig) =>
  HttpApiBuilder.group(OperatorApi, "operator", (handlers) =>
    Effect.gen(function*() {
      const people = yield* People
      const invitations = yield* Invitations
      const signup = yield* Signup
      const { serverName } = yield* Instance
      const homeserver = yield* HomeserverProcess
      /** A server that was just started brings its homeserver up in a few seconds. */
      const whenUp = Effect.timeoutOption(homeserver.ready, Duration.seconds(homeserverWithinSeconds))
      const makes = yield* Effect.transposeMapOption(accounts, (service) =>
        PersonAccount.make({ data, accounts: service }))
      const account = (localpart: string, password: Option.Option<Redacted.Redacted>) =>
        Option.match(makes, {
          onNone: () =>
            Effect.succeed({ account: "elsewhere" as const, passwordFile: null }),
          onSome: ({ ensure }) => Effect.zipRight(whenUp, ensure(localpart, password))
        })

      return handlers
        .handle("people", () => Effect.catchTag(people.list(by), "StoreFailed", storeBusy))
        .handle("addPerson", ({ payload }) =>
          Effect.gen(function*() {
            const userId = yield* Schema.decode(UserId)(`@${payload.name}:${serverName}`)
            const made = yield* account(payload.name, Option.fromNullable(payload.password))
            const person = yield* Effect.provideService(makeKnown(userId, payload.role), People, people)
            const added: AddedPerson = { person, ...made }
            return added
          }).pipe(
            Effect.catchTags({
              ...down,
              StoreFailed: storeBusy,
              AccountNameInvalid: refused,
              FileFailed: refused,
              PasswordFileDamaged: refused,
              NotFound: refused,
              AlreadySettled: refused,
              PersonDeactivated: refused,
              LastAdministrator: refused,
              ParseError: () => refused({ message: `"${payload.name}" cannot be a name on this homeserver` })
            })
          ))
        .handle("setRole", ({ path, payload }) =>
          Effect.catchTag(people.setRole(by, path.userId, payload.role), "StoreFailed", storeBusy))
        .handle("deactivate", ({ path }) =>
          Effect.catchTag(people.deactivate(by, path.userId), "StoreFailed", storeBusy))
        .handle(
          "reactivate",
          ({ path }) =>
            Effect.catchTag(people.reactivate(by, path.userId), "StoreFailed", storeBusy)
        )
        .handle("invitations", () => Effect.catchTag(invitations.list(by), "StoreFailed", storeBusy))
        .handle(
          "invite",
          ({ payload }) => Effect.catchTags(invitations.make(by, payload), { ...down, StoreFailed: storeBusy })
        )
        .handle("signup", () => Effect.catchTag(signup.view(by), "StoreFailed", storeBusy))
        .handle("setSignup", ({ payload }) =>
          Effect.catchTags(signup.set(by, payload.policy), {
            HomeserverUnavailable: homeserverDown,
            StoreFailed: storeBusy
          }))
    }))
