// What people do on the homeserver in memory, as in their clients. Its rules are the homeserver's.
import { Effect } from "effect"
import type { EventId, RoomId, UserId } from "../../domain/Ids.ts"
import type { MatrixRefused } from "../../services/Matrix.ts"
import * as MemoryHomeserver from "./MemoryHomeserver.ts"

type Refusable<A> = Effect.Effect<A, MatrixRefused>

/** What people do in their clients. Whoever acts has an account. */
export interface People {
  /** Signs up without doing anything. */
  readonly register: (user: UserId) => Effect.Effect<void>
  /** Ends the account for good, by its owner. */
  readonly deactivate: (user: UserId) => Effect.Effect<void>
  readonly createRoom: (creator: UserId, room?: Partial<MemoryHomeserver.NewRoom>) => Effect.Effect<RoomId>
  readonly invite: (by: UserId, roomId: RoomId, user: UserId) => Refusable<void>
  readonly join: (user: UserId, roomId: RoomId) => Refusable<void>
  readonly leave: (user: UserId, roomId: RoomId) => Effect.Effect<void>
  readonly kick: (by: UserId, roomId: RoomId, user: UserId) => Refusable<void>
  /**
   * An event of any type. `depthLag` puts it that far behind the room's depth, as an event of a concurrent writer: read by
   * `t` tokens it then stands before events that were stored earlier.
   */
  readonly send: (
    user: UserId,
    roomId: RoomId,
    content: Readonly<Record<string, unknown>>,
    options?: { readonly type?: string; readonly depthLag?: number }
  ) => Refusable<EventId>
  readonly setState: (
    user: UserId,
    roomId: RoomId,
    type: string,
    stateKey: string,
    content: Readonly<Record<string, unknown>>
  ) => Refusable<EventId>
  readonly redact: (user: UserId, roomId: RoomId, eventId: EventId) => Refusable<EventId>
}

export const make = (homeserver: MemoryHomeserver.MemoryHomeserver): People => {
  const person = <A, E>(user: UserId, effect: Effect.Effect<A, E>) => Effect.zipRight(homeserver.register(user), effect)
  return {
    register: homeserver.register,
    deactivate: homeserver.deactivate,
    createRoom: (creator, room) =>
      person(creator, homeserver.createRoom(creator, { ...MemoryHomeserver.privateRoom, ...room })),
    invite: (by, roomId, user) => person(by, Effect.asVoid(homeserver.invite(by, roomId, user))),
    join: (user, roomId) => person(user, Effect.asVoid(homeserver.join(user, roomId))),
    leave: (user, roomId) => person(user, Effect.asVoid(homeserver.leave(user, roomId))),
    kick: (by, roomId, user) => person(by, Effect.asVoid(homeserver.kick(by, roomId, user))),
    send: (user, roomId, content, options) =>
      person(
        user,
        homeserver.send(user, roomId, {
          type: options?.type ?? "m.room.message",
          content,
          depthLag: options?.depthLag ?? 0
        })
      ),
    setState: (user, roomId, type, stateKey, content) =>
      person(user, homeserver.send(user, roomId, { type, stateKey, content })),
    redact: (user, roomId, eventId) => person(user, homeserver.redact(user, roomId, eventId))
  }
}
