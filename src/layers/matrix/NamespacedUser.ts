// Makes a user of crossfire's namespace with its one device and display name. Idempotent, and quiet when nothing changes.
import { Effect, Schema } from "effect"
import { Method } from "matrix-js-sdk/lib/http-api/method.js"
import type { UserId } from "../../domain/Ids.ts"
import { type MatrixError, MatrixRefused } from "../../services/Matrix.ts"
import { deviceId, type Masquerade, pathOf } from "./Masquerade.ts"

const Profile = Schema.Struct({ displayname: Schema.optionalWith(Schema.String, { nullable: true }) })
const operation = "make a user"

const client = ["_matrix", "client", "v3"]

const register = (masquerade: Masquerade, user: UserId): Effect.Effect<void, MatrixError> =>
  Effect.gen(function*() {
    // The SDK's own registration call sends no token.
    yield* masquerade.withClient(operation, null, (sdk) =>
      sdk.http.authedRequest(Method.Post, "/register", {}, {
        type: "m.login.application_service",
        username: user.slice(1, user.indexOf(":")),
        inhibit_login: true
      })).pipe(
        Effect.catchIf(
          (error) => error._tag === "MatrixRefused" && error.errcode === "M_USER_IN_USE",
          () => Effect.void
        )
      )
    yield* masquerade.withClient(operation, null, (sdk) =>
      sdk.http.authedRequest(Method.Put, pathOf(["devices", deviceId]) ?? "", { user_id: user }, {
        display_name: "crossfire"
      }))
  })

export const ensure = (
  masquerade: Masquerade,
  user: UserId,
  displayName: string
): Effect.Effect<void, MatrixError> =>
  Effect.gen(function*() {
    if (!masquerade.owns(user)) return yield* new MatrixRefused({ operation, status: 403, errcode: "M_EXCLUSIVE" })
    const known = yield* masquerade.getJson(operation, user, [...client, "account", "whoami"], {}, Schema.Unknown).pipe(
      Effect.as(true),
      Effect.catchTag("MatrixRefused", () => Effect.succeed(false))
    )
    if (!known) yield* register(masquerade, user)
    // Setting the same name again would still rewrite the membership in every room.
    const wanted = displayName.toWellFormed()
    const profile = yield* masquerade.getJson(operation, user, [...client, "profile", user], {}, Profile).pipe(
      Effect.catchIf((error) => error._tag === "MatrixRefused" && error.status === 404, () => Effect.succeed(null))
    )
    if (profile?.displayname === wanted) return
    yield* masquerade.withClient(operation, user, (sdk) => sdk.setDisplayName(wanted))
  })
