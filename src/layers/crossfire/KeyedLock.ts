// One at a time for each key; keys that nobody holds or waits for take no memory.
import { Effect } from "effect"

export interface KeyedLock<K> {
  readonly withLock: (key: K) => <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const make = <K>(): KeyedLock<K> => {
  const locks = new Map<K, { readonly semaphore: Effect.Semaphore; users: number }>()

  const enter = (key: K) =>
    Effect.sync(() => {
      const lock = locks.get(key) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
      lock.users += 1
      locks.set(key, lock)
      return lock
    })

  return {
    withLock: (key) => (work) =>
      Effect.acquireUseRelease(
        enter(key),
        (lock) => lock.semaphore.withPermits(1)(work),
        (lock) =>
          Effect.sync(() => {
            lock.users -= 1
            if (lock.users === 0) locks.delete(key)
          })
      )
  }
}
