// Notices that the managed homeserver is another process than before: what it pushed in between may be lost, also when
// crossfire asked it nothing meanwhile. It looks at a number in memory and sends nothing. Nobody calls it.
import { Duration, Effect, Layer } from "effect"
import { HomeserverHealth } from "../../services/HomeserverHealth.ts"
import { HomeserverProcess } from "../../services/HomeserverProcess.ts"

const lookPeriodMillis = 2_000

export const make = Effect.gen(function*() {
  const homeserver = yield* HomeserverProcess
  const health = yield* HomeserverHealth
  let known = yield* homeserver.pid

  const look = Effect.gen(function*() {
    const pid = yield* homeserver.pid
    if (pid === null || pid === known) return
    if (known !== null) yield* health.wasAway
    known = pid
  })
  yield* Effect.forkScoped(Effect.forever(Effect.delay(look, Duration.millis(lookPeriodMillis))))
})

export const layer = Layer.scopedDiscard(make)
