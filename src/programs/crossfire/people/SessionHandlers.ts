// The session group: one's own sessions, and their end.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { CrossfireApi } from "../../../domain/api/Crossfire.ts"
import { PersonPrincipal } from "../../../domain/api/People.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { Sessions } from "../../../services/Sessions.ts"
import { storeBusy } from "../BearerAuthorization.ts"
import { authorizedSession } from "./PersonAuthorization.ts"
import * as SessionCookies from "./SessionCookies.ts"
import { sessionView } from "./SessionView.ts"

const done = { done: true } as const

export const sessionHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "session",
  (handlers) =>
    Effect.gen(function*() {
      const sessions = yield* Sessions
      const { serverName } = yield* Matrix

      return handlers
        .handle("current", () =>
          authorizedSession.pipe(
            Effect.map((session) => sessionView(session, serverName)),
            Effect.provideService(Sessions, sessions)
          ))
        .handle("list", () =>
          Effect.flatMap(PersonPrincipal, sessions.list).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("revoke", ({ path }) =>
          Effect.gen(function*() {
            const { sessionId, userId } = yield* PersonPrincipal
            yield* sessions.revoke(userId, path.sessionId)
            if (path.sessionId === sessionId) {
              yield* SessionCookies.clearSession
            }
            return done
          }).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("revokeOthers", () =>
          Effect.flatMap(PersonPrincipal, ({ sessionId, userId }) =>
            sessions.revokeAll(userId, sessionId)).pipe(
              Effect.map((ended) => ({ ended })),
              Effect.catchTag("StoreFailed", storeBusy)
            ))
        .handle("signOut", () =>
          Effect.gen(function*() {
            const { sessionId, userId } = yield* PersonPrincipal
            // Ended by something else a moment ago is ended, too.
            yield* Effect.catchTag(sessions.revoke(userId, sessionId), "NotFound", () =>
              Effect.void)
            yield* SessionCookies.clearSession
            return done
          }).pipe(Effect.catchTag("StoreFailed", storeBusy)))
    })
)
