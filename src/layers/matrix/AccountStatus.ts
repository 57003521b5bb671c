// How an account of this homeserver stands: asked of the account-status endpoint, which any user may ask. Where the
// homeserver has none, the profile tells less.
import { Effect, Schema } from "effect"
import { Method } from "matrix-js-sdk/lib/http-api/method.js"
import type { UserId } from "../../domain/Ids.ts"
import { serverOf } from "../../domain/SystemUsers.ts"
import { type AccountState, HomeserverUnavailable, type MatrixError } from "../../services/Matrix.ts"
import type { Masquerade } from "./Masquerade.ts"

const operation = "look at an account"

const Statuses = Schema.Struct({
  account_statuses: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({ exists: Schema.Boolean, deactivated: Schema.optional(Schema.Boolean) })
  })
})
const decodeStatuses = Schema.decodeUnknown(Statuses)

export const make = (
  masquerade: Masquerade,
  as: UserId
): (user: UserId) => Effect.Effect<AccountState, MatrixError> => {
  let warned = false
  const warnOnce = Effect.suspend(() => {
    if (warned) return Effect.void
    warned = true
    return Effect.logWarning(
      "the homeserver does not tell deactivated accounts from others: set experimental_features.msc3720_enabled there"
    )
  })

  /** A deactivated account keeps its profile unless it was erased; one that never had a name has this and no other part. */
  const byProfile = (user: UserId) =>
    masquerade.getJson(
      operation,
      as,
      ["_matrix", "client", "v3", "profile", user, "displayname"],
      {},
      Schema.Unknown
    ).pipe(
      Effect.as<AccountState>("stands"),
      Effect.catchIf(
        (error) => error._tag === "MatrixRefused" && error.status === 404,
        () => Effect.succeed<AccountState>("unknown")
      )
    )

  return (user) =>
    // The endpoint asks other servers about their users, which is nobody's wish here.
    serverOf(user) !== masquerade.access.serverName
      ? Effect.succeed("unknown")
      : masquerade.withClient(operation, as, (sdk) =>
        sdk.http.authedRequest(Method.Post, "/org.matrix.msc3720/account_status", undefined, { user_ids: [user] }, {
          prefix: "/_matrix/client/unstable",
          priority: undefined
        })).pipe(
          Effect.flatMap((answer) =>
            Effect.mapError(decodeStatuses(answer), () =>
              new HomeserverUnavailable({ operation, status: 200 }))
          ),
          Effect.map(({ account_statuses }): AccountState => {
            const status = account_statuses[user]
            if (status === undefined || !status.exists) {
              return "unknown"
            }
            return status.deactivated === true ? "deactivated" : "stands"
          }),
          Effect.catchIf(
            (error) =>
              error._tag === "MatrixRefused" && error.errcode === "M_UNRECOGNIZED",
            () =>
              Effect.zipRight(warnOnce, byProfile(user))
          )
        )
}
