// The two cookies of a browser: the session's, and the one by which a sign-in link knows the browser that asked. Only this
// very host can set them, no script reads them, and no other site's request carries them.
import * as HttpApp from "@effect/platform/HttpApp"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Clock, Duration, Effect, Redacted } from "effect"
import { createHmac } from "node:crypto"
import { askingCookie, linkLifeMillis, sessionCookie } from "../../../domain/Session.ts"

type CookieName = typeof sessionCookie | typeof askingCookie

const put = (name: CookieName, value: string, lastsMillis: number) =>
  HttpApp.appendPreResponseHandler((_, response) =>
    Effect.orDie(HttpServerResponse.setCookie(response, name, value, {
      secure: true,
      httpOnly: true,
      sameSite: "strict",
      path: "/",
      maxAge: Duration.millis(lastsMillis)
    }))
  )

export const putSession = (secret: Redacted.Redacted, endsAtMillis: number) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => put(sessionCookie, Redacted.value(secret), Math.max(0, endsAtMillis - now))
  )

export const putAsking = (secret: Redacted.Redacted) => put(askingCookie, Redacted.value(secret), linkLifeMillis)

export const clearSession = put(sessionCookie, "", 0)
export const clearAsking = put(askingCookie, "", 0)

/** Empty where there is none, which no secret is. */
export const secretOf = (request: HttpServerRequest.HttpServerRequest, name: CookieName): Redacted.Redacted =>
  Redacted.make(request.cookies[name] ?? "")

/** Known to the page of this session alone: it follows from the cookie's secret, which no page can read. Nothing is stored. */
export const csrfOf = (session: Redacted.Redacted): string =>
  createHmac("sha256", Redacted.value(session)).update("crossfire csrf 1").digest("base64url")
