// The pages that agents read: few at the same time, one of a room, and one request for all who ask the same at the same
// time where they see the same. Nothing is kept once a page has arrived.
import { Deferred, Effect, Fiber } from "effect"
import type { RoomId } from "../../domain/Ids.ts"
import { Matrix, type MatrixError, type Page, type PageFailed, type PageRequest } from "../../services/Matrix.ts"
import * as BoundedPage from "./BoundedPage.ts"
import * as KeyedLock from "./KeyedLock.ts"
import * as PageSlots from "./PageSlots.ts"

/** Pages that are read at the same time for all agents together; each may hold one event of 64 MiB. */
export const maxPagesAtOnce = 4

type Asked = Omit<PageRequest, "maxBytes">

export interface PageRead {
  readonly page: Page
  /** Another one's request, made in that one's name. */
  readonly borrowed: boolean
}

interface Flight {
  readonly landed: Deferred.Deferred<Page, MatrixError | PageFailed>
  fiber: Fiber.RuntimeFiber<boolean> | null
  passengers: number
}

/** The length keeps the two tokens apart, whatever they hold. */
const keyOf = ({ direction, from, limit, roomId, to }: Asked): string =>
  [roomId, direction, limit, from.length, from, to ?? ""].join(" ")

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  const scope = yield* Effect.scope
  const slots = PageSlots.make(maxPagesAtOnce)
  // A room that hangs holds one slot and not all of them.
  const rooms = KeyedLock.make<RoomId>()
  const flights = new Map<string, Flight>()

  const alone = (asked: Asked): Effect.Effect<Page, MatrixError | PageFailed> =>
    rooms.withLock(asked.roomId)(
      slots.within(Effect.provideService(BoundedPage.read(asked), Matrix, matrix))
    )

  const ended = (key: string, flight: Flight) => {
    if (flights.get(key) === flight) flights.delete(key)
  }

  const board = (key: string, asked: Asked) =>
    Effect.gen(function*() {
      const known = flights.get(key)
      if (known !== undefined) {
        known.passengers += 1
        return { flight: known, borrowed: true }
      }
      const flight: Flight = {
        landed: yield* Deferred.make<Page, MatrixError | PageFailed>(),
        fiber: null,
        passengers: 1
      }
      flights.set(key, flight)
      flight.fiber = yield* Effect.forkIn(
        Effect.interruptible(alone(asked)).pipe(
          // Whoever asks from here on asks anew: something may have been removed since.
          Effect.ensuring(Effect.sync(() => ended(key, flight))),
          Effect.intoDeferred(flight.landed)
        ),
        scope
      )
      return { flight, borrowed: false }
    })

  const alight = (key: string, flight: Flight) =>
    Effect.suspend(() => {
      flight.passengers -= 1
      if (flight.passengers > 0) return Effect.void
      ended(key, flight)
      return flight.fiber === null ? Effect.void : Fiber.interrupt(flight.fiber)
    })

  const together = (asked: Asked): Effect.Effect<PageRead, MatrixError | PageFailed> =>
    Effect.suspend(() => {
      const key = keyOf(asked)
      return Effect.acquireUseRelease(
        board(key, asked),
        ({ borrowed, flight }) =>
          Effect.map(Deferred.await(flight.landed), (page) => ({ page, borrowed })).pipe(
            Effect.catchTag("MatrixRefused", (refused) =>
              // The other one was refused, having left maybe: that says nothing about this one.
              borrowed
                ? Effect.map(alone(asked), (page) => ({ page, borrowed: false }))
                : Effect.fail(refused))
          ),
        ({ flight }) => alight(key, flight)
      )
    })

  return {
    /** In the asker's own name. */
    alone,
    /** Or what was asked by another one at the same time: only where both see the same. */
    together
  }
})

export type PageReads = Effect.Effect.Success<typeof make>
