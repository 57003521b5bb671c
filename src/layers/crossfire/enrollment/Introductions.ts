// Introductions: an approved request becomes identities, whole or not at all, and the same request again tells what it
// gave. Credentials that end by it end for open streams, too.
import { Effect, Redacted } from "effect"
import type { Introduction } from "../../../domain/api/Crossfire.ts"
import { EnrollmentNotReady, NotAllowed } from "../../../domain/api/CrossfireErrors.ts"
import type { FleetId } from "../../../domain/Ids.ts"
import type { Roster } from "../../../domain/Roster.ts"
import { AgentAccounts } from "../../../services/AgentAccounts.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { Enrollment, IntroductionRequest } from "../../../services/Enrollment.ts"
import { type Revocable, Revocations } from "../../../services/Revocations.ts"
import { hashOf } from "../../crypto/Secret.ts"
import * as EnrollmentRows from "./EnrollmentRows.ts"
import { type FiledRequests, stateOf } from "./FiledRequests.ts"
import * as IdentityRows from "./IdentityRows.ts"
import type { RosterTaking } from "./RosterTaking.ts"

/** One value for one set of credentials, whatever their order. */
const introductionHash = ({ agentTokens, fleetToken }: IntroductionRequest) =>
  hashOf(Redacted.make(
    [fleetToken, ...agentTokens.map(({ key, token }) => `${key} ${token}`).toSorted()].join("\n")
  ))

export const make = (taking: RosterTaking, filed: FiledRequests) =>
  Effect.gen(function*() {
    const database = yield* CrossfireDb
    const accounts = yield* AgentAccounts
    const changes = yield* Changes
    const revocations = yield* Revocations
    const enrollments = EnrollmentRows.make(database)
    const identities = IdentityRows.make(database)

    const introduction = (roster: Roster, fleetId: FleetId) =>
      Effect.map(identities.agentsOf(fleetId), (agents): Introduction => ({
        fleetId,
        agents: roster.agents.flatMap(({ key }) =>
          agents.filter((agent) => agent.key === key).map(({ agentId, name, userId }) => ({
            agentId,
            key,
            name,
            userId
          }))
        )
      }))

    /** The transaction: what the claim gave, and which credentials ended by it. */
    const claimed = (request: IntroductionRequest) =>
      database.transaction(Effect.gen(function*() {
        const row = yield* filed.byClaim(request.claim)
        const hash = introductionHash(request)
        if (row.fleetId !== null) {
          if (row.introductionHash !== hash) {
            return yield* new NotAllowed({ reason: "This claim was introduced with other credentials" })
          }
          const ended: ReadonlyArray<Revocable> = []
          return { owner: row.owner, ended, given: yield* introduction(row.roster, row.fleetId) }
        }
        const state = yield* stateOf(row)
        if (state !== "approved") return yield* new EnrollmentNotReady({ state })
        const agentTokens = new Map(request.agentTokens.map(({ key, token }) => [key, token]))
        const { ended, fleetId } = yield* taking.take(row.roster, { fleetToken: request.fleetToken, agentTokens })
        yield* enrollments.introduced(row.enrollmentId, fleetId, hash)
        return { owner: row.owner, ended, given: yield* introduction(row.roster, fleetId) }
      }))

    const introduce: typeof Enrollment.Service.introduce = (request) =>
      // Once it is committed, whoever holds a stream under an ended credential hears of it, whatever becomes of the asker.
      claimed(request).pipe(
        Effect.tap(({ ended, owner }) =>
          Effect.all([
            revocations.announce(ended),
            changes.publish("requests", owner),
            changes.publish("fleets", owner)
          ])
        ),
        Effect.uninterruptible,
        Effect.map(({ given }) => given),
        // The agents' users come after the commit: whatever fails then is gone through again by the same request.
        Effect.tap(({ fleetId }) => accounts.ensure(fleetId))
      )

    return { introduce }
  })
