// Makes the material of a new claim: a fresh claim always; credentials fresh or, for the same fleet at the same crossfire,
// those it has, so that adding an agent ends nobody's credential.
import { Effect, Option, Redacted } from "effect"
import { ClaimSecret } from "../../domain/api/Crossfire.ts"
import { agentTokenPrefix, fleetTokenPrefix } from "../../domain/Credential.ts"
import type { Roster } from "../../domain/Roster.ts"
import { ClaimMaterial } from "../../services/Claim.ts"
import { newSecret } from "../crypto/Secret.ts"

export const newMaterial = (
  roster: Roster,
  serverUrl: string,
  before: Option.Option<ClaimMaterial>
): Effect.Effect<ClaimMaterial> =>
  Effect.gen(function*() {
    const kept = Option.getOrNull(Option.filter(before, (material) =>
      material.serverUrl === serverUrl && material.roster.fleet === roster.fleet &&
      material.roster.owner === roster.owner))
    const claim = Redacted.make(ClaimSecret.make(Redacted.value(yield* newSecret())))
    const fleetToken = kept?.fleetToken ?? (yield* newSecret(fleetTokenPrefix))
    const agentTokens = yield* Effect.forEach(roster.agents, ({ key }) =>
      Effect.gen(function*() {
        const token = kept?.agentTokens.find((agent) =>
          agent.key === key
        )?.token
        return { key, token: token ?? (yield* newSecret(agentTokenPrefix)) }
      }))
    return new ClaimMaterial({ format: 1, serverUrl, claim, fleetToken, agentTokens, roster })
  })
