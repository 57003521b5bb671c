// Sees to it that every agent has its Matrix user with its present display name. The identity is in the database first:
// whatever fails afterwards is made up for at the next try, at the latest at the next start.
import { Clock, Effect, Layer, Schedule } from "effect"
import type { FleetId } from "../../../domain/Ids.ts"
import { displayName } from "../../../domain/Roster.ts"
import { CrossfireDb, type StoreFailed } from "../../../services/Database.ts"
import { Matrix, type MatrixError } from "../../../services/Matrix.ts"
import * as IdentityRows from "./IdentityRows.ts"

const maxUsersAtOnce = 4

/** Makes the users that are missing, of one fleet or of all; fails with the first failure after all were tried. */
export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const matrix = yield* Matrix
  const rows = IdentityRows.make(database)

  const ensureUser = (agent: IdentityRows.AgentRow) =>
    Effect.gen(function*() {
      yield* matrix.ensureUser(agent.userId, displayName(agent.name, agent.owner))
      const nowMillis = yield* Clock.currentTimeMillis
      yield* database.transaction(rows.registered(agent, nowMillis))
    })

  const ensure = (fleetId: FleetId | null): Effect.Effect<void, StoreFailed | MatrixError> =>
    Effect.gen(function*() {
      const agents = yield* database.read(rows.unregistered(fleetId))
      // One that the homeserver does not take holds up no other.
      const [[failure]] = yield* Effect.partition(agents, ensureUser, { concurrency: maxUsersAtOnce })
      if (failure !== undefined) return yield* failure
    })
  return { ensure }
})

const firstRetryMillis = 1_000
const maxRetryMillis = 60_000

/** At start, until it has succeeded once; later changes are made up for by whoever makes them. */
export const layer: Layer.Layer<never, never, CrossfireDb | Matrix> = Layer.scopedDiscard(
  Effect.gen(function*() {
    const { ensure } = yield* make
    yield* ensure(null).pipe(
      Effect.tapError((error) => Effect.logWarning(`Agents' Matrix users could not be completed: ${error.message}`)),
      Effect.retry(
        Schedule.union(Schedule.exponential(firstRetryMillis), Schedule.spaced(maxRetryMillis))
      ),
      Effect.forkScoped
    )
  })
)
