// Removes what is over, at the start and then every hour: an agent's files only while it is idle. Nobody calls it: a scoped
// feature.
import { Clock, Duration, Effect, Layer } from "effect"
import { Artifacts } from "../../services/Artifacts.ts"
import { Controller } from "../../services/Controller.ts"
import { Expiry } from "../../services/Expiry.ts"

const between = Duration.hours(1)
/** While an agent works, its files wait for it to be idle. */
const whileWorking = Duration.minutes(5)
const filesKeptFor = Duration.hours(24)
const inputsPerBatch = 100
/** Batches of one round; what is left then waits for the next. */
const batchesPerRound = 100

const inBatches = <E, R>(batch: Effect.Effect<boolean, E, R>) =>
  Effect.gen(function*() {
    for (let done = 0; done < batchesPerRound; done++) {
      if (!(yield* batch)) return
      yield* Effect.yieldNow()
    }
  })

export const make = Effect.gen(function*() {
  const artifacts = yield* Artifacts
  const controller = yield* Controller
  const expiry = yield* Expiry

  /** How long until the next. */
  const round = Effect.gen(function*() {
    const { agents } = yield* controller.status
    let working = false
    for (const { agentId, session } of agents) {
      if (session.state === "working" || session.state === "starting") {
        working = true
        continue
      }
      const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(filesKeptFor)
      // A file that cannot be removed holds up no other agent's.
      yield* inBatches(
        Effect.map(artifacts.expire(agentId, before, inputsPerBatch), (removed) => removed === inputsPerBatch)
      ).pipe(Effect.catchTag("ArtifactFailed", (failure) => Effect.logWarning(failure.message)))
    }
    yield* inBatches(expiry.batch)
    return working ? whileWorking : between
  })

  yield* round.pipe(
    Effect.catchTag("StoreFailed", (failure) => Effect.as(Effect.logWarning(failure.message), whileWorking)),
    Effect.flatMap(Effect.sleep),
    Effect.forever,
    Effect.forkScoped
  )
})

export const layer = Layer.scopedDiscard(make)
