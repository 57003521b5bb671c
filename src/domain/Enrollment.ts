// The life of one enrollment request, and who may move it. Pure: the store loads and keeps, these decide.
import { Schema } from "effect"

/** What the store keeps. That time has run out is never stored: it follows from the clock. */
export const StoredState = Schema.Literal("pending", "approved", "introduced", "rejected")
export type StoredState = typeof StoredState.Type

export type EnrollmentState = StoredState | "expired"

/** How long a request waits for approval and introduction together. */
export const enrollmentLifeMillis = 7 * 24 * 60 * 60 * 1000

export const stateAt = (stored: StoredState, expiresAtMillis: number, nowMillis: number): EnrollmentState =>
  (stored === "pending" || stored === "approved") && nowMillis >= expiresAtMillis ? "expired" : stored

/** How the one who speaks stands to the request. */
export interface Standing {
  /** Exactly the request's owner, by the full Matrix ID that the homeserver verified. */
  readonly owner: boolean
  readonly administrator: boolean
}

export type VerdictOutcome =
  /** Answered like a code that does not exist. */
  | { readonly _tag: "Unknown" }
  /** The owner's word is not tied to this very request yet. */
  | { readonly _tag: "Untied" }
  | { readonly _tag: "Approve" }
  | { readonly _tag: "Reject" }
  /** Nothing changes any more. */
  | { readonly _tag: "Stands"; readonly state: EnrollmentState }

/**
 * An administrator can reject another owner's request; approving is the owner's alone. `tied`: to approve takes what ties the
 * word to this very request, which anybody may have filed. In a chat the roster was shown there before; on a page the code
 * was told with it, too.
 */
export const judge = (
  verdict: "confirm" | "reject",
  standing: Standing,
  state: EnrollmentState,
  tied: boolean
): VerdictOutcome => {
  if (!standing.owner && !(verdict === "reject" && standing.administrator)) return { _tag: "Unknown" }
  if (verdict === "reject" && (state === "pending" || state === "approved")) return { _tag: "Reject" }
  if (verdict === "confirm" && state === "pending") return tied ? { _tag: "Approve" } : { _tag: "Untied" }
  return { _tag: "Stands", state }
}
