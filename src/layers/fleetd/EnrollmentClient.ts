// fleetd's way to crossfire before it has a credential: the enrollment group of the contract. It keeps nothing; what is
// asked again, and how often, is the caller's choice.
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import { Duration, Effect, Redacted, Schema } from "effect"
import { CrossfireApi } from "../../domain/api/Crossfire.ts"
import type { Roster } from "../../domain/Roster.ts"
import { checkServerUrl } from "../../domain/ServerUrl.ts"
import type { ClaimMaterial } from "../../services/Claim.ts"
import { CrossfireUnavailable } from "../../services/CrossfireClient.ts"
import { hashOf } from "../crypto/Secret.ts"
import * as BoundedHttpClient from "../http/BoundedHttpClient.ts"
import { reasonOf } from "./HttpCrossfireClient.ts"

const maxAnswerBytes = 1024 * 1024
/** An introduction makes the agents' Matrix users before it is answered. */
const deadline = Duration.seconds(60)

/** No usable answer: the same request can be made again, after crossfire's own figure where it named one. */
export class Unanswered extends Schema.TaggedError<Unanswered>()("Unanswered", {
  unavailable: CrossfireUnavailable,
  retryAfterMillis: Schema.NullOr(Schema.Int),
  /** The same request would get the same answer: something on the way or in the two versions has to be changed first. */
  final: Schema.Boolean
}) {}

type WireError = Parameters<typeof reasonOf>[0] | CrossfireUnavailable

/** What goes wrong on the way, or passes; anything else is crossfire's word on the request itself. */
const wireTags: ReadonlySet<string> = new Set<WireError["_tag"]>([
  "AnswerTooSlow",
  "BodyTooLarge",
  "CredentialMisplaced",
  "CrossfireUnavailable",
  "HomeserverDown",
  "HostUnknown",
  "HttpApiDecodeError",
  "MediaTypeRefused",
  "OriginRefused",
  "ParseError",
  "RequestError",
  "ResponseError",
  "ServerBusy",
  "StoreFailed",
  "TooManyAttempts"
])

const finalTags: ReadonlySet<string> = new Set<WireError["_tag"]>([
  "BodyTooLarge",
  "CredentialMisplaced",
  "HostUnknown",
  "HttpApiDecodeError",
  "MediaTypeRefused",
  "OriginRefused"
])

const onTheWay = <E extends { readonly _tag: string }>(error: E): error is Extract<E, WireError> =>
  wireTags.has(error._tag)

/** Whoever typed the address is told what may be wrong with it. */
const reasonAt = (baseUrl: string, error: Exclude<WireError, CrossfireUnavailable>): string => {
  if (error._tag === "RequestError") return `${baseUrl} could not be reached (does crossfire run there?)`
  const status = error._tag === "ResponseError" ? error.response.status : 0
  return status >= 400 && status < 500
    ? `${reasonOf(error)} (is ${baseUrl} the homeserver's address? crossfire's is the one of its web pages)`
    : reasonOf(error)
}

const unanswered = (baseUrl: string, operation: string, error: WireError): Unanswered =>
  new Unanswered({
    unavailable: error._tag === "CrossfireUnavailable"
      ? error
      : new CrossfireUnavailable({ operation, reason: reasonAt(baseUrl, error) }),
    retryAfterMillis: "retryAfterMillis" in error ? error.retryAfterMillis : null,
    final: finalTags.has(error._tag)
  })

const answeredAt =
  (baseUrl: string) => <A, E extends { readonly _tag: string }>(operation: string, exchange: Effect.Effect<A, E>) => {
    const late = new CrossfireUnavailable({ operation, reason: `no answer within ${Duration.toSeconds(deadline)} s` })
    return exchange.pipe(
      Effect.catchIf(onTheWay<E>, (error) => Effect.fail(unanswered(baseUrl, operation, error))),
      Effect.timeoutFail({ duration: deadline, onTimeout: () => unanswered(baseUrl, operation, late) })
    )
  }

const maxTries = 6
const firstRetryMillis = 1_000
const maxRetryMillis = 60_000

/** A few more tries of one request that went unanswered. */
export const patiently = <A, E>(exchange: Effect.Effect<A, E | Unanswered>, tries = 1): Effect.Effect<
  A,
  Exclude<E, Unanswered> | Unanswered["unavailable"]
> =>
  Effect.catchAll(exchange, (error) => {
    if (!(error instanceof Unanswered)) {
      return Effect.fail(error as Exclude<E, Unanswered>)
    }
    if (tries >= maxTries || error.final) return Effect.fail(error.unavailable)
    const waitMillis = Math.min(
      Math.max(error.retryAfterMillis ?? 0, firstRetryMillis * 2 ** (tries - 1)),
      maxRetryMillis
    )
    return Effect.zipRight(Effect.sleep(Duration.millis(waitMillis)), patiently(exchange, tries + 1))
  })

/** One try alone, for whoever wants to know how it is now. */
export const once = <A, E>(exchange: Effect.Effect<A, E | Unanswered>) => patiently(exchange, maxTries)

export const make = (serverUrl: string) =>
  Effect.gen(function*() {
    const baseUrl = yield* checkServerUrl(serverUrl)
    const answered = answeredAt(baseUrl)
    const http = yield* BoundedHttpClient.make(maxAnswerBytes)
    const api = yield* HttpApiClient.group(CrossfireApi, { group: "enrollment", baseUrl, httpClient: http.whole })

    return {
      preflight: (roster: Roster) => answered("check the roster", api.preflight({ payload: { roster } })),
      submit: ({ claim, roster }: ClaimMaterial) =>
        answered("submit the roster", api.submit({ payload: { claim: Redacted.value(claim), roster } })),
      state: ({ claim }: ClaimMaterial) =>
        answered("ask for the enrollment", api.state({ payload: { claim: Redacted.value(claim) } })),
      introduce: ({ agentTokens, claim, fleetToken }: ClaimMaterial) =>
        answered(
          "introduce the agents",
          api.introduce({
            payload: {
              claim: Redacted.value(claim),
              fleetToken: hashOf(fleetToken),
              agentTokens: agentTokens.map(({ key, token }) => ({ key, token: hashOf(token) }))
            }
          })
        )
    }
  })
