// Makes the material of a new claim, and says which credentials are meant by an old one. A fresh claim always; credentials
// fresh or, for the same fleet at the same crossfire, those it has, so that adding an agent ends nobody's credential. What
// stands in a claim grows old when credentials are replaced later: the registry's word goes before it.
import { Effect, Option, Redacted } from "effect"
import { ClaimSecret } from "../../domain/api/Crossfire.ts"
import { agentTokenPrefix, fleetTokenPrefix } from "../../domain/Credential.ts"
import type { InstanceKey, Roster } from "../../domain/Roster.ts"
import { ClaimMaterial } from "../../services/Claim.ts"
import type { HeldCredentials } from "../../services/FleetRegistry.ts"
import { hashOf, newSecret } from "../crypto/Secret.ts"

interface Tokens {
  readonly fleetToken: Redacted.Redacted
  readonly agentTokens: ReadonlyMap<InstanceKey, Redacted.Redacted>
}

const tokensOf = ({ agentTokens, fleetToken }: ClaimMaterial): Tokens => ({
  fleetToken,
  agentTokens: new Map(agentTokens.map(({ key, token }) => [key, token]))
})

export const newMaterial = (
  roster: Roster,
  serverUrl: string,
  known: {
    /** The claim that stood here. */
    readonly before: Option.Option<ClaimMaterial>
    /** The registry's, of this very fleet. */
    readonly held: Option.Option<HeldCredentials>
    /** They are made anew all the same: they were revoked, or belong to another address. */
    readonly renew: boolean
  }
): Effect.Effect<ClaimMaterial> =>
  Effect.gen(function*() {
    const ofClaim = Option.filter(known.before, (material) =>
      material.serverUrl === serverUrl && material.roster.fleet === roster.fleet &&
      material.roster.owner === roster.owner)
    const claimed = Option.getOrNull(Option.map(ofClaim, tokensOf))
    const held = Option.getOrNull(known.held)
    const claim = Redacted.make(ClaimSecret.make(Redacted.value(yield* newSecret())))
    const kept = known.renew ? null : held?.fleetToken ?? claimed?.fleetToken
    const fleetToken = kept ?? (yield* newSecret(fleetTokenPrefix))
    const agentTokens = yield* Effect.forEach(roster.agents, ({ key }) =>
      Effect.gen(function*() {
        const token = known.renew ? null : held?.agentTokens.get(key) ?? claimed?.agentTokens.get(key)
        return { key, token: token ?? (yield* newSecret(agentTokenPrefix)) }
      }))
    return new ClaimMaterial({
      format: 1,
      serverUrl,
      claim,
      fleetToken,
      agentTokens,
      roster,
      renews: known.renew && held !== null
    })
  })

/**
 * The credentials that this claim means now. A claim that renews brings its own once: after its introduction was kept, the
 * registry's go before them, too.
 */
export const current = (material: ClaimMaterial, held: Option.Option<HeldCredentials>): ClaimMaterial => {
  if (Option.isNone(held)) return material
  if (material.renews && held.value.claim !== hashOf(material.claim)) return material
  const { agentTokens, fleetToken } = held.value
  return new ClaimMaterial({
    ...material,
    fleetToken,
    agentTokens: material.agentTokens.map(({ key, token }) => ({ key, token: agentTokens.get(key) ?? token }))
  })
}

const plain = ({ agentTokens, fleetToken }: ClaimMaterial): ReadonlyArray<string> =>
  [fleetToken, ...agentTokens.map(({ token }) => token)].map(Redacted.value)

/** Redacted values all compare as equal. */
export const sameCredentials = (one: ClaimMaterial, other: ClaimMaterial): boolean => {
  const others = plain(other)
  return plain(one).every((token, index) => token === others[index])
}
