// How often one address may ask: a count a minute for each budget that the route table names. In memory, bounded; a restart
// forgets it.
import { Effect } from "effect"
import { TooManyAttempts } from "../../../domain/api/CrossfireErrors.ts"
import * as AttemptWindow from "../../../layers/crossfire/enrollment/AttemptWindow.ts"
import type { RouteBounds } from "./RouteTable.ts"

const windowMillis = 60_000
const maxPeersCounted = 10_000

export interface Budgets {
  readonly spend: (bounds: RouteBounds, peer: string) => Effect.Effect<void, TooManyAttempts>
}

export const make = (): Budgets => {
  const windows = new Map<string, AttemptWindow.AttemptWindow>()
  const windowOf = (budget: string) => {
    const known = windows.get(budget) ?? AttemptWindow.make({ maxKeys: maxPeersCounted, windowMillis })
    windows.set(budget, known)
    return known
  }
  return {
    spend: ({ budget, maxPerMinute }, peer) => {
      if (maxPerMinute === null) return Effect.void
      return Effect.flatMap(
        windowOf(budget).add(peer),
        ({ count, endsInMillis }) =>
          count > maxPerMinute ? Effect.fail(new TooManyAttempts({ retryAfterMillis: endsInMillis })) : Effect.void
      )
    }
  }
}
