// `Revocations` in memory: who listens for the end of which credential. Bounded by the streams that are open.
import { Effect, Layer } from "effect"
import { type Revocable, Revocations } from "../../../services/Revocations.ts"

const keyOf = (of: Revocable): string =>
  "session" in of ? `session ${of.session}` : "fleet" in of ? `fleet ${of.fleet}` : `agent ${of.agent}`

export const make = Effect.sync(() => {
  const listening = new Map<string, Set<Effect.Latch>>()

  const listen = (key: string) =>
    Effect.sync(() => {
      const over = Effect.unsafeMakeLatch(false)
      const listeners = listening.get(key) ?? new Set()
      listening.set(key, listeners.add(over))
      return over
    })

  const forget = (key: string, over: Effect.Latch) =>
    Effect.sync(() => {
      const listeners = listening.get(key)
      listeners?.delete(over)
      if (listeners?.size === 0) listening.delete(key)
    })

  return Revocations.of({
    announce: (ended) =>
      Effect.sync(() => {
        for (const of of ended) {
          for (const over of listening.get(keyOf(of)) ?? []) over.unsafeOpen()
        }
      }),
    ended: (of) => {
      const key = keyOf(of)
      return Effect.map(Effect.acquireRelease(listen(key), (over) => forget(key, over)), (over) => over.await)
    }
  })
})

export const layer: Layer.Layer<Revocations> = Layer.effect(Revocations, make)
