// An answer that the doors themselves give: one of the contract's tagged errors as JSON, with its status. What is refused is
// decided elsewhere.
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect, Schema } from "effect"
import {
  AnswerTooSlow,
  BodyTooLarge,
  HostUnknown,
  MediaTypeRefused,
  MethodRefused,
  OriginRefused
} from "../../../domain/api/AccessErrors.ts"
import {
  CredentialMisplaced,
  NotFound,
  ServerBusy,
  StaleGeneration,
  TooManyAttempts,
  Unauthorized
} from "../../../domain/api/CrossfireErrors.ts"

const errors = [
  AnswerTooSlow,
  BodyTooLarge,
  CredentialMisplaced,
  HostUnknown,
  MediaTypeRefused,
  MethodRefused,
  NotFound,
  OriginRefused,
  ServerBusy,
  StaleGeneration,
  TooManyAttempts,
  Unauthorized
] as const

const Refusal = Schema.Union(...errors)
export type Refusal = typeof Refusal.Type

const statusOf: ReadonlyMap<string, number> = new Map(
  errors.map((error) => [error._tag, HttpApiSchema.getStatusErrorAST(error.ast)])
)

const headersOf = (error: Refusal): Readonly<Record<string, string>> => {
  switch (error._tag) {
    case "TooManyAttempts":
      return { "retry-after": String(Math.ceil(error.retryAfterMillis / 1_000)) }
    case "MethodRefused":
      return { allow: error.allowed.join(", ") }
    case "Unauthorized":
      // Says nothing of a scheme: a browser would ask for a password.
      return {}
    default:
      return {}
  }
}

const respond = HttpServerResponse.schemaJson(Refusal)

export const refuse = (error: Refusal): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.orDie(respond(error, { status: statusOf.get(error._tag) ?? 500, headers: headersOf(error) }))

/** For whoever opens a page by hand. */
export const refuseInWords = (error: Refusal): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(`${error.message}\n`, {
    status: statusOf.get(error._tag) ?? 500,
    contentType: "text/plain; charset=utf-8",
    headers: headersOf(error)
  })
