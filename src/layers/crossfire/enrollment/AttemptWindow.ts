// Counts attempts by key (an address, a person) in windows of fixed length, in memory that is bounded. What too many mean
// is the caller's matter; a restart forgets the counts.
import { Clock, Effect } from "effect"

export interface Attempts {
  /** In the window that runs; 0 where none does. */
  readonly count: number
  readonly endsInMillis: number
}

export interface AttemptWindow {
  readonly look: (key: string) => Effect.Effect<Attempts>
  /** Counts one attempt and tells the count with it. */
  readonly add: (key: string) => Effect.Effect<Attempts>
}

const nanosPerMilli = 1_000_000n

/** The clock is the monotonic one: turning the wall clock neither ends a window nor prolongs it. */
export const make = (
  { maxKeys, windowMillis }: { readonly maxKeys: number; readonly windowMillis: number }
): AttemptWindow => {
  const windows = new Map<string, { readonly endsAtMillis: number; count: number }>()
  const nowMillis = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / nanosPerMilli))

  const running = (key: string, now: number) => {
    const window = windows.get(key)
    if (window === undefined || now < window.endsAtMillis) return window
    windows.delete(key)
    return undefined
  }

  return {
    look: (key) =>
      Effect.map(nowMillis, (now) => {
        const window = running(key, now)
        return { count: window?.count ?? 0, endsInMillis: window === undefined ? 0 : window.endsAtMillis - now }
      }),
    add: (key) =>
      Effect.map(nowMillis, (now) => {
        const window = running(key, now) ?? { endsAtMillis: now + windowMillis, count: 0 }
        window.count += 1
        windows.set(key, window)
        if (windows.size > maxKeys) {
          // The map keeps the order in which windows began: the first one ends first.
          const [oldest] = windows.keys()
          if (oldest !== undefined) windows.delete(oldest)
        }
        return { count: window.count, endsInMillis: window.endsAtMillis - now }
      })
  }
}
