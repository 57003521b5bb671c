// `GET /v1/changes`: what changed, as server-sent events for one browser's pages, outside of the declared groups. It ends
// with the session, however that ends, or with the client.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Duration, Effect, Schedule, Schema, Stream } from "effect"
import { TooManyAttempts } from "../../../domain/api/CrossfireErrors.ts"
import { Change, changesPath, type ChangeTopic } from "../../../domain/api/People.ts"
import type { UserId } from "../../../domain/Ids.ts"
import type { SessionId } from "../../../domain/Session.ts"
import { Changes } from "../../../services/Changes.ts"
import { Revocations } from "../../../services/Revocations.ts"
import { Sessions } from "../../../services/Sessions.ts"
import { refuse } from "../doors/Refusal.ts"
import { authorizedSession } from "./PersonAuthorization.ts"

const heartbeatMillis = 15_000
/** Pages of one browser that are open at the same time; each holds a connection. */
const maxStreamsPerSession = 16
/** Of one person's browsers together. */
const maxStreamsPerPerson = 64
const retryMillis = 30_000

const encodeChange = Schema.encode(Change)
const eventOf = (topic: ChangeTopic) =>
  Effect.map(Effect.orDie(encodeChange({ topic })), (data) => `event: change\ndata: ${data}\n\n`)

export const changesRoute = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const revocations = yield* Revocations
    const changes = yield* Changes
    const open = new Map<SessionId | UserId, number>()

    /** For as long as the request's scope. */
    const counted = (of: SessionId | UserId, maxOpen: number) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          const count = (open.get(of) ?? 0) + 1
          if (count > maxOpen) return Effect.fail(new TooManyAttempts({ retryAfterMillis: retryMillis }))
          open.set(of, count)
          return Effect.void
        }),
        () =>
          Effect.sync(() => {
            const left = (open.get(of) ?? 1) - 1
            if (left === 0) open.delete(of)
            else open.set(of, left)
          })
      )

    const authorized = Effect.provideService(authorizedSession, Sessions, sessions)

    const follow = Effect.gen(function*() {
      const first = yield* authorized
      // Listening comes before the check that counts: a session that ended in between is seen by one of the two.
      const ended = yield* revocations.ended({ session: first.principal.sessionId })
      const { principal } = yield* authorized
      yield* counted(principal.sessionId, maxStreamsPerSession)
      yield* counted(principal.userId, maxStreamsPerPerson)
      const topics = yield* changes.follow({
        userId: principal.userId,
        administrator: principal.role === "administrator"
      })
      const heartbeats = Stream.as(
        Stream.fromSchedule(Schedule.spaced(Duration.millis(heartbeatMillis))),
        ": beat\n\n"
      )
      const body = Stream.concat(
        Stream.succeed(": open\n\n"),
        Stream.merge(Stream.mapEffect(topics, eventOf), heartbeats, { haltStrategy: "either" })
      ).pipe(Stream.interruptWhen(ended), Stream.encodeText)
      return HttpServerResponse.stream(body, {
        contentType: "text/event-stream",
        headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
      })
    }).pipe(Effect.catchAll(refuse))

    yield* router.get(changesPath, follow)
  })
)
