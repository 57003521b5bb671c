// `GET /v1/fleet/levels`: the fleet's levels as server-sent events, outside of the declared groups. It ends with the lease,
// the credential, or the client.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Duration, Effect, Schedule, Schema, Stream } from "effect"
import { LeaseHeaders, LevelEvent, levelsHeartbeatMillis, levelsPath } from "../../domain/api/Crossfire.ts"
import { ServerBusy, StaleGeneration, TooManyAttempts, Unauthorized } from "../../domain/api/CrossfireErrors.ts"
import type { FleetId } from "../../domain/Ids.ts"
import type { Level } from "../../domain/Level.ts"
import { Credentials } from "../../services/Credentials.ts"
import { FleetLeases } from "../../services/FleetLeases.ts"
import { Levels } from "../../services/Levels.ts"
import { Revocations } from "../../services/Revocations.ts"
import { authorizedFleet, storeBusy } from "./BearerAuthorization.ts"
import { stampOf } from "./LeaseStamp.ts"
import * as StreamPlaces from "./StreamPlaces.ts"

/** A fleet has one controller. Each stream holds a connection. */
const maxStreamsPerFleet = 4

const encodeLevel = Schema.encode(LevelEvent)

const eventOf = (level: Level) =>
  Effect.map(Effect.orDie(encodeLevel(level)), (data) => `event: level\nid: ${level.number}\ndata: ${data}\n\n`)

const Refusal = Schema.Union(Unauthorized, TooManyAttempts, ServerBusy, StaleGeneration)
const statusOf = { Unauthorized: 401, TooManyAttempts: 429, ServerBusy: 503, StaleGeneration: 409 } as const
const refusal = (error: typeof Refusal.Type) =>
  HttpServerResponse.schemaJson(Refusal)(error, { status: statusOf[error._tag] }).pipe(Effect.orDie)

export const levelsRoute = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function*() {
    const credentials = yield* Credentials
    const leases = yield* FleetLeases
    const levels = yield* Levels
    const revocations = yield* Revocations
    const { place } = StreamPlaces.make<FleetId>(maxStreamsPerFleet)

    const follow = Effect.gen(function*() {
      const { fleetId } = yield* authorizedFleet
      const stamp = stampOf(yield* HttpServerRequest.schemaHeaders(LeaseHeaders))
      yield* leases.require(fleetId, stamp)
      const request = yield* HttpServerRequest.HttpServerRequest

      const valid = authorizedFleet.pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, request),
        Effect.provideService(Credentials, credentials)
      )
      // The first comment opens the stream for a fleet without agents.
      const heartbeats = Stream.fromSchedule(Schedule.spaced(Duration.millis(levelsHeartbeatMillis))).pipe(
        Stream.mapEffect(() => valid),
        Stream.map(() => ": beat\n\n")
      )
      const events = Stream.mapEffect(levels.follow(fleetId), eventOf)
      const opened = Stream.concat(
        Stream.succeed(": open\n\n"),
        Stream.merge(events, heartbeats, { haltStrategy: "either" })
      )
      const body = Stream.unwrapScoped(Effect.gen(function*() {
        const revoked = yield* revocations.ended({ fleet: fleetId })
        // Once more, now that its end is listened for: between the first check and this one it may have been replaced.
        yield* valid
        const displaced = yield* place(fleetId)
        return Stream.interruptWhen(opened, Effect.raceFirst(revoked, displaced))
      })).pipe(
        Stream.interruptWhen(leases.over(fleetId, stamp)),
        // The connection's end says enough: the client asks again and is told why.
        Stream.catchAll(() => Stream.empty),
        Stream.encodeText
      )
      return HttpServerResponse.stream(body, {
        contentType: "text/event-stream",
        headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
      })
    }).pipe(
      Effect.catchTag("StoreFailed", storeBusy),
      Effect.catchTags({
        Unauthorized: refusal,
        TooManyAttempts: refusal,
        ServerBusy: refusal,
        StaleGeneration: refusal,
        ParseError: () => Effect.succeed(HttpServerResponse.empty({ status: 400 }))
      }),
      Effect.provideService(Credentials, credentials)
    )
    yield* router.get(levelsPath, follow)
  })
)
