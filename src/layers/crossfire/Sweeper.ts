// Keeps every room read and every invitation answered: announced ones at once, all of them at start, after an outage of
// the homeserver, and on a timer. It decides nothing itself. Nobody calls it.
import { Duration, Effect, Layer, Random } from "effect"
import type { StreamToken, UserId } from "../../domain/Ids.ts"
import { botUser } from "../../domain/SystemUsers.ts"
import { HomeserverHealth } from "../../services/HomeserverHealth.ts"
import { Instance } from "../../services/Instance.ts"
import { type HomeserverBusy, Matrix } from "../../services/Matrix.ts"
import { Participation } from "../../services/Participation.ts"
import { RoomSweep } from "../../services/RoomSweep.ts"
import { Agents } from "../../services/store/Agents.ts"
import { Rooms } from "../../services/store/Rooms.ts"
import { SweepQueue } from "../../services/SweepQueue.ts"

/** How many rooms, and how many users, are worked on at the same time. */
export const sweepConcurrency = 4
/** The longest time until a message is found that no push ever brought, as long as all rooms are read within it. */
export const roundPeriodMillis = 60_000
const firstRetryMillis = 1_000
const maxRetryMillis = 60_000
/** A homeserver that asks to wait is asked again so much later at most than it said. */
const maxSpreadMillis = 2_000

/** The wait that the homeserver asked for, five minutes at most; 0 for any other error. */
const askedWaitMillis = (error: { readonly _tag: string } | HomeserverBusy): number =>
  "retryAfterMillis" in error ? error.retryAfterMillis : 0

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  const health = yield* HomeserverHealth
  const agents = yield* Agents
  const rooms = yield* Rooms
  const queue = yield* SweepQueue
  const sweep = yield* RoomSweep
  const participation = yield* Participation
  const bot = botUser((yield* Instance).serverName)
  const scope = yield* Effect.scope
  const failures = new Map<string, number>()
  /** The boundary of the last round, once every room of it was read; null when a round has to be made anyway. */
  let settled: StreamToken | null = null

  const allRooms = Effect.flatMap(rooms.all, (known) => {
    const announced = known.filter((room) => room.dirty > 0).map((room) => room.roomId)
    return Effect.zipRight(queue.rooms(announced), queue.rounds(known.map((room) => room.roomId)))
  })
  const allUsers = Effect.flatMap(agents.all, (known) => queue.users([bot, ...known.map((agent) => agent.userId)]))

  /** Looked at again later; a key waits at most once, since its work is over before it is put back. */
  const later = (key: string, again: Effect.Effect<void>, askedMillis = 0) =>
    Effect.gen(function*() {
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      settled = null
      const delay = Math.min(maxRetryMillis, firstRetryMillis * 2 ** (count - 1))
      // What the homeserver asks for is the least; not all rooms come back at the same moment.
      const spread = askedMillis === 0 ? 0 : yield* Random.nextIntBetween(0, maxSpreadMillis)
      yield* Effect.forkIn(Effect.delay(again, Duration.millis(Math.max(delay, askedMillis + spread))), scope)
    })

  /** One failure stops nothing else. What is logged has no text of anyone. */
  const guarded = <E extends { readonly _tag: string }>(
    what: string,
    key: string,
    work: Effect.Effect<void, E>,
    again: Effect.Effect<void>
  ) =>
    work.pipe(
      Effect.tap(() => Effect.sync(() => failures.delete(key))),
      Effect.catchAll((error) =>
        // An outage is told once, not for every room.
        (error._tag === "HomeserverUnavailable" ? Effect.logDebug : Effect.logWarning)(
          `${what} failed and is tried again`
        ).pipe(
          Effect.annotateLogs({ key, error: error._tag }),
          Effect.zipRight(later(key, again, askedWaitMillis(error)))
        )
      ),
      Effect.catchAllDefect((defect) =>
        Effect.logError(`${what} broke and is tried again`).pipe(
          Effect.annotateLogs({ key, defect: defect instanceof Error ? defect.name : "unknown" }),
          Effect.zipRight(later(key, again))
        )
      )
    )

  const roomWorker = Effect.forever(
    queue.withRoom((roomId) => guarded("reading a room", roomId, sweep.room(roomId), queue.rounds([roomId])))
  )
  const userWorker = Effect.forever(
    queue.withUser((user: UserId) =>
      guarded("looking at invitations", user, participation.look(user), queue.users([user]))
    )
  )

  const logged = <E extends { readonly _tag: string }>(what: string, work: Effect.Effect<void, E>) =>
    Effect.catchAll(work, (error) => Effect.annotateLogs(Effect.logWarning(`${what} failed`), { error: error._tag }))

  const round = Effect.gen(function*() {
    const boundary = yield* matrix.boundary
    if (boundary === settled) return
    yield* allRooms
    settled = boundary
  })

  const recovery = Effect.gen(function*() {
    settled = null
    yield* allRooms
    yield* logged("making the bot's user", matrix.ensureUser(bot, "crossfire"))
    yield* allUsers
    yield* matrix.nudge
  })

  const recoveries = health.recovered.pipe(
    Effect.zipRight(Effect.logInfo("the homeserver answers again; all rooms are read")),
    Effect.zipRight(logged("reading after an outage", recovery)),
    Effect.forever
  )
  const rounds = logged("a round", round).pipe(Effect.delay(Duration.millis(roundPeriodMillis)), Effect.forever)

  yield* Effect.forEach(
    [
      ...Array.from({ length: sweepConcurrency }, () => roomWorker),
      ...Array.from({ length: sweepConcurrency }, () => userWorker),
      recoveries,
      rounds,
      logged("the first reading", Effect.asVoid(recovery))
    ],
    (work) => Effect.forkScoped(work),
    { discard: true }
  )
})

export const layer = Layer.scopedDiscard(make)
