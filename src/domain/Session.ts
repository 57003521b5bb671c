// A browser's session and the link that begins one: forms of their secrets, how long they last. Who holds one is decided by
// hashes elsewhere.
import { Schema } from "effect"

export const SessionId = Schema.UUID.pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** Cookies that only this very host can set, over an encrypted connection or on the machine itself. */
export const sessionCookie = "__Host-crossfire"
/** Given to the browser that asks for a link; the link is good in no other. */
export const askingCookie = "__Host-crossfire-asking"

const secret = (what: string) =>
  Schema.String.pipe(
    // The message names no value: what was sent in its place may be a secret too.
    Schema.pattern(/^[A-Za-z0-9_-]{43}$/u, { message: () => `${what} takes 32 bytes in base64url` })
  )

/** Stands behind the `#` of the link: browsers and previewers send no fragment to a server. */
export const LinkSecret = secret("a sign-in link").pipe(Schema.brand("LinkSecret"))
export type LinkSecret = typeof LinkSecret.Type

export const secretBytes = 32

/** A session ends after so long without a request, and after so long in any case. */
export const sessionIdleMillis = 24 * 60 * 60 * 1000
export const sessionLifeMillis = 14 * 24 * 60 * 60 * 1000
export const maxSessionsPerPerson = 20
export const maxBrowserLength = 200
/** How exactly it is known when a session was used last: not every request writes. */
export const seenStepMillis = 60 * 1000

/** Anything that is not shown, or that turns what stands beside it around. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+/gu

/** What a browser says of itself, made fit for a list: one line, bounded, nothing hidden in it. */
export const describedBrowser = (text: string): string =>
  [...text.slice(0, 4 * maxBrowserLength).replace(unseen, " ").trim()].slice(0, maxBrowserLength).join("") ||
  "unknown"

export const linkLifeMillis = 5 * 60 * 1000
/** So many links one person gets within the window. */
export const maxLinksPerPerson = 3
export const linkWindowMillis = 15 * 60 * 1000

export const isOver = (
  session: { readonly seenAtMillis: number; readonly endsAtMillis: number },
  nowMillis: number
): boolean => nowMillis >= session.endsAtMillis || nowMillis >= session.seenAtMillis + sessionIdleMillis
