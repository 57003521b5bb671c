// A person's account on the managed homeserver, made by the operator's word. A made password is shown to nobody: it goes to
// a private file, since whoever runs the command may be an assistant that is to hold no credential.
import { type Context, Effect, Option, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import type { UserId } from "../../../domain/Ids.ts"
import { AccountNameInvalid, type PersonAccounts } from "../../../services/PersonAccounts.ts"
import { attempt } from "../../files/FileCall.ts"
import * as PrivateFile from "../../files/PrivateFile.ts"

const generatedBytes = 15

/** 120 random bits. */
const generatedPassword: Effect.Effect<Redacted.Redacted> = Effect.sync(() =>
  Redacted.make(randomBytes(generatedBytes).toString("base64url"))
)

const passwordFolder = (data: string): string => join(data, "passwords")
export const passwordPath = (data: string, localpart: string): string =>
  join(passwordFolder(data), `${encodeURIComponent(localpart)}.txt`)

/** Matrix takes capital letters in old user IDs, and no homeserver makes a new one: told before anything is made. */
export const checkName = (localpart: string): Effect.Effect<void, AccountNameInvalid> => {
  if (!/^[a-z0-9._=/+-]{1,200}$/u.test(localpart)) {
    return Effect.fail(new AccountNameInvalid({ localpart, reason: "characters" }))
  }
  return localpart.startsWith("cf-")
    ? Effect.fail(new AccountNameInvalid({ localpart, reason: "reserved" }))
    : Effect.void
}

export class PasswordFileDamaged extends Schema.TaggedError<PasswordFileDamaged>()("PasswordFileDamaged", {
  path: Schema.String
}) {
  override get message(): string {
    return `${this.path} holds no password. Remove it, then run the command again`
  }
}

/**
 * The password in the file, made where none stands there yet: before the account is made, so that no crash leaves an account
 * whose password nobody has.
 */
const keptPassword = (data: string, localpart: string) =>
  Effect.gen(function*() {
    const path = passwordPath(data, localpart)
    const made = yield* generatedPassword
    yield* PrivateFile.privateFolder(passwordFolder(data))
    yield* PrivateFile.writeFirst(path, `${Redacted.value(made)}\n`)
    const text = (yield* attempt(path, () => readFile(path, "utf8"))).trim()
    if (text.length < 12 || text.length > 500) return yield* new PasswordFileDamaged({ path })
    return { path, password: Redacted.make(text), isNew: text === Redacted.value(made) }
  })

export interface AccountsConfig {
  /** Made passwords go there. */
  readonly data: string
  readonly accounts: Context.Tag.Service<typeof PersonAccounts>
}

/** Twice is no harm: an account that exists keeps its password. */
const ensured = ({ accounts, data }: AccountsConfig, localpart: string, password: Option.Option<Redacted.Redacted>) =>
  Effect.gen(function*() {
    yield* checkName(localpart)
    const kept = Option.isSome(password) ? null : yield* keptPassword(data, localpart)
    const secret = Option.getOrElse(password, () => kept?.password)
    if (secret === undefined) return yield* Effect.dieMessage("no password was given and none was made")
    const account = yield* accounts.create(localpart, secret).pipe(
      Effect.as("made" as const),
      Effect.catchTag("AccountExists", () => Effect.succeed("existing" as const))
    )
    if (account === "existing" && kept?.isNew === true) {
      // It is no password of that account.
      yield* attempt(kept.path, () => rm(kept.path, { force: true }))
      return { account, passwordFile: null }
    }
    return { account, passwordFile: kept?.path ?? null }
  })

export type EnsuredAccount = Effect.Effect.Success<ReturnType<typeof ensured>>

/** One request after the other: of two with one password, the slower one would take the file for nobody's. */
export const make = (config: AccountsConfig) =>
  Effect.map(Effect.makeSemaphore(1), (turn) => ({
    ensure: (localpart: string, password: Option.Option<Redacted.Redacted>) =>
      turn.withPermits(1)(ensured(config, localpart, password))
  }))

/** For a person at a terminal, or an assistant that reads it for one. */
export const told = (userId: UserId, { account, passwordFile }: EnsuredAccount): ReadonlyArray<string> => {
  const made = account === "made"
    ? `${userId} has an account on the homeserver now.`
    : `${userId} had an account already and keeps its password.`
  return passwordFile === null
    ? [made]
    : [made, `The password stands in ${passwordFile}, which only you can read: sign in, change it, delete the file.`]
}
