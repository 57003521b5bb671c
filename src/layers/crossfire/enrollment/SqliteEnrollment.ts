// Enrollment over crossfire's file: requests filed and told, reviews shown, verdicts kept, rosters introduced.
import { Clock, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import type { EnrollmentView, Introduction } from "../../../domain/api/Crossfire.ts"
import { EnrollmentNotReady, NotAllowed, NotFound } from "../../../domain/api/CrossfireErrors.ts"
import { enrollmentLifeMillis, judge, stateAt } from "../../../domain/Enrollment.ts"
import { codeBytes, codeOf, shownCode } from "../../../domain/EnrollmentCode.ts"
import { EnrollmentId, type FleetId, type UserId } from "../../../domain/Ids.ts"
import type { Roster } from "../../../domain/Roster.ts"
import { type Capacity, sameRoster, usualCapacity } from "../../../domain/RosterCheck.ts"
import { botUser } from "../../../domain/SystemUsers.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Enrollment, type IntroductionRequest } from "../../../services/Enrollment.ts"
import { LevelChanges } from "../../../services/LevelChanges.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { WakePolicies } from "../../../services/WakePolicies.ts"
import { hashOf } from "../../crypto/Secret.ts"
import * as AgentAccounts from "./AgentAccounts.ts"
import * as EnrollmentRows from "./EnrollmentRows.ts"
import * as IdentityRows from "./IdentityRows.ts"
import * as RosterTaking from "./RosterTaking.ts"

/** Requests of one owner, and of all, that may wait at a time: anybody who reaches the server can file one. */
const maxOpenPerOwner = 20
const maxOpenPerInstance = 1_000
/** How many an answer of the bot lists. */
const maxListed = 20
/** Tries to find a code that no other request has; with 40 bits one is enough for all practical purposes. */
const maxCodeTries = 5

/** One value for one set of credentials, whatever their order. */
const introductionHash = ({ agentTokens, fleetToken }: IntroductionRequest) =>
  hashOf(Redacted.make(
    [fleetToken, ...agentTokens.map(({ key, token }) => `${key} ${token}`).toSorted()].join("\n")
  ))

export const make = (capacity: Capacity) =>
  Effect.gen(function*() {
    const database = yield* CrossfireDb
    const { read, transaction } = database
    const matrix = yield* Matrix
    const wakePolicies = yield* WakePolicies
    const levels = yield* LevelChanges
    const accounts = yield* AgentAccounts.make
    const enrollments = EnrollmentRows.make(database)
    const identities = IdentityRows.make(database)
    const { serverName } = matrix
    const bot = botUser(serverName)
    const taking = RosterTaking.make({ database, wakePolicies, levels, serverName, capacity })

    const now = Clock.currentTimeMillis

    const stateOf = (row: EnrollmentRows.EnrollmentRow) =>
      Effect.map(now, (nowMillis) => stateAt(row.state, row.expiresAtMillis, nowMillis))

    const view = (row: EnrollmentRows.EnrollmentRow): Effect.Effect<EnrollmentView> =>
      Effect.map(stateOf(row), (state) => ({
        enrollmentId: row.enrollmentId,
        state,
        code: state === "pending" ? shownCode(row.code) : null,
        bot,
        expiresAtMillis: row.expiresAtMillis
      }))

    const byClaim = (claim: string) =>
      enrollments.byClaim(hashOf(Redacted.make(claim))).pipe(
        Effect.flatMap(Option.match({
          onNone: () => Effect.fail(new NotFound({ what: "enrollment" })),
          onSome: Effect.succeed
        }))
      )

    const newCode = Effect.gen(function*() {
      for (let tries = 0; tries < maxCodeTries; tries++) {
        const code = codeOf(yield* Effect.sync(() => randomBytes(codeBytes)))
        if (Option.isNone(yield* enrollments.byCode(code))) return code
      }
      return yield* Effect.dieMessage("no free enrollment code was found")
    })

    const file = (claim: string, roster: Roster) =>
      Effect.gen(function*() {
        yield* taking.check(roster)
        const createdAtMillis = yield* now
        const open = yield* enrollments.openCounts({ nowMillis: createdAtMillis })
        const ofOwner = open.find(({ owner }) => owner === roster.owner)?.count ?? 0
        if (ofOwner >= maxOpenPerOwner) {
          return yield* new NotAllowed({
            reason: `${ofOwner} requests of this owner wait already; let the owner write "reject all" to the bot`
          })
        }
        if (open.reduce((sum, { count }) => sum + count, 0) >= maxOpenPerInstance) {
          return yield* new NotAllowed({ reason: "Too many requests wait in this instance; ask an administrator" })
        }
        yield* enrollments.insert({
          enrollmentId: EnrollmentId.make(yield* Effect.sync(() => randomUUID())),
          claimHash: hashOf(Redacted.make(claim)),
          roster,
          code: yield* newCode,
          createdAtMillis,
          expiresAtMillis: createdAtMillis + enrollmentLifeMillis
        })
        return yield* byClaim(claim)
      })

    const submit: typeof Enrollment.Service.submit = (claim, roster) =>
      transaction(
        byClaim(claim).pipe(
          Effect.filterOrFail(
            (row) => sameRoster(row.roster, roster),
            () => new NotAllowed({ reason: "This claim was made for another roster; a changed roster is a new claim" })
          ),
          Effect.catchTag("NotFound", () => file(claim, roster)),
          Effect.catchTag("NotFound", () => Effect.dieMessage("a request that was just filed is not there")),
          Effect.flatMap(view)
        )
      )

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

    /** The transaction of an introduction. A claim is used once; the same request again tells what it gave. */
    const claimed = (request: IntroductionRequest) =>
      transaction(Effect.gen(function*() {
        const row = yield* byClaim(request.claim)
        const hash = introductionHash(request)
        if (row.fleetId !== null) {
          if (row.introductionHash !== hash) {
            return yield* new NotAllowed({ reason: "This claim was introduced with other credentials" })
          }
          return yield* introduction(row.roster, row.fleetId)
        }
        const state = yield* stateOf(row)
        if (state !== "approved") return yield* new EnrollmentNotReady({ state })
        const agentTokens = new Map(request.agentTokens.map(({ key, token }) => [key, token]))
        const fleetId = yield* taking.take(row.roster, { fleetToken: request.fleetToken, agentTokens })
        yield* enrollments.introduced(row.enrollmentId, fleetId, hash)
        return yield* introduction(row.roster, fleetId)
      }))

    const review: typeof Enrollment.Service.review = (code, reader, roomId) =>
      transaction(Effect.gen(function*() {
        const row = yield* enrollments.byCode(code)
        if (Option.isNone(row) || row.value.owner !== reader) return { _tag: "Unknown" as const }
        const { enrollmentId, expiresAtMillis, owner, roster } = row.value
        const state = yield* stateOf(row.value)
        if (state !== "pending") return { _tag: "Stands" as const, state }
        yield* enrollments.shown(enrollmentId, roomId)
        const fleet = yield* identities.fleet({ owner, fleetKey: roster.fleet })
        const existing = Option.isNone(fleet) ? [] : yield* identities.agentsOf(fleet.value.fleetId)
        return { _tag: "Review" as const, review: { roster, code, expiresAtMillis, existing } }
      }))

    const isAdministrator = (user: UserId) =>
      Effect.map(identities.personRole(user), Option.exists(({ role }) => role === "administrator"))

    const decide: typeof Enrollment.Service.decide = (verdict, by, code, roomId) =>
      transaction(Effect.gen(function*() {
        const row = yield* enrollments.byCode(code)
        if (Option.isNone(row)) return { _tag: "Unknown" as const }
        const { enrollmentId, owner, shownRoom } = row.value
        const standing = { owner: owner === by, administrator: yield* isAdministrator(by) }
        const outcome = judge(verdict, standing, yield* stateOf(row.value), shownRoom === roomId)
        const nowMillis = yield* now
        if (outcome._tag === "Approve") yield* enrollments.settle(enrollmentId, "approved", by, nowMillis)
        if (outcome._tag === "Reject") yield* enrollments.settle(enrollmentId, "rejected", by, nowMillis)
        return outcome
      }))

    const openOf = (owner: UserId | null, maxRows: number) =>
      Effect.flatMap(now, (nowMillis) => enrollments.open({ owner, nowMillis, maxRows }))

    const rejectAll: typeof Enrollment.Service.rejectAll = (owner) =>
      transaction(Effect.gen(function*() {
        const nowMillis = yield* now
        const rows = yield* openOf(owner, maxOpenPerOwner)
        for (const row of rows) yield* enrollments.settle(row.enrollmentId, "rejected", owner, nowMillis)
        return rows.length
      }))

    const open: typeof Enrollment.Service.open = (reader) =>
      read(Effect.gen(function*() {
        const rows = yield* openOf((yield* isAdministrator(reader)) ? null : reader, maxListed)
        return rows.map((row) => ({
          code: row.code,
          owner: row.owner,
          fleetKey: row.roster.fleet,
          names: row.roster.agents.map((agent) => agent.name),
          state: row.state === "approved" ? "approved" as const : "pending" as const,
          createdAtMillis: row.createdAtMillis
        }))
      }))

    return Enrollment.of({
      preflight: (roster) => read(taking.check(roster)),
      submit,
      state: (claim) => read(Effect.flatMap(byClaim(claim), view)),
      // The agents' users come after the commit: whatever fails then is gone through again by the same request.
      introduce: (request) => Effect.tap(claimed(request), ({ fleetId }) => accounts.ensure(fleetId)),
      review,
      decide,
      rejectAll,
      open
    })
  })

export const layer = (
  capacity: Capacity = usualCapacity
): Layer.Layer<Enrollment, never, CrossfireDb | Matrix | WakePolicies | LevelChanges> =>
  Layer.effect(Enrollment, make(capacity))
