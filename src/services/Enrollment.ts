// Enrollment on the server: a request by claim, its review and verdict, and the introduction that makes the identities.
// Who may call is decided here by claim or by verified sender; how requests and messages arrive is the callers' matter.
import { Context, type Effect } from "effect"
import type { Actor } from "../domain/Actor.ts"
import type { AlreadySettled, CodeWrong } from "../domain/api/AccessErrors.ts"
import type { ClaimSecret, EnrollmentView, Introduction, SecretHash } from "../domain/api/Crossfire.ts"
import type {
  EnrollmentNotReady,
  NotAllowed,
  NotFound,
  RosterRejected,
  TooManyAttempts
} from "../domain/api/CrossfireErrors.ts"
import type { RequestDetail, RequestView } from "../domain/api/Management.ts"
import type { EnrollmentState, VerdictOutcome } from "../domain/Enrollment.ts"
import type { EnrollmentCode } from "../domain/EnrollmentCode.ts"
import type { EnrollmentId, RoomId, UserId } from "../domain/Ids.ts"
import type { InstanceKey, Roster } from "../domain/Roster.ts"
import type { RosterReview } from "../domain/RosterReview.ts"
import type { StoreFailed } from "./Database.ts"
import type { MatrixError } from "./Matrix.ts"

export interface IntroductionRequest {
  readonly claim: ClaimSecret
  readonly fleetToken: SecretHash
  readonly agentTokens: ReadonlyArray<{ readonly key: InstanceKey; readonly token: SecretHash }>
}

export type ReviewOutcome =
  /** Answered like a code that does not exist. */
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Review"; readonly review: RosterReview }
  /** There is nothing to review any more. */
  | { readonly _tag: "Stands"; readonly state: EnrollmentState }

/** A request that waits, as administrators see it. */
export interface OpenEnrollment {
  readonly code: EnrollmentCode
  readonly owner: UserId
  readonly fleetKey: string
  readonly names: ReadonlyArray<string>
  readonly state: "pending" | "approved"
  readonly createdAtMillis: number
}

export class Enrollment extends Context.Tag("crossfire/services/Enrollment")<
  Enrollment,
  {
    /** Whether the roster could be taken now. Reserves nothing. */
    readonly preflight: (roster: Roster) => Effect.Effect<void, RosterRejected | StoreFailed>
    /** Files the request. The same claim with the same roster gives the same enrollment; another roster is refused. */
    readonly submit: (
      claim: ClaimSecret,
      roster: Roster
    ) => Effect.Effect<EnrollmentView, RosterRejected | NotAllowed | StoreFailed>
    readonly state: (claim: ClaimSecret) => Effect.Effect<EnrollmentView, NotFound | StoreFailed>
    /**
     * Takes the approved roster whole or not at all: identities and credentials in one transaction, then the agents'
     * Matrix users. After a failure at any point the same request goes on and gives the same result. A rejected roster
     * leaves the enrollment approved: it can be tried again until it expires, or replaced by a new claim.
     */
    readonly introduce: (
      request: IntroductionRequest
    ) => Effect.Effect<
      Introduction,
      RosterRejected | EnrollmentNotReady | NotFound | NotAllowed | StoreFailed | MatrixError
    >
    /**
     * What the owner is to read, and the record that it was shown in this room; unknown to anybody but the owner. Joins a
     * running transaction, as do the three below.
     */
    readonly review: (
      code: EnrollmentCode,
      reader: UserId,
      roomId: RoomId
    ) => Effect.Effect<ReviewOutcome, StoreFailed>
    /** Confirms or rejects in the name of a verified sender, as the rules of `Enrollment` in the domain say. */
    readonly decide: (verdict: "confirm" | "reject", by: UserId, code: EnrollmentCode, roomId: RoomId) => Effect.Effect<
      VerdictOutcome,
      StoreFailed
    >
    /** Requests that wait, oldest first, at most 200: one's own, for administrators all. */
    readonly requests: (by: Actor) => Effect.Effect<ReadonlyArray<RequestView>, StoreFailed>
    /** Whatever became of it. Unknown to whoever is neither its owner nor an administrator. Reads only. */
    readonly request: (by: Actor, enrollmentId: EnrollmentId) => Effect.Effect<RequestDetail, NotFound | StoreFailed>
    /**
     * By the owner alone, with the code that `fleet enroll` shows: it ties the approval to what the owner started. Codes
     * that are wrong are counted by person, over all requests.
     */
    readonly approve: (
      by: Actor,
      enrollmentId: EnrollmentId,
      code: string
    ) => Effect.Effect<
      RequestView,
      NotFound | NotAllowed | CodeWrong | AlreadySettled | TooManyAttempts | StoreFailed
    >
    /** By the owner or an administrator. */
    readonly reject: (
      by: Actor,
      enrollmentId: EnrollmentId
    ) => Effect.Effect<RequestView, NotFound | AlreadySettled | StoreFailed>
    /** Rejects every open request in this person's own name; the number of them. */
    readonly rejectAll: (owner: UserId) => Effect.Effect<number, StoreFailed>
    /** Open requests, oldest first: all for an administrator, one's own for anybody else. */
    readonly open: (reader: UserId) => Effect.Effect<ReadonlyArray<OpenEnrollment>, StoreFailed>
  }
>() {}
