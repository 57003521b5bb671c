// `crossfire invite` and `crossfire signup`: how people come in, asked of the server that runs in the data folder.
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { DateTime, Effect, Option, Schema } from "effect"
import { NewInvitation, SignupView } from "../../domain/api/People.ts"
import { maxInvitationMillis, SignupPolicy, usualInvitationMillis } from "../../domain/Signup.ts"
import { answer, jsonOption } from "../CommandLine.ts"
import { dataOption, exitCodeOf } from "./CommandOptions.ts"
import * as Installation from "./Installation.ts"
import * as OperatorClient from "./OperatorClient.ts"

const dayMillis = 24 * 60 * 60 * 1000
const maxDays = maxInvitationMillis / dayMillis

const encodeInvitation = Schema.encodeSync(NewInvitation)
const encodeSignup = Schema.encodeSync(SignupView)

const invitationText = (made: NewInvitation): string =>
  [
    `Token, shown this once: ${made.token}`,
    "",
    `Good for one account, until ${
      DateTime.formatIso(DateTime.unsafeMake(made.invitation.expiresAtMillis))
    }. To whoever it is for:`,
    `1. Open ${made.elementUrl}/#/register`,
    `2. Choose the homeserver ${made.homeserverUrl}`,
    "3. Choose a name and a password, and enter the token when it is asked for"
  ].join("\n")

export const inviteCommand = Command.make(
  "invite",
  {
    data: dataOption,
    json: jsonOption,
    note: Options.text("note").pipe(
      Options.withSchema(Schema.String.pipe(Schema.maxLength(200))),
      Options.withDescription("Who it is for, for yourself"),
      Options.withDefault("")
    ),
    days: Options.integer("days").pipe(
      Options.withSchema(Schema.Int.pipe(Schema.between(1, maxDays))),
      Options.withDescription(`How long it is good, 1 to ${maxDays}`),
      Options.withDefault(usualInvitationMillis / dayMillis)
    )
  },
  ({ data, days, json, note }) =>
    answer(
      "crossfire",
      json,
      exitCodeOf,
      Effect.gen(function*() {
        const installation = yield* Installation.read(data)
        const made = yield* OperatorClient.call(installation.data, (client) =>
          client.invite({ payload: { note, lastsMillis: days * dayMillis } }))
        return { json: encodeInvitation(made), text: invitationText(made) }
      })
    )
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
    policy: Args.text({ name: "policy" }).pipe(
      Args.withSchema(SignupPolicy),
      Args.withDescription("invite, members or open; where it is left out, the present one is shown"),
      Args.optional
    )
  },
  ({ data, json, policy }) =>
    answer(
      "crossfire",
      json,
      exitCodeOf,
      Effect.gen(function*() {
        const installation = yield* Installation.read(data)
        const view = yield* OperatorClient.call(installation.data, (client) =>
          Option.isNone(policy) ? client.signup({}) : client.setSignup({ payload: { policy: policy.value } }))
        return { json: encodeSignup(view), text: signupText(view) }
      })
    )
).pipe(Command.withDescription("Show who may sign up, or change it; a managed homeserver is started anew with it"))
