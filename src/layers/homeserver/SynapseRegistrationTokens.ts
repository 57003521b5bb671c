// `RegistrationTokens` of a managed Synapse, by the registrar's account, and of a homeserver of your own, where crossfire
// has none.
import { Effect, Layer, Redacted, Schema } from "effect"
import { type MatrixError, MatrixRefused } from "../../services/Matrix.ts"
import { RegistrationTokens, TokensElsewhere } from "../../services/RegistrationTokens.ts"
import { hashOf } from "../crypto/Secret.ts"
import * as Registrar from "./Registrar.ts"
import * as TokenEndpoints from "./TokenEndpoints.ts"

const maxTokens = 10_000

const Token = Schema.Struct({
  token: Schema.Redacted(Schema.String),
  uses_allowed: Schema.NullOr(Schema.Number),
  completed: Schema.Number
})
const Tokens = Schema.Struct({ registration_tokens: Schema.Array(Token) })
const Anything = Schema.Struct({})

const refused = (errcode: string) => new MatrixRefused({ operation: "registration tokens", status: 400, errcode })

export const make = (config: Registrar.RegistrarConfig) =>
  Effect.gen(function*() {
    const registrar = yield* Registrar.make(config)
    const endpoints = yield* TokenEndpoints.make(config.baseUrl)

    /** A token that the homeserver does not know, or that is no administrator's any more, is replaced once. */
    const asked = <A, I>(request: TokenEndpoints.TokenRequest, schema: Schema.Schema<A, I>) =>
      Effect.gen(function*() {
        const token = yield* registrar.token(null)
        return yield* endpoints(token, request, schema).pipe(
          Effect.catchIf(
            (error) => error instanceof MatrixRefused && (error.status === 401 || error.status === 403),
            () => Effect.flatMap(registrar.token(token), (other) => endpoints(other, request, schema))
          )
        )
      }).pipe(
        Effect.catchTag("AddressRefused", (): Effect.Effect<never, MatrixError> =>
          Effect.fail(refused("M_INVALID_PARAM")))
      )

    const all = asked({ operation: "list registration tokens", method: "GET", name: null }, Tokens).pipe(
      Effect.map(({ registration_tokens }) =>
        registration_tokens.slice(0, maxTokens)
      )
    )

    return RegistrationTokens.of({
      make: (token, expiresAtMillis) =>
        Effect.asVoid(asked({
          operation: "make a registration token",
          method: "POST",
          name: "new",
          body: { token: Redacted.value(token), uses_allowed: 1, expiry_time: expiresAtMillis }
        }, Anything)),
      states: Effect.map(all, (tokens) =>
        tokens.map(({ completed, token, uses_allowed }) => ({
          tokenHash: hashOf(token),
          used: uses_allowed !== null && completed >= uses_allowed
        }))),
      remove: (tokenHash) =>
        Effect.gen(function*() {
          const found = (yield* all).find(({ token }) => hashOf(token) === tokenHash)
          if (found === undefined) return
          yield* asked({
            operation: "remove a registration token",
            method: "DELETE",
            name: Redacted.value(found.token)
          }, Anything).pipe(
            Effect.catchIf(
              (error) => error instanceof MatrixRefused && error.status === 404,
              () => Effect.void
            )
          )
        })
    })
  })

export const layer = (config: Registrar.RegistrarConfig): Layer.Layer<RegistrationTokens> =>
  Layer.scoped(RegistrationTokens, make(config))

const elsewhere = Effect.fail(new TokensElsewhere())

export const layerElsewhere: Layer.Layer<RegistrationTokens> = Layer.succeed(
  RegistrationTokens,
  RegistrationTokens.of({ make: () => elsewhere, states: elsewhere, remove: () => elsewhere })
)
