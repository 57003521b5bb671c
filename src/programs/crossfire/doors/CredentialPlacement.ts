// Credentials that stand where they must not: in an address, where logs and histories keep them, or two kinds in one request.
// Seen before any of them is looked up.
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Option } from "effect"
import { CredentialMisplaced } from "../../../domain/api/CrossfireErrors.ts"
import { holdsToken } from "../../../domain/Credential.ts"

const parameters: ReadonlySet<string> = new Set([
  "access_token",
  "token",
  "bearer",
  "authorization",
  "claim",
  "api_key",
  "apikey",
  "hs_token",
  "as_token",
  "link",
  "session",
  "csrf",
  "secret",
  "password"
])

/** The form of every secret without a prefix: claims, sessions, sign-in links, invitations. An event ID has one character more. */
const bareSecret = /^[A-Za-z0-9_-]{43}$/u

const maxEscapes = 3

/** With every layer of percent-encoding taken off that a server behind could take off. */
const decoded = (text: string): string => {
  let plain = text
  for (let layer = 0; layer < maxEscapes; layer += 1) {
    try {
      plain = decodeURIComponent(plain)
    } catch {
      return plain
    }
  }
  return plain
}

const inAddress = (url: string): boolean => {
  const query = url.split("?").slice(1).join("?")
  const isNamed = query.split(/[&;]/u).some((pair) => parameters.has(decoded(pair.split("=")[0] ?? "").toLowerCase()))
  const plain = decoded(url)
  return isNamed || holdsToken(plain) || plain.split(/[/?&;=#]/u).some((part) => bareSecret.test(part))
}

export const misplaced = (request: HttpServerRequest.HttpServerRequest): Option.Option<CredentialMisplaced> => {
  if (inAddress(request.url)) return Option.some(new CredentialMisplaced({ problem: "in-the-address" }))
  return request.headers["cookie"] !== undefined && request.headers["authorization"] !== undefined
    ? Option.some(new CredentialMisplaced({ problem: "cookie-and-bearer" }))
    : Option.none()
}
