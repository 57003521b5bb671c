// `crossfire invite` and `crossfire signup`: how people come in, asked of the server that runs in the data folder.
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { DateTime, Effect, Option, Schema } from "effect"
import { NewInvitation, SignupView } from "../../domain/api/People.ts"
import { maxInvitationMillis, SignupPolicy, usualInvitationMillis } from "../../domain/Signup.ts"
import { publicOrigin } from "../../layers/crossfire/ServerSettings.ts"
import { jsonOption, valueArgument, valueOption, wholeNumber } from "../CommandLine.ts"
import { answerOn, dataOption } from "./CommandOptions.ts"
import * as OperatorClient from "./OperatorClient.ts"

const dayMillis = 24 * 60 * 60 * 1000
const maxDays = maxInvitationMillis / dayMillis
const maxNoteLength = 200

const encodeInvitation = Schema.encodeSync(NewInvitation)
const encodeSignup = Schema.encodeSync(SignupView)

const onThisMachine: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"])

/** What stands in the way of whoever gets these addresses. */
const addressRemarks = (homeserverUrl: string, webUrl: string, elementUrl: string): ReadonlyArray<string> => {
  const local = [homeserverUrl, webUrl].filter((url) => onThisMachine.has(URL.parse(url)?.hostname ?? ""))
  return [
    ...local.length === 0 ? [] : [
      `${
        local.join(" and ")
      } can be opened on this machine alone. For people elsewhere, set homeserver.public_url and ` +
      "http.public_url in crossfire.toml"
    ],
    ...homeserverUrl.startsWith("http:") && elementUrl.startsWith("https:")
      ? [
        "A browser that loaded Element over https may refuse a plain http homeserver: use Element Desktop, or a web " +
        "build that you serve yourself"
      ]
      : []
  ]
}

const invitationText = (made: NewInvitation, webUrl: string, policy: SignupPolicy): string =>
  [
    ...policy === "open"
      ? ["Anybody can sign up without a token now (crossfire signup: open). This one is good all the same.", ""]
      : [],
    `Token, shown this once: ${made.token}`,
    "",
    `Good for one account, until ${
      DateTime.formatIso(DateTime.unsafeMake(made.invitation.expiresAtMillis))
    }. To whoever it is for:`,
    `1. Open ${made.elementUrl}/#/register`,
    `2. Choose the homeserver ${made.homeserverUrl}`,
    "3. Choose a name and a password, and enter the token when it is asked for",
    `4. Sign in at ${webUrl} with the new Matrix ID: before that one can own no agent`,
    ...addressRemarks(made.homeserverUrl, webUrl, made.elementUrl).flatMap((remark) => ["", `${remark}.`])
  ].join("\n")

export const inviteCommand = Command.make(
  "invite",
  {
    data: dataOption,
    json: jsonOption,
    note: valueOption("note", {
      schema: Schema.String.pipe(Schema.maxLength(maxNoteLength)),
      takes: `at most ${maxNoteLength} characters`
    }).pipe(
      Options.withDescription("Who it is for, for yourself"),
      Options.withDefault("")
    ),
    days: valueOption("days", wholeNumber(1, maxDays)).pipe(
      Options.withDescription(`How long it is good, 1 to ${maxDays}`),
      Options.withDefault(usualInvitationMillis / dayMillis)
    )
  },
  ({ data, days, json, note }) =>
    answerOn({ data, json }, (installation) =>
      Effect.gen(function*() {
        const made = yield* OperatorClient.call(
          installation.data,
          (client) => client.invite({ payload: { note, lastsMillis: days * dayMillis } })
        )
        const { policy } = yield* OperatorClient.call(installation.data, (client) => client.signup({}))
        const webUrl = publicOrigin(installation.settings)
        return { json: { ...encodeInvitation(made), webUrl, policy }, text: invitationText(made, webUrl, policy) }
      }))
).pipe(Command.withDescription("Make a token with which one person can sign up on the managed homeserver"))

const policyText: Readonly<Record<SignupPolicy, string>> = {
  invite: "Whom an administrator invites can sign up (invite).",
  members: "Whom any member invites can sign up (members).",
  open: "Anybody who reaches the homeserver can sign up (open)."
}

const signupText = (view: SignupView): string =>
  [policyText[view.policy], ...view.steps === null ? [] : ["", view.steps]].join("\n")

export const signupCommand = Command.make(
  "signup",
  {
    data: dataOption,
    json: jsonOption,
    policy: valueArgument("policy", { schema: SignupPolicy, takes: "invite, members or open" }).pipe(
      Args.withDescription("invite, members or open; where it is left out, the present one is shown"),
      Args.optional
    )
  },
  ({ data, json, policy }) =>
    answerOn({ data, json }, (installation) =>
      Effect.gen(function*() {
        const view = yield* OperatorClient.call(
          installation.data,
          (client) =>
            Option.isNone(policy) ? client.signup({}) : client.setSignup({ payload: { policy: policy.value } })
        )
        return { json: encodeSignup(view), text: signupText(view) }
      }))
).pipe(Command.withDescription("Show who may sign up, or change it; a managed homeserver is started anew with it"))
