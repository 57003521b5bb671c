// The signIn group: asking for a link and using it. Who may sign in, and whether a link is good, is the service's to know.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect, Redacted } from "effect"
import { CrossfireApi } from "../../../domain/api/Crossfire.ts"
import { linkLifeMillis, maxBrowserLength, sessionCookie } from "../../../domain/Session.ts"
import { botUser } from "../../../domain/SystemUsers.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { Sessions } from "../../../services/Sessions.ts"
import { SignIn } from "../../../services/SignIn.ts"
import { peerOf, storeBusy } from "../BearerAuthorization.ts"
import * as SessionCookies from "./SessionCookies.ts"
import { sessionView } from "./SessionView.ts"

/** As the browser describes itself: printable, short, and only ever shown to its own user. */
const browserOf = (request: HttpServerRequest.HttpServerRequest): string =>
  (request.headers["user-agent"] ?? "").replaceAll(/[^\x20-\x7e]/gu, "").slice(0, maxBrowserLength)

export const signInHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "signIn",
  (handlers) =>
    Effect.gen(function*() {
      const signIn = yield* SignIn
      const sessions = yield* Sessions
      const { serverName } = yield* Matrix

      /** The browser loses the cookie of its former session: nobody could sign out of that one any more. */
      const endFormer = (request: HttpServerRequest.HttpServerRequest) =>
        Effect.gen(function*() {
          const former = SessionCookies.secretOf(request, sessionCookie)
          if (Redacted.value(former) === "") return
          const { principal } = yield* sessions.find(former, peerOf(request))
          yield* sessions.revoke(principal.userId, principal.sessionId)
        }).pipe(Effect.catchAll(() => Effect.void))

      return handlers
        .handle("ask", ({ payload, request }) =>
          signIn.ask(payload.user).pipe(
            Effect.tap(({ browserSecret }) => SessionCookies.putAsking(request, browserSecret)),
            Effect.as({ bot: botUser(serverName), linkLastsMillis: linkLifeMillis }),
            Effect.catchTag("StoreFailed", storeBusy)
          ))
        .handle("complete", ({ payload, request }) =>
          Effect.gen(function*() {
            const begun = yield* signIn.complete({
              link: payload.link,
              browserSecrets: SessionCookies.askingSecrets(request),
              browser: browserOf(request)
            })
            // Whatever session cookie the request carried is overwritten: no secret that came from outside is ever taken.
            yield* endFormer(request)
            yield* SessionCookies.clearAsking
            yield* SessionCookies.putSession(begun.secret, begun.endsAtMillis)
            return sessionView(begun, serverName)
          }).pipe(Effect.catchTag("StoreFailed", storeBusy)))
    })
)
