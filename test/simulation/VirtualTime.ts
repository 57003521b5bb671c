// Discrete-event time for the simulation: a scheduler that runs ready tasks in an order drawn from the seed, and a clock
// that jumps to the next timer when nothing is ready. No real waiting, and the same seed gives the same run.
import { Clock, Duration, Effect, type Fiber, Option, type Scheduler } from "effect"

/** A small seeded generator (mulberry32): the whole run's chances come from it. */
export const makeRandom = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    /** An integer from `low` up to and without `high`. */
    between: (low: number, high: number): number => low + Math.floor(next() * (high - low)),
    chance: (probability: number): boolean => next() < probability
  }
}

export type SeededRandom = ReturnType<typeof makeRandom>

interface Timer {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

/** How many tasks may run without the clock moving: beyond it something spins. */
const maxTasksPerInstant = 2_000_000

export class Spinning extends Error {}

export const makeWorld = (random: SeededRandom, startMillis: number) => {
  const ready: Array<() => void> = []
  const timers: Array<Timer> = []
  let nowMillis = startMillis
  let order = 0

  const scheduler: Scheduler.Scheduler = {
    shouldYield: (fiber) => fiber.currentOpCount > 2_048 ? 0 : false,
    scheduleTask: (task) => {
      ready.push(task)
    }
  }

  const clock: Clock.Clock = {
    ...Clock.make(),
    unsafeCurrentTimeMillis: () => nowMillis,
    unsafeCurrentTimeNanos: () => BigInt(Math.round(nowMillis * 1_000)) * 1_000n,
    currentTimeMillis: Effect.sync(() => nowMillis),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(nowMillis * 1_000)) * 1_000n),
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        const timer: Timer = {
          at: nowMillis + Math.max(0, Math.ceil(Duration.toMillis(duration))),
          order: order++,
          wake: () => resume(Effect.void)
        }
        timers.push(timer)
        return Effect.sync(() => {
          const place = timers.indexOf(timer)
          if (place !== -1) timers.splice(place, 1)
        })
      })
  }

  const runReady = () => {
    for (let count = 0; ready.length > 0; count++) {
      if (count > maxTasksPerInstant) throw new Spinning(`more than ${maxTasksPerInstant} tasks at one instant`)
      const place = random.between(0, ready.length)
      const [task] = ready.splice(place, 1)
      task?.()
    }
  }

  const popTimer = (): Timer | undefined => {
    let best = -1
    for (const [place, timer] of timers.entries()) {
      const known = timers[best]
      if (known === undefined || timer.at < known.at || (timer.at === known.at && timer.order < known.order)) {
        best = place
      }
    }
    return best === -1 ? undefined : timers.splice(best, 1)[0]
  }

  /** Runs until the fiber is done, nothing can happen any more, or the virtual time is over. */
  const runUntilDone = <A, E>(fiber: Fiber.RuntimeFiber<A, E>, untilMillis: number) => {
    while (true) {
      runReady()
      const exit = Option.getOrUndefined(Option.fromNullable(fiber.unsafePoll()))
      if (exit !== undefined) return exit
      const timer = popTimer()
      if (timer === undefined || timer.at > untilMillis) return undefined
      nowMillis = Math.max(nowMillis, timer.at)
      timer.wake()
    }
  }

  /** The effect under this world's time and order. */
  const inside = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.withClock(effect, clock).pipe(Effect.withScheduler(scheduler))

  return { clock, scheduler, inside, runUntilDone, now: () => nowMillis }
}

export type World = ReturnType<typeof makeWorld>
