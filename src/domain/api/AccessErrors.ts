// The errors of the doors themselves: which address, which origin, how much, how fast. They come before any handler.
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { Schema } from "effect"

/** The request names an address that is not this server's, or not one for this kind of request. */
export class HostUnknown extends Schema.TaggedError<HostUnknown>()(
  "HostUnknown",
  { open: Schema.String },
  HttpApiSchema.annotations({ status: 421 })
) {
  override get message(): string {
    return `Nothing is served under this address. The web pages are at ${this.open}`
  }
}

/** A browser sent it from a page that is not crossfire's own, or without the proof that it is. Nothing was done. */
export class OriginRefused extends Schema.TaggedError<OriginRefused>()(
  "OriginRefused",
  { problem: Schema.Literal("another-origin", "no-origin", "no-proof", "from-a-browser") },
  HttpApiSchema.annotations({ status: 403 })
) {
  override get message(): string {
    const told = {
      "another-origin": "The request came from a page that is not crossfire's",
      "no-origin": "The request does not say which page it came from",
      "no-proof": "The request lacks the secret of this session; load the page again",
      "from-a-browser": "This address is for programs, and the request came from a browser"
    }
    return told[this.problem]
  }
}

export class MediaTypeRefused extends Schema.TaggedError<MediaTypeRefused>()(
  "MediaTypeRefused",
  {},
  HttpApiSchema.annotations({ status: 415 })
) {
  override get message(): string {
    return "A request that changes something carries JSON, with the header content-type: application/json"
  }
}

export class BodyTooLarge extends Schema.TaggedError<BodyTooLarge>()(
  "BodyTooLarge",
  { maxBytes: Schema.Int },
  HttpApiSchema.annotations({ status: 413 })
) {
  override get message(): string {
    return `The request's body is too large: at most ${this.maxBytes} bytes are taken here`
  }
}

/** The answer was not ready in time. What was asked may have been done: ask for the state before asking again. */
export class AnswerTooSlow extends Schema.TaggedError<AnswerTooSlow>()(
  "AnswerTooSlow",
  { withinMillis: Schema.Int },
  HttpApiSchema.annotations({ status: 503 })
) {
  override get message(): string {
    return `There was no answer within ${Math.ceil(this.withinMillis / 1000)} s. Look at the state before asking again`
  }
}

/** The address exists, and this is not how it is asked. */
export class MethodRefused extends Schema.TaggedError<MethodRefused>()(
  "MethodRefused",
  { allowed: Schema.Array(Schema.String) },
  HttpApiSchema.annotations({ status: 405 })
) {
  override get message(): string {
    return `This address takes ${this.allowed.join(", ")}`
  }
}

/** What any request can be answered with before its route is reached. */
export type DoorError = HostUnknown | OriginRefused | MediaTypeRefused | BodyTooLarge | AnswerTooSlow | MethodRefused

/** The link begins no session here. Why is told only where it helps the one who holds a good link. */
export class SignInRefused extends Schema.TaggedError<SignInRefused>()(
  "SignInRefused",
  { problem: Schema.Literal("another-browser", "over") },
  HttpApiSchema.annotations({ status: 403 })
) {
  override get message(): string {
    return this.problem === "another-browser"
      ? "This link is good only in the browser that asked for it. Open it there, or ask for a link here"
      : "This link was used already, or its 5 minutes are over. Ask for another one"
  }
}

/** Somebody has to administer the instance. */
export class LastAdministrator extends Schema.TaggedError<LastAdministrator>()(
  "LastAdministrator",
  {},
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return "This is the only administrator: make another one first"
  }
}

/** A name that is taken, or could be taken for one that is. Nothing was changed. */
export class NameTaken extends Schema.TaggedError<NameTaken>()(
  "NameTaken",
  { name: Schema.String, like: Schema.String },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return this.name === this.like
      ? `The name "${this.name}" is taken in this instance`
      : `The name "${this.name}" looks too much like "${this.like}", which is taken in this instance`
  }
}

/** The agent was retired: it keeps its identity, and nothing of it changes any more. */
export class AgentRetired extends Schema.TaggedError<AgentRetired>()(
  "AgentRetired",
  { name: Schema.String },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return `${this.name} is retired`
  }
}

/** A bound on how many there may be. */
export class TooMany extends Schema.TaggedError<TooMany>()(
  "TooMany",
  { what: Schema.String, max: Schema.Int },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return `There are ${this.max} ${this.what} already, which is the most there may be`
  }
}

/** What was asked for has happened, been decided or been withdrawn already; `state` says which. Nothing was changed. */
export class AlreadySettled extends Schema.TaggedError<AlreadySettled>()(
  "AlreadySettled",
  { what: Schema.String, state: Schema.String },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message(): string {
    return `The ${this.what} is ${this.state} already; nothing was changed`
  }
}

/** The code is not the one that `fleet enroll` shows for this request. */
export class CodeWrong extends Schema.TaggedError<CodeWrong>()(
  "CodeWrong",
  {},
  HttpApiSchema.annotations({ status: 403 })
) {
  override get message(): string {
    return "This is not the code that `fleet enroll` shows for this request. Confirm only what you started yourself"
  }
}
