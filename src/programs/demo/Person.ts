// A person with a Matrix client: signs in with a password, writes, and follows the rooms. What Element would do, in little.
// The demo and the end-to-end tests speak through it; it is no part of the servers.
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Duration, Effect, Option, Schedule, Schema, Stream, SubscriptionRef } from "effect"
import { EventId, RoomId, UserId } from "../../domain/Ids.ts"
import { nextUuid } from "../../layers/fleetd/Uuids.ts"

/** How many events are remembered; a demo or a test never has so many. */
const rememberedEvents = 20_000
const syncTimeoutMillis = 10_000
const requestWithin = Duration.seconds(40)
/** A homeserver that is down, or asks to wait, is asked again so often. */
const retries = Schedule.intersect(Schedule.spaced("500 millis"), Schedule.recurs(120))

export class PersonFailed extends Schema.TaggedError<PersonFailed>()("PersonFailed", {
  operation: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.operation}: ${this.reason}`
  }
}

const Content = Schema.Record({ key: Schema.String, value: Schema.Unknown })

export const SeenEvent = Schema.Struct({
  event_id: EventId,
  type: Schema.String,
  sender: UserId,
  content: Content,
  state_key: Schema.optional(Schema.String)
})

export interface RoomEvent {
  readonly roomId: RoomId
  readonly event: typeof SeenEvent.Type
}

const Login = Schema.Struct({ access_token: Schema.String, user_id: UserId })
const Created = Schema.Struct({ room_id: RoomId })
const Sent = Schema.Struct({ event_id: EventId })
const Joined = Schema.Struct({
  timeline: Schema.Struct({ events: Schema.Array(SeenEvent), prev_batch: Schema.optional(Schema.String) })
})
const Sync = Schema.Struct({
  next_batch: Schema.String,
  rooms: Schema.optional(Schema.Struct({
    join: Schema.optional(Schema.Record({ key: RoomId, value: Joined })),
    invite: Schema.optional(Schema.Record({ key: RoomId, value: Schema.Unknown }))
  }))
})

export interface Person {
  readonly userId: UserId
  readonly createRoom: (room: {
    readonly name: string | null
    readonly invite: ReadonlyArray<UserId>
    readonly isDirect: boolean
  }) => Effect.Effect<RoomId, PersonFailed>
  readonly send: (
    roomId: RoomId,
    text: string,
    extra?: Readonly<Record<string, unknown>>
  ) => Effect.Effect<EventId, PersonFailed>
  /** Everything seen in this person's rooms, in the order in which it was seen. */
  readonly events: SubscriptionRef.SubscriptionRef<ReadonlyArray<RoomEvent>>
  /** The first event, seen already or still to come, that fits. */
  readonly waitFor: (
    what: string,
    fits: (seen: RoomEvent) => boolean,
    within: Duration.DurationInput
  ) => Effect.Effect<RoomEvent, PersonFailed>
}

export const textOf = ({ event }: RoomEvent): string => {
  const body = event.content["body"]
  return event.type === "m.room.message" && typeof body === "string" ? body : ""
}

/** The event that this one answers. */
export const repliesTo = ({ event }: RoomEvent): string | null => {
  const relation = event.content["m.relates_to"]
  if (typeof relation !== "object" || relation === null || !("m.in_reply_to" in relation)) return null
  const replied = relation["m.in_reply_to"]
  return typeof replied === "object" && replied !== null && "event_id" in replied &&
      typeof replied.event_id === "string"
    ? replied.event_id
    : null
}

/** Signs in and follows; invitations are accepted. Ends with the scope. */
export const signIn = (homeserver: string, localpart: string, password: string) =>
  Effect.gen(function*() {
    const http = yield* HttpClient.HttpClient
    const events = yield* SubscriptionRef.make<ReadonlyArray<RoomEvent>>([])

    const request = <A, I>(
      operation: string,
      made: HttpClientRequest.HttpClientRequest,
      answer: Schema.Schema<A, I>
    ) =>
      Effect.gen(function*() {
        const response = yield* http.execute(HttpClientRequest.prependUrl(made, homeserver))
        const body = yield* response.text
        if (response.status !== 200) {
          return yield* new PersonFailed({ operation, reason: `${response.status} ${body.slice(0, 200)}` })
        }
        return yield* Schema.decodeUnknown(Schema.parseJson(answer))(body)
      }).pipe(
        Effect.scoped,
        Effect.timeout(requestWithin),
        Effect.catchAll((error) =>
          error instanceof PersonFailed
            ? Effect.fail(error)
            : Effect.fail(new PersonFailed({ operation, reason: error.message }))
        ),
        Effect.retry(retries)
      )

    const json = (body: unknown) => HttpClientRequest.setBody(HttpBody.unsafeJson(body))
    const login = yield* request(
      "sign in",
      HttpClientRequest.post("/_matrix/client/v3/login").pipe(
        json({ type: "m.login.password", identifier: { type: "m.id.user", user: localpart }, password })
      ),
      Login
    )
    const signed = HttpClientRequest.bearerToken(login.access_token)

    const take = (batch: typeof Sync.Type) =>
      Effect.gen(function*() {
        for (const roomId of Object.keys(batch.rooms?.invite ?? {})) {
          const path = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/join`
          yield* request("join", HttpClientRequest.post(path).pipe(json({}), signed), Schema.Unknown)
        }
        const seen = Object.entries(batch.rooms?.join ?? {}).flatMap(([roomId, room]) =>
          room.timeline.events.map((event): RoomEvent => ({ roomId: RoomId.make(roomId), event }))
        )
        if (seen.length > 0) {
          yield* SubscriptionRef.update(events, (known) => [...known, ...seen].slice(-rememberedEvents))
        }
        return batch.next_batch
      })

    const filter = encodeURIComponent("{\"room\":{\"timeline\":{\"limit\":1000}},\"presence\":{\"not_types\":[\"*\"]}}")
    const sync = (since: string | null) =>
      request(
        "sync",
        HttpClientRequest.get(
          `/_matrix/client/v3/sync?filter=${filter}&timeout=${since === null ? 0 : syncTimeoutMillis}` +
            (since === null ? "" : `&since=${encodeURIComponent(since)}`)
        ).pipe(signed),
        Sync
      ).pipe(Effect.flatMap(take))
    const first = yield* sync(null)
    yield* Effect.iterate(first, { while: () => true, body: sync }).pipe(
      Effect.catchAll((error) => Effect.logWarning(error.message)),
      Effect.forkScoped
    )

    const person: Person = {
      userId: login.user_id,
      events,
      createRoom: ({ invite, isDirect, name }) =>
        request(
          "create room",
          HttpClientRequest.post("/_matrix/client/v3/createRoom").pipe(
            json({
              preset: isDirect ? "trusted_private_chat" : "private_chat",
              is_direct: isDirect,
              invite,
              ...(name === null ? {} : { name })
            }),
            signed
          ),
          Created
        ).pipe(Effect.map((created) => created.room_id)),
      send: (roomId, text, extra = {}) =>
        Effect.flatMap(nextUuid, (transactionId) =>
          request(
            "send",
            HttpClientRequest.put(
              `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/send/m.room.message/${transactionId}`
            ).pipe(json({ msgtype: "m.text", body: text, "m.mentions": {}, ...extra }), signed),
            Sent
          )).pipe(Effect.map((sent) => sent.event_id)),
      waitFor: (what, fits, within) =>
        events.changes.pipe(
          Stream.filterMap((known) => {
            const found = known.find(fits)
            return found === undefined ? Option.none() : Option.some(found)
          }),
          Stream.runHead,
          Effect.flatten,
          Effect.timeout(within),
          Effect.mapError(() => new PersonFailed({ operation: `wait for ${what}`, reason: "it did not come in time" }))
        )
    }
    return person
  })
