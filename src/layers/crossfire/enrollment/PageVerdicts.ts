// Requests as the web pages show and decide them, found by their ID. Who may see one and who may approve stands in the
// domain; the code ties the owner's word to what the owner started.
import { Clock, Effect, Option } from "effect"
import { type Actor, mayAdminister, mayApproveFor, mayManageAgentsOf } from "../../../domain/Actor.ts"
import { AlreadySettled, CodeWrong } from "../../../domain/api/AccessErrors.ts"
import { NotAllowed, NotFound, TooManyAttempts } from "../../../domain/api/CrossfireErrors.ts"
import type { RequestView } from "../../../domain/api/Management.ts"
import { judge } from "../../../domain/Enrollment.ts"
import { readCode } from "../../../domain/EnrollmentCode.ts"
import type { EnrollmentId, UserId } from "../../../domain/Ids.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { Enrollment } from "../../../services/Enrollment.ts"
import * as AttemptWindow from "./AttemptWindow.ts"
import * as EnrollmentRows from "./EnrollmentRows.ts"
import { stateOf } from "./FiledRequests.ts"
import * as IdentityRows from "./IdentityRows.ts"

const maxListed = 200

/** Wrong codes of one person, over all requests, within the window; further tries are refused, right or wrong. */
export const maxWrongCodes = 10
const wrongCodesWindowMillis = 10 * 60 * 1000
const maxPeopleCounted = 10_000

const userOf = (actor: Actor): UserId | null => actor._tag === "Person" ? actor.userId : null

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const { read, transaction } = database
  const changes = yield* Changes
  const enrollments = EnrollmentRows.make(database)
  const identities = IdentityRows.make(database)
  const wrongCodes = AttemptWindow.make({ maxKeys: maxPeopleCounted, windowMillis: wrongCodesWindowMillis })

  const view = (row: EnrollmentRows.EnrollmentRow): Effect.Effect<RequestView> =>
    Effect.map(stateOf(row), (state) => ({
      enrollmentId: row.enrollmentId,
      owner: row.owner,
      fleetKey: row.roster.fleet,
      names: row.roster.agents.map((agent) => agent.name),
      state,
      createdAtMillis: row.createdAtMillis,
      expiresAtMillis: row.expiresAtMillis
    }))

  const visible = (by: Actor, enrollmentId: EnrollmentId) =>
    enrollments.byId(enrollmentId).pipe(
      Effect.flatMap(Option.match({
        onNone: () => Effect.fail(new NotFound({ what: "request" })),
        onSome: (row) =>
          mayManageAgentsOf(by, row.owner) ? Effect.succeed(row) : Effect.fail(new NotFound({ what: "request" }))
      }))
    )

  const requests: typeof Enrollment.Service.requests = (by) =>
    read(Effect.gen(function*() {
      const owner = userOf(by)
      if (owner === null && !mayAdminister(by)) return []
      const nowMillis = yield* Clock.currentTimeMillis
      const rows = yield* enrollments.open({
        owner: mayAdminister(by) ? null : owner,
        nowMillis,
        maxRows: maxListed
      })
      return yield* Effect.forEach(rows, view)
    }))

  const request: typeof Enrollment.Service.request = (by, enrollmentId) =>
    read(Effect.gen(function*() {
      const row = yield* visible(by, enrollmentId)
      const existing = yield* identities.standingAgents({ owner: row.owner, fleetKey: row.roster.fleet })
      const shown = yield* view(row)
      return {
        ...shown,
        roster: row.roster,
        existing: existing.map(({ key, name }) => ({ key, name })),
        mayApprove: shown.state === "pending" && mayApproveFor(by, row.owner)
      }
    }))

  /** Moves the request as the domain judges; what no longer waits is told as it stands. */
  const settle = (by: Actor, row: EnrollmentRows.EnrollmentRow, verdict: "confirm" | "reject", tied: boolean) =>
    Effect.gen(function*() {
      const standing = { owner: mayApproveFor(by, row.owner), administrator: mayAdminister(by) }
      const outcome = judge(verdict, standing, yield* stateOf(row), tied)
      switch (outcome._tag) {
        case "Unknown":
          return yield* Effect.dieMessage("a request was judged that this actor cannot see")
        case "Untied":
          return yield* new CodeWrong()
        case "Stands":
          return yield* new AlreadySettled({ what: "request", state: outcome.state })
        case "Approve":
        case "Reject": {
          const state = outcome._tag === "Approve" ? "approved" as const : "rejected" as const
          yield* enrollments.settle(row.enrollmentId, state, userOf(by), yield* Clock.currentTimeMillis)
          return yield* view({ ...row, state })
        }
      }
    })

  const published = <E>(settled: Effect.Effect<RequestView, E>) =>
    Effect.tap(settled, ({ owner }) => changes.publish("requests", owner))

  // Counting stands inside of the transaction: tries at the same time come one after another.
  const approve: typeof Enrollment.Service.approve = (by, enrollmentId, code) =>
    transaction(Effect.gen(function*() {
      const row = yield* visible(by, enrollmentId)
      if (!mayApproveFor(by, row.owner)) {
        return yield* new NotAllowed({ reason: "Only the owner named in a request can approve it" })
      }
      const before = yield* wrongCodes.look(row.owner)
      if (before.count >= maxWrongCodes) {
        return yield* new TooManyAttempts({ retryAfterMillis: Math.ceil(before.endsInMillis) })
      }
      return yield* settle(by, row, "confirm", Option.contains(readCode(code), row.code)).pipe(
        Effect.tapErrorTag("CodeWrong", () => wrongCodes.add(row.owner))
      )
    })).pipe(published)

  const reject: typeof Enrollment.Service.reject = (by, enrollmentId) =>
    transaction(Effect.flatMap(visible(by, enrollmentId), (row) => settle(by, row, "reject", false))).pipe(
      Effect.catchTag("CodeWrong", () => Effect.dieMessage("a rejection asks for no code")),
      published
    )

  return { requests, request, approve, reject }
})
