// Counts refused credentials, sessions' and bearers' alike, by the address they came from. A valid one is always taken:
// where many share one address, none can shut out another.
import { Context, Effect, Layer, Option } from "effect"
import { TooManyAttempts, Unauthorized } from "../../domain/api/CrossfireErrors.ts"
import type { StoreFailed } from "../../services/Database.ts"
import * as AttemptWindow from "./enrollment/AttemptWindow.ts"

/** Refused credentials of one address within the window that are answered by 401; further ones by 429. */
const maxRefusals = 30
const refusalsWindowMillis = 60_000
const maxPeersCounted = 10_000

export class RefusedCredentials extends Context.Tag("crossfire/layers/crossfire/RefusedCredentials")<
  RefusedCredentials,
  {
    /** What was found for the credential that this peer offered, or its refusal. */
    readonly admitted: <A>(
      found: Effect.Effect<Option.Option<A>, StoreFailed>,
      peer: string
    ) => Effect.Effect<A, Unauthorized | TooManyAttempts | StoreFailed>
  }
>() {}

export const make = Effect.sync(() => {
  const refusals = AttemptWindow.make({ maxKeys: maxPeersCounted, windowMillis: refusalsWindowMillis })

  const refused = (peer: string) =>
    Effect.flatMap(refusals.add(peer), ({ count, endsInMillis }) =>
      Effect.fail(
        count > maxRefusals ? new TooManyAttempts({ retryAfterMillis: endsInMillis }) : new Unauthorized()
      ))

  return RefusedCredentials.of({
    admitted: (found, peer) =>
      Effect.flatMap(found, Option.match({ onSome: Effect.succeed, onNone: () => refused(peer) }))
  })
})

/** One count for a whole program: the layers that use it provide it to themselves. */
export const layer: Layer.Layer<RefusedCredentials> = Layer.effect(RefusedCredentials, make)
