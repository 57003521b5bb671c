// The contract of crossfire's own Unix socket: what the operator's command line asks of a server that runs. Whoever can open
// the socket holds the data folder, and acts as the operator. Declarations only.
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { Schema } from "effect"
import { PersonRole } from "../Actor.ts"
import { UserId } from "../Ids.ts"
import { maxInvitationMillis, minInvitationMillis, SignupPolicy } from "../Signup.ts"
import { LastAdministrator, TooMany } from "./AccessErrors.ts"
import { HomeserverDown, NotAllowed, NotFound, ServerBusy } from "./CrossfireErrors.ts"
import { InvitationView, NewInvitation, PersonView, SignupView } from "./People.ts"

/** Nothing was made. The reason says what to change. */
export class PersonRefused extends Schema.TaggedError<PersonRefused>()(
  "PersonRefused",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 422 })
) {
  override get message(): string {
    return this.reason
  }
}

export const AddedPerson = Schema.Struct({
  person: PersonView,
  /** `existing`: it keeps its password. `elsewhere`: accounts are made on your homeserver. */
  account: Schema.Literal("made", "existing", "elsewhere"),
  /** Where a made password stands, readable by the operator alone; never the password. */
  passwordFile: Schema.NullOr(Schema.String)
})
export type AddedPerson = typeof AddedPerson.Type

const onePerson = Schema.Struct({ userId: UserId })
const Nothing = Schema.Struct({})

const operator = HttpApiGroup.make("operator", { topLevel: true })
  .add(HttpApiEndpoint.get("people", "/v1/people").addSuccess(Schema.Array(PersonView)))
  .add(
    /** Twice is no harm: who is known stays so, and becomes an administrator where that is asked for. */
    HttpApiEndpoint.post("addPerson", "/v1/people")
      .setPayload(Schema.Struct({
        /** The local part of the user ID. */
        name: Schema.String.pipe(Schema.maxLength(200)),
        role: PersonRole,
        /** Null: one is made. It is passed to the homeserver and kept nowhere. */
        password: Schema.NullOr(Schema.Redacted(Schema.String.pipe(Schema.maxLength(500))))
      }))
      .addSuccess(AddedPerson).addError(PersonRefused).addError(HomeserverDown)
  )
  .add(
    HttpApiEndpoint.post("setRole", "/v1/people/:userId/role")
      .setPath(onePerson).setPayload(Schema.Struct({ role: PersonRole }))
      .addSuccess(PersonView).addError(NotFound).addError(LastAdministrator)
  )
  .add(
    HttpApiEndpoint.post("deactivate", "/v1/people/:userId/deactivate")
      .setPath(onePerson).setPayload(Nothing)
      .addSuccess(PersonView).addError(NotFound).addError(LastAdministrator)
  )
  .add(
    HttpApiEndpoint.post("reactivate", "/v1/people/:userId/reactivate")
      .setPath(onePerson).setPayload(Nothing)
      .addSuccess(PersonView).addError(NotFound)
  )
  .add(HttpApiEndpoint.get("invitations", "/v1/invitations").addSuccess(Schema.Array(InvitationView)))
  .add(
    HttpApiEndpoint.post("invite", "/v1/invitations")
      .setPayload(Schema.Struct({
        note: Schema.String.pipe(Schema.maxLength(200)),
        lastsMillis: Schema.Int.pipe(Schema.between(minInvitationMillis, maxInvitationMillis))
      }))
      .addSuccess(NewInvitation).addError(TooMany).addError(HomeserverDown)
  )
  .add(HttpApiEndpoint.get("signup", "/v1/signup").addSuccess(SignupView))
  .add(
    HttpApiEndpoint.post("setSignup", "/v1/signup")
      .setPayload(Schema.Struct({ policy: SignupPolicy }))
      .addSuccess(SignupView).addError(HomeserverDown)
  )
  .addError(NotAllowed).addError(ServerBusy)

export class OperatorApi extends HttpApi.make("operator-socket").add(operator) {}

export const maxOperatorBodyBytes = 16 * 1024
