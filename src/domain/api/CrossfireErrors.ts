// The errors of crossfire's HTTP contract: one tag a meaning, each with its status. Tags are stable; texts are not.
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { Schema } from "effect"

/** No credential, or one that is unknown, revoked or expired: always the same answer. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()(
  "Unauthorized",
  {},
  HttpApiSchema.annotations({ status: 401 })
) {
  override get message(): string {
    return "The credential was not accepted"
  }
}

/** A credential where it does not belong. It may stand in a log or a history by now, so it must be replaced. */
export class CredentialMisplaced extends Schema.TaggedError<CredentialMisplaced>()(
  "CredentialMisplaced",
  { problem: Schema.Literal("in-the-address", "cookie-and-bearer") },
  HttpApiSchema.annotations({ status: 400 })
) {
  override get message(): string {
    return this.problem === "in-the-address"
      ? "A credential was put into the address, where others can read it. Nothing was done: replace that credential (enroll again), and send the new one in the Authorization header"
      : "A request carries either a session cookie or a bearer credential, never both"
  }
}

/** Too many requests of this kind came from one address. The same request can be made again after the wait. */
export class TooManyAttempts extends Schema.TaggedError<TooManyAttempts>()(
  "TooManyAttempts",
  { retryAfterMillis: Schema.Int },
  HttpApiSchema.annotations({ status: 429 })
) {
  override get message(): string {
    return `Too many attempts; the next one is taken in ${Math.ceil(this.retryAfterMillis / 1000)} s`
  }
}

export class NotAllowed extends Schema.TaggedError<NotAllowed>()(
  "NotAllowed",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 403 })
) {
  override get message(): string {
    return this.reason
  }
}

export class NotFound extends Schema.TaggedError<NotFound>()(
  "NotFound",
  { what: Schema.String },
  HttpApiSchema.annotations({ status: 404 })
) {
  override get message(): string {
    return `There is no such ${this.what}`
  }
}

/** The write came under a lease that is no longer the fleet's: nothing was changed. */
export class StaleGeneration extends Schema.TaggedError<StaleGeneration>()(
  "StaleGeneration",
  { given: Schema.Int, current: Schema.Int },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return `Lease ${this.given} is over; lease ${this.current} is the fleet's`
  }
}

/** Another controller holds the lease and did not let go. */
export class LeaseHeld extends Schema.TaggedError<LeaseHeld>()(
  "LeaseHeld",
  { holder: Schema.String, remainingMillis: Schema.Int },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return `The fleet is run by ${this.holder}; its lease lasts ${
      Math.ceil(this.remainingMillis / 1000)
    } s more unless it is renewed`
  }
}

/** The roster cannot be enrolled; nothing was claimed. Each problem names the entry it is about. */
export class RosterRejected extends Schema.TaggedError<RosterRejected>()(
  "RosterRejected",
  {
    problems: Schema.Array(Schema.Struct({
      entry: Schema.String,
      reason: Schema.Literal(
        "name-taken",
        "name-twice",
        "key-twice",
        "agent-retired",
        "over-capacity",
        "unknown-owner",
        "too-large"
      ),
      detail: Schema.String
    }))
  },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return [
      "The roster was not accepted, and nothing was claimed:",
      ...this.problems.map((problem) => `  ${problem.entry}: ${problem.detail}`),
      "Change the roster, then run the same command again"
    ].join("\n")
  }
}

/** The enrollment is not in the state that this step needs. */
export class EnrollmentNotReady extends Schema.TaggedError<EnrollmentNotReady>()(
  "EnrollmentNotReady",
  { state: Schema.Literal("pending", "approved", "introduced", "rejected", "expired", "unknown") },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return `The enrollment is ${this.state}`
  }
}

/** The homeserver gave no usable answer; the same request can be made again. */
export class HomeserverDown extends Schema.TaggedError<HomeserverDown>()(
  "HomeserverDown",
  { retryAfterMillis: Schema.Int },
  HttpApiSchema.annotations({ status: 503 })
) {
  override get message(): string {
    return "The homeserver cannot be reached just now"
  }
}

/** crossfire's own database refused (full disk, for example), or too much waits already: nothing was changed. */
export class ServerBusy extends Schema.TaggedError<ServerBusy>()(
  "ServerBusy",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 503 })
) {
  override get message(): string {
    return this.reason
  }
}

/** A page of the room cannot be taken (over the bound, malformed, not advancing). Other rooms are not concerned. */
export class PageUnusable extends Schema.TaggedError<PageUnusable>()(
  "PageUnusable",
  {
    reason: Schema.Literal("too-large", "malformed", "not-advancing"),
    /** The event that it fails by, where its ID could be read. */
    eventId: Schema.optionalWith(Schema.NullOr(Schema.String.pipe(Schema.maxLength(255))), { default: () => null })
  },
  HttpApiSchema.annotations({ status: 422 })
) {
  override get message(): string {
    return `The page cannot be used: ${this.reason}${this.eventId === null ? "" : ` (event ${this.eventId})`}`
  }
}

export class MessageRefused extends Schema.TaggedError<MessageRefused>()(
  "MessageRefused",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 422 })
) {
  override get message(): string {
    return this.reason
  }
}
