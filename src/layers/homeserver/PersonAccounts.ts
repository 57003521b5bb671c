// Makes people's accounts on the managed homeserver. None of them is an administrator there.
import { Effect, Layer, type Redacted } from "effect"
import { MatrixRefused } from "../../services/Matrix.ts"
import { AccountExists, AccountNameInvalid, PersonAccounts } from "../../services/PersonAccounts.ts"
import * as SharedSecretAccounts from "./SharedSecretAccounts.ts"

export const make = (config: SharedSecretAccounts.SharedSecretConfig) =>
  Effect.map(SharedSecretAccounts.make(config), (register) => ({
    create: (localpart: string, password: Redacted.Redacted) =>
      Effect.gen(function*() {
        // The homeserver would lower the case of a name by itself and make another account than was asked for.
        if (!/^[a-z0-9._=/+-]{1,200}$/u.test(localpart)) {
          return yield* new AccountNameInvalid({ localpart, reason: "characters" })
        }
        yield* register({ localpart, password, administrator: false, signIn: false })
      }).pipe(
        Effect.catchIf((error) => error instanceof MatrixRefused, (refused) => {
          const told: Record<string, AccountExists | AccountNameInvalid> = {
            M_USER_IN_USE: new AccountExists({ localpart }),
            M_EXCLUSIVE: new AccountNameInvalid({ localpart, reason: "reserved" }),
            M_INVALID_USERNAME: new AccountNameInvalid({ localpart, reason: "characters" })
          }
          return Effect.fail(told[refused.errcode] ?? refused)
        })
      )
  }))

export const layer = (config: SharedSecretAccounts.SharedSecretConfig): Layer.Layer<PersonAccounts> =>
  Layer.scoped(PersonAccounts, make(config))
