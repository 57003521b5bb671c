// Watches every call to the homeserver: the same port again, and beside it what the calls say of its health.
import { Effect, Layer } from "effect"
import { HomeserverHealth } from "../../services/HomeserverHealth.ts"
import { Matrix } from "../../services/Matrix.ts"

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  let down = false
  const failed = yield* Effect.makeLatch(false)
  const recovered = yield* Effect.makeLatch(false)

  const answered = Effect.sync(() => {
    if (!down) return
    down = false
    failed.unsafeClose()
    recovered.unsafeOpen()
  })
  const silent = Effect.sync(() => {
    down = true
    failed.unsafeOpen()
  })

  /** A refusal is an answer too. */
  const watched = <A, E extends { readonly _tag: string }, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapBoth(call, {
      onSuccess: () => answered,
      onFailure: (error) => error._tag === "HomeserverUnavailable" ? silent : answered
    })

  const observed = Matrix.of({
    serverName: matrix.serverName,
    ensureUser: (user, displayName) => watched(matrix.ensureUser(user, displayName)),
    join: (as, roomId) => watched(matrix.join(as, roomId)),
    leave: (as, roomId) => watched(matrix.leave(as, roomId)),
    createDirectRoom: (as, invite, name) => watched(matrix.createDirectRoom(as, invite, name)),
    send: (send) => watched(matrix.send(send)),
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
    failed: failed.await,
    recovered: Effect.zipRight(recovered.await, Effect.sync(() => recovered.unsafeClose()))
  })
  return { observed, health }
})

/** The homeserver as the rest of crossfire uses it. */
export const layer = Layer.unwrapEffect(
  Effect.map(
    make,
    ({ health, observed }) => Layer.merge(Layer.succeed(Matrix, observed), Layer.succeed(HomeserverHealth, health))
  )
)
