// `AgentAccounts` over crossfire's file and the homeserver. The identity is in the database first: whatever fails
// afterwards is made up for at the next try, at the latest at the next start.
import { Clock, Duration, Effect, Layer, Option } from "effect"
import type { AgentId, FleetId } from "../../../domain/Ids.ts"
import { displayName } from "../../../domain/Roster.ts"
import { AgentAccounts } from "../../../services/AgentAccounts.ts"
import { CrossfireDb, type StoreFailed } from "../../../services/Database.ts"
import { Matrix, type MatrixError } from "../../../services/Matrix.ts"
import * as KeyedLock from "../KeyedLock.ts"
import * as IdentityRows from "./IdentityRows.ts"

const maxUsersAtOnce = 4
const firstRetryMillis = 1_000
const maxRetryMillis = 60_000

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const matrix = yield* Matrix
  const rows = IdentityRows.make(database)
  const wanted = yield* Effect.makeLatch(true)
  const lock = KeyedLock.make<AgentId>()

  // One at a time, each by the row of that moment: an older name that was slow on its way cannot come after a newer one.
  const ensureUser = ({ agentId }: IdentityRows.AgentRow) =>
    lock.withLock(agentId)(Effect.gen(function*() {
      const agent = yield* database.read(rows.agent(agentId))
      if (Option.isNone(agent) || agent.value.registered) return
      yield* matrix.ensureUser(agent.value.userId, displayName(agent.value.name, agent.value.owner))
      const nowMillis = yield* Clock.currentTimeMillis
      yield* database.transaction(rows.registered(agent.value, nowMillis))
    }))

  const ensure = (fleetId: FleetId | null): Effect.Effect<void, StoreFailed | MatrixError> =>
    Effect.gen(function*() {
      const agents = yield* database.read(rows.unregistered(fleetId))
      // One that the homeserver does not take holds up no other.
      const [[failure]] = yield* Effect.partition(agents, ensureUser, { concurrency: maxUsersAtOnce })
      if (failure !== undefined) return yield* failure
    })

  const retryMillis = (failures: number) => Math.min(maxRetryMillis, firstRetryMillis * 2 ** (failures - 1))

  /** At start, after each word that a name changed, and again until nothing is missing. A new word cuts the wait short. */
  const look = (failures: number) =>
    Effect.gen(function*() {
      const word = failures === 0
        ? wanted.await
        : Effect.asVoid(Effect.timeoutOption(wanted.await, Duration.millis(retryMillis(failures))))
      yield* word
      yield* wanted.close
      return yield* ensure(null).pipe(
        Effect.as(0),
        Effect.catchAll((error) =>
          Effect.as(Effect.logWarning(`Agents' Matrix users could not be completed: ${error.message}`), failures + 1)
        )
      )
    })

  yield* Effect.forkScoped(Effect.iterate(0, { while: () => true, body: look }))
  return AgentAccounts.of({ ensure, follow: Effect.asVoid(wanted.open) })
})

/** The first look is made at start, whoever asks. */
export const layer: Layer.Layer<AgentAccounts, never, CrossfireDb | Matrix> = Layer.scoped(AgentAccounts, make)
