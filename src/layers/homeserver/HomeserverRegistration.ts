// A homeserver of your own: the steps to tell it about crossfire, and the checks at start that each say what is missing
// where. It runs nothing and changes nothing on that homeserver but crossfire's own control user.
import { type Context, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { controlUser } from "../../domain/SystemUsers.ts"
import { HomeserverProcess } from "../../services/HomeserverProcess.ts"
import { controlName } from "../matrix/ControlRoom.ts"
import * as HomeserverHttp from "../matrix/HomeserverHttp.ts"
import { type HomeserverAccess, make as makeMasquerade } from "../matrix/Masquerade.ts"
import * as NamespacedUser from "../matrix/NamespacedUser.ts"
import type { Registration } from "./Registration.ts"

/** What is to be done on the homeserver's side, for its administrator. It shows no token. */
export const steps = (registrationPath: string, registration: Registration): string =>
  [
    `To connect the homeserver ${registration.serverName} with crossfire:`,
    "",
    `1. Copy ${registrationPath} to the homeserver's machine, readable by its user alone (it holds two secrets).`,
    "2. Name it in homeserver.yaml, with its path there:",
    "",
    "     app_service_config_files:",
    `       - ${registrationPath}`,
    "",
    "3. Rooms with encryption shut agents out. Advise people's clients against it, also in homeserver.yaml:",
    "",
    "     extra_well_known_client_content:",
    "       io.element.e2ee: { default: false, force_disable: true, secure_backup_required: false }",
    "",
    "4. Let it tell crossfire which accounts were deactivated: such a person's sessions end then by themselves.",
    "",
    "     experimental_features:",
    "       msc3720_enabled: true",
    "",
    `5. See that the homeserver's machine reaches crossfire at ${registration.url}`,
    "   (on another machine: by HTTPS, through your reverse proxy).",
    "6. Restart the homeserver: it reads registrations only at its start. Then start crossfire again.",
    ""
  ].join("\n")

/** The homeserver answers and does not know crossfire's token. */
export class RegistrationUnknown extends Schema.TaggedError<RegistrationUnknown>()("RegistrationUnknown", {
  baseUrl: Schema.String
}) {
  override get message(): string {
    return `The homeserver at ${this.baseUrl} does not know crossfire's token. Name the registration file in its homeserver.yaml (app_service_config_files) and restart it`
  }
}

export class ServerNameDiffers extends Schema.TaggedError<ServerNameDiffers>()("ServerNameDiffers", {
  baseUrl: Schema.String,
  wanted: Schema.String,
  found: Schema.String
}) {
  override get message(): string {
    return `The homeserver at ${this.baseUrl} is "${this.found}", and crossfire is configured for "${this.wanted}"`
  }
}

/** It knows crossfire, and with another namespace or without the device capability: an older registration, or too old a Synapse. */
export class RegistrationOutdated extends Schema.TaggedError<RegistrationOutdated>()("RegistrationOutdated", {
  baseUrl: Schema.String,
  errcode: Schema.String
}) {
  override get message(): string {
    return `The homeserver at ${this.baseUrl} refuses crossfire's own user (${this.errcode}). Give it the newest registration file and restart it; Synapse must be 1.121 or newer`
  }
}

/** The homeserver's pushes do not arrive: messages would be found by the sweep alone. */
export class PushUnreachable extends Schema.TaggedError<PushUnreachable>()("PushUnreachable", {
  url: Schema.String,
  reason: Schema.Literal("no-connection", "timeout", "refused", "no-url", "other-service")
}) {
  override get message(): string {
    const told = {
      "no-connection": `it cannot connect to ${this.url}`,
      timeout: `${this.url} does not answer it in time`,
      refused: `${this.url} answers it with an error: the tokens in its registration file differ from crossfire's`,
      "no-url": "its registration file has no url",
      "other-service": "its registration file has another id"
    }
    return `The homeserver does not reach crossfire: ${told[this.reason]}`
  }
}

const WhoAmI = Schema.Struct({ user_id: Schema.String })
const readErrcode = Schema.decodeUnknownOption(Schema.parseJson(Schema.Struct({ errcode: Schema.String })))
const pingReasons: Readonly<Record<string, PushUnreachable["reason"]>> = {
  M_CONNECTION_FAILED: "no-connection",
  M_CONNECTION_TIMEOUT: "timeout",
  M_BAD_STATUS: "refused",
  M_URL_NOT_SET: "no-url",
  M_FORBIDDEN: "other-service"
}

const whoAmI = ["_matrix", "client", "v3", "account", "whoami"]

/** Asks the homeserver to call crossfire. */
const checkPush = (http: HomeserverHttp.HomeserverHttp, access: HomeserverAccess, url: string) =>
  Effect.gen(function*() {
    const operation = "ping"
    const answer = yield* http.exchange({
      operation,
      method: "POST",
      url: new URL(`${access.baseUrl}/_matrix/client/v1/appservice/${encodeURIComponent(access.serviceId)}/ping`),
      headers: { authorization: `Bearer ${Redacted.value(access.asToken)}`, "content-type": "application/json" },
      body: new TextEncoder().encode("{}"),
      deadlineSeconds: HomeserverHttp.readDeadlineSeconds
    })
    const told = readErrcode(Buffer.from(answer.body).toString("utf8"))
    const reason = Option.isSome(told) ? pingReasons[told.value.errcode] : undefined
    if (reason !== undefined) return yield* new PushUnreachable({ url, reason })
    const failure = HomeserverHttp.failureOf(operation, answer)
    if (failure !== null) return yield* failure
  })

/**
 * Checks, in this order: it answers, it knows crossfire, it is the expected one, it lets crossfire act as its users, and
 * its pushes arrive (crossfire's listener must run by then).
 */
export const check = (access: HomeserverAccess, pushUrl: string) =>
  Effect.gen(function*() {
    const { baseUrl, serverName } = access
    const http = yield* HomeserverHttp.make
    const masquerade = makeMasquerade(http, access)
    const { user_id } = yield* Effect.catchTag(
      masquerade.getJson("check the registration", null, whoAmI, {}, WhoAmI),
      "MatrixRefused",
      () => Effect.fail(new RegistrationUnknown({ baseUrl }))
    )
    const found = user_id.slice(user_id.indexOf(":") + 1)
    if (found !== serverName) return yield* new ServerNameDiffers({ baseUrl, wanted: serverName, found })
    yield* Effect.catchTag(
      NamespacedUser.ensure(masquerade, controlUser(serverName), controlName),
      "MatrixRefused",
      ({ errcode }) => Effect.fail(new RegistrationOutdated({ baseUrl, errcode }))
    )
    yield* checkPush(http, access, pushUrl)
  }).pipe(Effect.scoped)

const pollSeconds = 1

/** The homeserver of your own as a service: whether it answers is asked whenever somebody waits for it. */
export const make = (access: HomeserverAccess) =>
  Effect.map(HomeserverHttp.make, (http): Context.Tag.Service<typeof HomeserverProcess> => ({
    baseUrl: access.baseUrl,
    serverName: access.serverName,
    ready: HomeserverHttp.answers(http, access.baseUrl).pipe(
      Effect.tap((ready) => ready ? Effect.void : Effect.sleep(Duration.seconds(pollSeconds))),
      Effect.repeat({ until: (ready) => ready }),
      Effect.asVoid
    ),
    pid: Effect.succeed(null),
    setRegistration: () => Effect.void
  }))

export const layer = (access: HomeserverAccess): Layer.Layer<HomeserverProcess> =>
  Layer.scoped(HomeserverProcess, make(access))
