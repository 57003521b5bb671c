// Watches every call to the homeserver: the same port again, and beside it what the calls say of its health. One call
// without an answer is a suspicion; an outage is when the cheapest question gets none either.
import { Duration, Effect, Layer } from "effect"
import { HomeserverHealth } from "../../services/HomeserverHealth.ts"
import { Matrix } from "../../services/Matrix.ts"

/** How often a suspicion is looked into, and a homeserver that is down asked whether it is back. */
const probePeriodMillis = 2_000

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  let down = false
  const suspected = yield* Effect.makeLatch(false)
  const recovered = yield* Effect.makeLatch(false)

  /** A refusal is an answer too. */
  const watched = <A, E extends { readonly _tag: string }, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapError(call, (error) => error._tag === "HomeserverUnavailable" ? suspected.open : Effect.void)

  const answers = Effect.map(
    Effect.either(matrix.boundary),
    (answer) => answer._tag === "Right" || answer.left._tag !== "HomeserverUnavailable"
  )
  const pause = Effect.sleep(Duration.millis(probePeriodMillis))

  const outage = Effect.gen(function*() {
    down = true
    yield* Effect.logWarning("the homeserver does not answer")
    yield* Effect.repeat(Effect.zipRight(pause, answers), { until: (answered) => answered })
    down = false
    yield* recovered.open
  })
  yield* suspected.await.pipe(
    Effect.zipRight(suspected.close),
    Effect.zipRight(answers),
    Effect.flatMap((answered) => answered ? pause : outage),
    Effect.forever,
    Effect.forkScoped
  )

  const observed = Matrix.of({
    serverName: matrix.serverName,
    ensureUser: (user, displayName) => watched(matrix.ensureUser(user, displayName)),
    join: (as, roomId) => watched(matrix.join(as, roomId)),
    leave: (as, roomId) => watched(matrix.leave(as, roomId)),
    createDirectRoom: (as, invite, name) => watched(matrix.createDirectRoom(as, invite, name)),
    send: (send) => watched(matrix.send(send)),
    redact: (redaction) => watched(matrix.redact(redaction)),
    accountState: (user) => watched(matrix.accountState(user)),
    upload: (as, file) => watched(matrix.upload(as, file)),
    typing: (as, roomId, timeoutMillis) => watched(matrix.typing(as, roomId, timeoutMillis)),
    boundary: watched(matrix.boundary),
    page: (request) => watched(matrix.page(request)),
    event: (as, roomId, eventId) => watched(matrix.event(as, roomId, eventId)),
    state: (as, roomId, type, stateKey) => watched(matrix.state(as, roomId, type, stateKey)),
    members: (as, roomId) => watched(matrix.members(as, roomId)),
    joinedRooms: (as) => watched(matrix.joinedRooms(as)),
    invitations: (as) => watched(matrix.invitations(as)),
    nudge: watched(matrix.nudge)
  })

  const health = HomeserverHealth.of({
    down: Effect.sync(() => down),
    recovered: Effect.zipRight(recovered.await, Effect.asVoid(recovered.close)),
    wasAway: Effect.asVoid(recovered.open)
  })
  return { observed, health }
})

/** The homeserver as the rest of crossfire uses it. */
export const layer = Layer.unwrapScoped(
  Effect.map(
    make,
    ({ health, observed }) => Layer.merge(Layer.succeed(Matrix, observed), Layer.succeed(HomeserverHealth, health))
  )
)
