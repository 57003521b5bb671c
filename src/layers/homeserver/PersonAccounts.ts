// Makes accounts on the managed homeserver with its shared secret. It can reach this one endpoint and no other, and holds
// no administrator's token.
import { Effect, Layer, Redacted, Schema } from "effect"
import { createHmac } from "node:crypto"
import { MatrixRefused } from "../../services/Matrix.ts"
import { AccountExists, AccountNameInvalid, PersonAccounts } from "../../services/PersonAccounts.ts"
import * as HomeserverHttp from "../matrix/HomeserverHttp.ts"

export interface PersonAccountsConfig {
  readonly baseUrl: string
  readonly registrationSharedSecret: Redacted.Redacted
}

const Nonce = Schema.Struct({ nonce: Schema.NonEmptyString })
const Made = Schema.Struct({ user_id: Schema.String })
const writeBody = Schema.encodeSync(Schema.parseJson(Schema.Unknown))
const operation = "make an account"

export const make = (config: PersonAccountsConfig) =>
  Effect.map(HomeserverHttp.make, (http) => {
    const url = new URL(`${config.baseUrl}/_synapse/admin/v1/register`)
    const deadlineSeconds = HomeserverHttp.writeDeadlineSeconds

    const nonce = http.exchange({ operation, method: "GET", url, deadlineSeconds }).pipe(
      Effect.flatMap(HomeserverHttp.decodeAnswer(operation, Nonce))
    )
    const mac = (parts: ReadonlyArray<string>) =>
      createHmac("sha1", Redacted.value(config.registrationSharedSecret)).update(parts.join("\0")).digest("hex")

    const create = (localpart: string, password: Redacted.Redacted) =>
      Effect.gen(function*() {
        // The homeserver would lower the case of a name by itself and make another account than was asked for.
        if (!/^[a-z0-9._=/+-]{1,200}$/u.test(localpart)) {
          return yield* new AccountNameInvalid({ localpart, reason: "characters" })
        }
        const given = yield* nonce
        const parts = [given.nonce, localpart, Redacted.value(password), "notadmin"]
        const [, username, secret] = parts
        const body = writeBody({
          nonce: given.nonce,
          username,
          password: secret,
          admin: false,
          mac: mac(parts),
          inhibit_login: true
        })
        const answer = yield* http.exchange({
          operation,
          method: "POST",
          url,
          headers: { "content-type": "application/json" },
          body: new TextEncoder().encode(body),
          deadlineSeconds
        })
        yield* HomeserverHttp.decodeAnswer(operation, Made)(answer)
      }).pipe(
        Effect.catchIf((error) => error instanceof MatrixRefused, (refused) => {
          const told: Record<string, AccountExists | AccountNameInvalid> = {
            M_USER_IN_USE: new AccountExists({ localpart }),
            M_EXCLUSIVE: new AccountNameInvalid({ localpart, reason: "reserved" }),
            M_INVALID_USERNAME: new AccountNameInvalid({ localpart, reason: "characters" })
          }
          return Effect.fail(told[refused.errcode] ?? refused)
        })
      )
    return { create }
  })

export const layer = (config: PersonAccountsConfig): Layer.Layer<PersonAccounts> =>
  Layer.scoped(PersonAccounts, make(config))
