// Secrets as this product makes them: 32 random bytes of the operating system, and the SHA-256 by which one is known to
// whoever must not hold it. Nothing is kept here.
import { Effect, Redacted } from "effect"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { SecretHash } from "../../domain/api/Crossfire.ts"

const secretBytes = 32

/** A new secret, 43 characters of base64url behind the prefix. */
export const newSecret = (prefix = ""): Effect.Effect<Redacted.Redacted> =>
  Effect.sync(() => Redacted.make(prefix + randomBytes(secretBytes).toString("base64url")))

/**
 * Enough for a secret of 256 random bits: nobody can list candidates, so neither salt nor a slow hash adds anything. A
 * password must never be kept this way.
 */
export const hashOf = (secret: Redacted.Redacted): SecretHash =>
  SecretHash.make(createHash("sha256").update(Redacted.value(secret), "utf8").digest("hex"))

const digest = (text: string) => createHash("sha256").update(text, "utf8").digest()

/**
 * The one way in which a secret that was sent is compared with the one expected: how long it takes tells nothing of either,
 * whatever their lengths. Stored hashes are looked up instead, which tells nothing either.
 */
export const isSame = (given: string, expected: string): boolean => timingSafeEqual(digest(given), digest(expected))
