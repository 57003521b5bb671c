// The one endpoint of a managed homeserver that makes accounts by its shared secret. It reaches no other, and nothing here
// decides who gets an account.
import { Effect, Redacted, Schema } from "effect"
import { createHmac } from "node:crypto"
import * as HomeserverHttp from "../matrix/HomeserverHttp.ts"

export interface SharedSecretConfig {
  readonly baseUrl: string
  readonly registrationSharedSecret: Redacted.Redacted
}

export interface NewAccount {
  readonly localpart: string
  readonly password: Redacted.Redacted
  /** Of the homeserver. People never are. */
  readonly administrator: boolean
  /** Whether it signs in at once: then the answer holds its access token. */
  readonly signIn: boolean
}

const Nonce = Schema.Struct({ nonce: Schema.NonEmptyString })
const Made = Schema.Struct({
  user_id: Schema.String,
  access_token: Schema.optional(Schema.Redacted(Schema.NonEmptyString))
})
const writeBody = Schema.encodeSync(Schema.parseJson(Schema.Unknown))
const operation = "make an account"

export const make = ({ baseUrl, registrationSharedSecret }: SharedSecretConfig) =>
  Effect.map(HomeserverHttp.make, (http) => {
    const url = new URL(`${baseUrl}/_synapse/admin/v1/register`)
    const deadlineSeconds = HomeserverHttp.writeDeadlineSeconds
    const nonce = http.exchange({ operation, method: "GET", url, deadlineSeconds }).pipe(
      Effect.flatMap(HomeserverHttp.decodeAnswer(operation, Nonce))
    )

    return (account: NewAccount) =>
      Effect.gen(function*() {
        const given = yield* nonce
        const password = Redacted.value(account.password)
        const parts = [given.nonce, account.localpart, password, account.administrator ? "admin" : "notadmin"]
        const mac = createHmac("sha1", Redacted.value(registrationSharedSecret)).update(parts.join("\0")).digest("hex")
        const answer = yield* http.exchange({
          operation,
          method: "POST",
          url,
          headers: { "content-type": "application/json" },
          body: new TextEncoder().encode(writeBody({
            nonce: given.nonce,
            username: account.localpart,
            password,
            admin: account.administrator,
            mac,
            inhibit_login: !account.signIn
          })),
          deadlineSeconds
        })
        const made = yield* HomeserverHttp.decodeAnswer(operation, Made)(answer)
        return { userId: made.user_id, accessToken: made.access_token ?? null }
      })
  })
