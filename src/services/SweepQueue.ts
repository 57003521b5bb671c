// What is to be looked at next: rooms to sweep and users whose invitations may have changed. In memory: at start
// everything is looked at.
import { Context, type Effect } from "effect"
import type { RoomId, UserId } from "../domain/Ids.ts"

export class SweepQueue extends Context.Tag("crossfire/services/SweepQueue")<
  SweepQueue,
  {
    /** Announced rooms go before all others. A room stands in the queue once. */
    readonly rooms: (rooms: ReadonlyArray<RoomId>) => Effect.Effect<void>
    /** Rooms that are read only because it is time. */
    readonly rounds: (rooms: ReadonlyArray<RoomId>) => Effect.Effect<void>
    readonly users: (users: ReadonlyArray<UserId>) => Effect.Effect<void>
    /** Waits for a room and runs the work on it; the same room is given to nobody else meanwhile. */
    readonly withRoom: <E, R>(work: (roomId: RoomId) => Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
    readonly withUser: <E, R>(work: (user: UserId) => Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
    /** Nothing waits and nothing is being worked on. For tests and for a clean end. */
    readonly idle: Effect.Effect<boolean>
  }
>() {}
