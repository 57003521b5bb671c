// Display names as a room's state has them: for people to read, worth nothing as identity. Kept for a while, bounded.
import { Cache, Data, Duration, Effect } from "effect"
import type { RoomId, UserId } from "../../domain/Ids.ts"
import { Matrix } from "../../services/Matrix.ts"

const maxNamesKept = 5_000
const keptMinutes = 10
const maxNameLength = 100
const requestsAtOnce = 4

class MemberKey extends Data.Class<{ readonly roomId: RoomId; readonly user: UserId }> {}

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  /** Who asked first; any member sees the same, and it is no part of the key. */
  const readers = new Map<RoomId, UserId>()
  const names = yield* Cache.make({
    capacity: maxNamesKept,
    timeToLive: Duration.minutes(keptMinutes),
    lookup: ({ roomId, user }: MemberKey) =>
      Effect.map(matrix.state(readers.get(roomId) ?? user, roomId, "m.room.member", user), (content) => {
        const name = content?.["displayname"]
        return typeof name === "string" && name !== "" ? name.slice(0, maxNameLength).toWellFormed() : null
      })
  })
  return {
    /** Null where a user has none, or where it cannot be read just now. */
    of: (as: UserId, roomId: RoomId, users: ReadonlyArray<UserId>) =>
      Effect.suspend(() => {
        readers.set(roomId, as)
        return Effect.forEach(
          users,
          (user) =>
            names.get(new MemberKey({ roomId, user })).pipe(
              Effect.orElseSucceed(() => null),
              Effect.map((name) => [user, name] as const)
            ),
          { concurrency: requestsAtOnce }
        )
      }).pipe(Effect.map((found): ReadonlyMap<UserId, string | null> => new Map(found)))
  }
})
