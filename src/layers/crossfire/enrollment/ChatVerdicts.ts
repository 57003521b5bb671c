// Requests as the bot shows and decides them in a direct chat, found by their code. Everything joins the transaction that
// marks the person's message as handled.
import { Clock, Effect, Option } from "effect"
import { judge } from "../../../domain/Enrollment.ts"
import type { UserId } from "../../../domain/Ids.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import type { Enrollment } from "../../../services/Enrollment.ts"
import * as EnrollmentRows from "./EnrollmentRows.ts"
import { maxOpenPerOwner, stateOf } from "./FiledRequests.ts"
import * as IdentityRows from "./IdentityRows.ts"

/** How many an answer of the bot lists. */
const maxListed = 20

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const { read, transaction } = database
  const changes = yield* Changes
  const enrollments = EnrollmentRows.make(database)
  const identities = IdentityRows.make(database)

  /** Whoever was deactivated decides nothing, their own requests included. */
  const mayAct = (user: UserId) => Effect.map(identities.personRole(user), Option.isSome)

  const review: typeof Enrollment.Service.review = (code, reader, roomId) =>
    transaction(Effect.gen(function*() {
      const row = yield* enrollments.byCode(code)
      if (Option.isNone(row) || row.value.owner !== reader || !(yield* mayAct(reader))) {
        return { _tag: "Unknown" as const }
      }
      const { enrollmentId, expiresAtMillis, owner, roster } = row.value
      const state = yield* stateOf(row.value)
      if (state !== "pending") return { _tag: "Stands" as const, state }
      yield* enrollments.shown(enrollmentId, roomId)
      const existing = yield* identities.standingAgents({ owner, fleetKey: roster.fleet })
      return { _tag: "Review" as const, review: { roster, code, expiresAtMillis, existing } }
    }))

  const isAdministrator = (user: UserId) =>
    Effect.map(identities.personRole(user), Option.exists(({ role }) => role === "administrator"))

  const decide: typeof Enrollment.Service.decide = (verdict, by, code, roomId) =>
    transaction(Effect.gen(function*() {
      const row = yield* enrollments.byCode(code)
      if (Option.isNone(row)) return { _tag: "Unknown" as const }
      const { enrollmentId, owner, shownRoom } = row.value
      const standing = { owner: owner === by && (yield* mayAct(by)), administrator: yield* isAdministrator(by) }
      const outcome = judge(verdict, standing, yield* stateOf(row.value), shownRoom === roomId)
      if (outcome._tag !== "Approve" && outcome._tag !== "Reject") return outcome
      const nowMillis = yield* Clock.currentTimeMillis
      yield* enrollments.settle(enrollmentId, outcome._tag === "Approve" ? "approved" : "rejected", by, nowMillis)
      // Whoever asks because of this waits for the transaction's end; rolled back, it was one word too many.
      yield* changes.publish("requests", owner)
      return outcome
    }))

  const openOf = (owner: UserId | null, maxRows: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => enrollments.open({ owner, nowMillis, maxRows }))

  const rejectAll: typeof Enrollment.Service.rejectAll = (owner) =>
    transaction(Effect.gen(function*() {
      if (!(yield* mayAct(owner))) return 0
      const nowMillis = yield* Clock.currentTimeMillis
      const rows = yield* openOf(owner, maxOpenPerOwner)
      for (const row of rows) yield* enrollments.settle(row.enrollmentId, "rejected", owner, nowMillis)
      yield* changes.publish("requests", owner)
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

  return { review, decide, rejectAll, open }
})
