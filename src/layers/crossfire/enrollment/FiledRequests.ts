// Requests as fleetd files them, known by the claim alone: the same claim is the same request. What becomes of one is
// decided elsewhere.
import { Clock, Effect, Option, Redacted } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import type { EnrollmentView } from "../../../domain/api/Crossfire.ts"
import { NotAllowed, NotFound } from "../../../domain/api/CrossfireErrors.ts"
import { enrollmentLifeMillis, stateAt } from "../../../domain/Enrollment.ts"
import { codeBytes, codeOf, shownCode } from "../../../domain/EnrollmentCode.ts"
import { EnrollmentId } from "../../../domain/Ids.ts"
import type { Roster } from "../../../domain/Roster.ts"
import { sameRoster } from "../../../domain/RosterCheck.ts"
import { botUser } from "../../../domain/SystemUsers.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { Enrollment } from "../../../services/Enrollment.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { reviewPath, WebAddress } from "../../../services/WebAddress.ts"
import { hashOf } from "../../crypto/Secret.ts"
import * as EnrollmentRows from "./EnrollmentRows.ts"
import type { RosterTaking } from "./RosterTaking.ts"

/** Requests of one owner, and of all, that may wait at a time: anybody who reaches the server can file one. */
export const maxOpenPerOwner = 20
const maxOpenPerInstance = 1_000
/** Tries to find a code that no other request has; with 40 bits one is enough for all practical purposes. */
const maxCodeTries = 5

export const stateOf = (row: EnrollmentRows.EnrollmentRow) =>
  Effect.map(Clock.currentTimeMillis, (nowMillis) => stateAt(row.state, row.expiresAtMillis, nowMillis))

export const make = (taking: RosterTaking) =>
  Effect.gen(function*() {
    const database = yield* CrossfireDb
    const { read, transaction } = database
    const { origin } = yield* WebAddress
    const changes = yield* Changes
    const enrollments = EnrollmentRows.make(database)
    const bot = botUser((yield* Matrix).serverName)

    const view = (row: EnrollmentRows.EnrollmentRow): Effect.Effect<EnrollmentView> =>
      Effect.map(stateOf(row), (state) => ({
        enrollmentId: row.enrollmentId,
        state,
        code: state === "pending" ? shownCode(row.code) : null,
        bot,
        reviewUrl: origin + reviewPath(row.enrollmentId),
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
        const createdAtMillis = yield* Clock.currentTimeMillis
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
      ).pipe(Effect.tap(() => changes.publish("requests", roster.owner)))

    const state: typeof Enrollment.Service.state = (claim) => read(Effect.flatMap(byClaim(claim), view))

    return { byClaim, submit, state }
  })

export type FiledRequests = Effect.Effect.Success<ReturnType<typeof make>>
