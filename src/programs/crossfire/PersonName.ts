// Whom a command line means: `alice`, or the whole Matrix ID of somebody on this homeserver.
import { Effect, Schema } from "effect"
import { UserId } from "../../domain/Ids.ts"
import { serverOf } from "../../domain/SystemUsers.ts"
import { UsageError } from "../CommandLine.ts"

const noUser = (given: string) => new UsageError({ reason: `"${given}" cannot be a name on this homeserver` })

/** Anybody known to an instance has an account on its one homeserver. */
export const personId = (given: string, serverName: string): Effect.Effect<UserId, UsageError> =>
  Schema.decode(UserId)(given.startsWith("@") ? given : `@${given}:${serverName}`).pipe(
    Effect.mapError(() => noUser(given)),
    Effect.filterOrFail(
      (userId) => serverOf(userId) === serverName,
      (userId) =>
        new UsageError({
          reason:
            `${userId} is a user of another homeserver, ${serverOf(userId)}. People of this instance have their ` +
            `account on ${serverName}`
        })
    )
  )

/** The part between @ and the colon, which makes an account's name. Whether it is a good one is not judged here. */
export const localName = (given: string, serverName: string): Effect.Effect<string, UsageError> =>
  given.startsWith("@")
    ? Effect.map(personId(given, serverName), (userId) => userId.slice(1, userId.indexOf(":")))
    : Effect.succeed(given)
