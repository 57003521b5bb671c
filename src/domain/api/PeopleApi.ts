// The contract's part for browsers, as one API: the web pages' client is derived from it, and crossfire's whole contract
// takes it in.
import * as HttpApi from "@effect/platform/HttpApi"
import { AnswerTooSlow, BodyTooLarge, HostUnknown, MediaTypeRefused, OriginRefused } from "./AccessErrors.ts"
import { CredentialMisplaced, TooManyAttempts } from "./CrossfireErrors.ts"
import { fleets, requests } from "./Management.ts"
import { invitations, people, session, signIn, signup } from "./People.ts"

export class PeopleApi extends HttpApi.make("people")
  .add(signIn)
  .add(session)
  .add(people)
  .add(invitations)
  .add(signup)
  .add(fleets)
  .add(requests)
  .addError(CredentialMisplaced)
  .addError(HostUnknown)
  .addError(OriginRefused)
  .addError(MediaTypeRefused)
  .addError(BodyTooLarge)
  .addError(TooManyAttempts)
  .addError(AnswerTooSlow)
{}
