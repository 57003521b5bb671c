// The registrar: an administrator's account of the managed homeserver whose password nobody has and whose access token
// stands in one private file. It is made when it is first needed, and anew when the homeserver does not know it any more.
import { Effect, Option, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { HomeserverUnavailable, type MatrixError } from "../../services/Matrix.ts"
import { newSecret } from "../crypto/Secret.ts"
import { privateFile } from "./Registration.ts"
import * as SharedSecretAccounts from "./SharedSecretAccounts.ts"

export interface RegistrarConfig extends SharedSecretAccounts.SharedSecretConfig {
  /** The homeserver's private folder. */
  readonly folder: string
}

const Kept = Schema.Struct({ userId: Schema.String, accessToken: Schema.Redacted(Schema.NonEmptyString) })
const KeptFile = Schema.parseJson(Kept, { space: 2 })
const readKept = Schema.decodeOption(KeptFile)
const writeKept = Schema.encodeSync(KeptFile)

export const registrarPath = (folder: string): string => join(folder, "registrar.json")
export const registrarPrefix = "crossfire-registrar-"
const nameBytes = 4

export const make = (config: RegistrarConfig) =>
  Effect.gen(function*() {
    const register = yield* SharedSecretAccounts.make(config)
    const path = registrarPath(config.folder)
    const turn = yield* Effect.makeSemaphore(1)
    const unavailable = new HomeserverUnavailable({ operation: "make the registrar", status: null })

    const kept = Effect.tryPromise(() => readFile(path, "utf8")).pipe(
      Effect.option,
      // One that is damaged is as good as none: another is made.
      Effect.map(Option.flatMap((text) => readKept(text))),
      Effect.map(Option.map(({ accessToken }) => accessToken))
    )

    const made: Effect.Effect<Redacted.Redacted, MatrixError> = Effect.gen(function*() {
      const suffix = yield* Effect.sync(() => randomBytes(nameBytes).toString("hex"))
      const account = yield* register({
        localpart: `${registrarPrefix}${suffix}`,
        password: yield* newSecret(),
        administrator: true,
        signIn: true
      })
      if (account.accessToken === null) return yield* unavailable
      yield* Effect.logInfo("made the homeserver account that makes registration tokens").pipe(
        Effect.annotateLogs({ userId: account.userId })
      )
      yield* privateFile(path, writeKept({ userId: account.userId, accessToken: account.accessToken })).pipe(
        Effect.catchTag("FolderUnusable", ({ message }) => Effect.zipRight(Effect.logError(message), unavailable))
      )
      return account.accessToken
    })

    return {
      /** `refused`: the one that the homeserver did not take. */
      token: (refused: Redacted.Redacted | null): Effect.Effect<Redacted.Redacted, MatrixError> =>
        turn.withPermits(1)(
          Effect.flatMap(kept, (found) =>
            Option.isSome(found) && (refused === null || Redacted.value(found.value) !== Redacted.value(refused))
              ? Effect.succeed(found.value)
              : made)
        )
    }
  })
