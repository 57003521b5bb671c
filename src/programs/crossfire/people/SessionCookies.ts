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

/** Of the asks of one browser: a link of an earlier one stays good in it. */
const maxAskingSecrets = 4
const askingForm = /^[A-Za-z0-9_-]{43}$/u
const between = "."

/** The browser's secrets, of the newest ask first; empty where it did not ask. */
export const askingSecrets = (request: HttpServerRequest.HttpServerRequest): ReadonlyArray<Redacted.Redacted> =>
  (request.cookies[askingCookie] ?? "").split(between, maxAskingSecrets)
    .filter((part) => askingForm.test(part))
    .map((part) => Redacted.make(part))

/** Every ask is by a new secret: one that a browser brought binds no link to come. */
export const putAsking = (request: HttpServerRequest.HttpServerRequest, secret: Redacted.Redacted) =>
  put(
    askingCookie,
    [secret, ...askingSecrets(request)].slice(0, maxAskingSecrets).map(Redacted.value).join(between),
    linkLifeMillis
  )

export const clearSession = put(sessionCookie, "", 0)
export const clearAsking = put(askingCookie, "", 0)

/** Empty where there is none, which no secret is. */
export const secretOf = (request: HttpServerRequest.HttpServerRequest, name: CookieName): Redacted.Redacted =>
  Redacted.make(request.cookies[name] ?? "")

/** Known to the page of this session alone: it follows from the cookie's secret, which no page can read. Nothing is stored. */
export const csrfOf = (session: Redacted.Redacted): string =>
  createHmac("sha256", Redacted.value(session)).update("crossfire csrf 1").digest("base64url")
