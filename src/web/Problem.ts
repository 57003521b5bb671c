// What a failed request means for whoever asked: the contract's own words, or what kept its answer from coming.
import type * as Result from "@effect-atom/atom/Result"
import { Cause, Option, Predicate, Schema } from "effect"
import { Unauthorized } from "../domain/api/CrossfireErrors.ts"

export const endsSession = Schema.is(Unauthorized)

/** Null while nothing stands against it; an answer that was given up is no problem. */
export const problemOf = <A, E>(result: Result.Result<A, E>): unknown =>
  result._tag === "Failure" && !Cause.isInterruptedOnly(result.cause) ? Cause.squash(result.cause) : null

const Lost = Schema.TaggedStruct("RequestError", {})
const Odd = Schema.TaggedStruct("ResponseError", {
  response: Schema.Struct({ status: Schema.Int })
})
const Unread = Schema.TaggedStruct("ParseError", {})

const lost = Schema.is(Lost)
const odd = Schema.decodeUnknownOption(Odd)
const unread = Schema.is(Unread)
const told = (problem: unknown): problem is { readonly _tag: string; readonly message: string } =>
  Predicate.hasProperty(problem, "_tag") && Predicate.isString(problem._tag) &&
  Predicate.hasProperty(problem, "message") &&
  Predicate.isString(problem.message)

/** Names of errors after which the same request may well succeed. */
const passing = new Set(["HomeserverDown", "ServerBusy", "TooManyAttempts", "AnswerTooSlow", "RequestError"])

export interface ProblemText {
  readonly text: string
  readonly mayPass: boolean
}

export const problemText = (problem: unknown): ProblemText => {
  if (lost(problem)) {
    return {
      text:
        "crossfire cannot be reached. Whether your change was made is not known: look at the page again when it is back",
      mayPass: true
    }
  }
  const answer = odd(problem)
  if (Option.isSome(answer)) {
    return { text: `crossfire answered with status ${answer.value.response.status}, without a reason`, mayPass: true }
  }
  if (unread(problem)) {
    return {
      text: "crossfire answered in a form that this page does not know. It may have been upgraded: load the page again",
      mayPass: false
    }
  }
  if (told(problem)) return { text: problem.message, mayPass: passing.has(problem._tag) }
  return { text: "This page met a fault of its own: load it again", mayPass: false }
}
