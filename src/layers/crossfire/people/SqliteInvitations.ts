// `Invitations` over crossfire's database and the homeserver's registration tokens. Each is recorded before the homeserver
// has its token, and settled by what the homeserver says of it: used, or gone.
import { Clock, Duration, Effect, Layer, Option, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { type Actor, mayAdminister } from "../../../domain/Actor.ts"
import { AlreadySettled, TooMany } from "../../../domain/api/AccessErrors.ts"
import { NotAllowed, NotFound } from "../../../domain/api/CrossfireErrors.ts"
import { InvitationId } from "../../../domain/api/People.ts"
import type { UserId } from "../../../domain/Ids.ts"
import { maxOpenInvitations, maxOpenInvitationsPerMember, mayInvitePeople } from "../../../domain/Signup.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb, type StoreFailed } from "../../../services/Database.ts"
import { Invitations } from "../../../services/Invitations.ts"
import type { MatrixError } from "../../../services/Matrix.ts"
import { RegistrationTokens, type TokensElsewhere } from "../../../services/RegistrationTokens.ts"
import { Signup } from "../../../services/Signup.ts"
import { WebAddress } from "../../../services/WebAddress.ts"
import { hashOf, newSecret } from "../../crypto/Secret.ts"
import * as InvitationRows from "./InvitationRows.ts"

/** How often used and expired ones are settled though nobody asks. */
const upkeepPeriod = Duration.hours(1)
const upkeepRetry = Duration.minutes(1)
/** A registration that began before the end of its token still finds it. */
const expiredKeptMillis = 60 * 60 * 1000

const makerOf = (by: Actor): UserId | null => by._tag === "Person" ? by.userId : null

/** Where there are no tokens of crossfire's, whoever asks is told where they are made. */
const notHere = <A, E, R>(work: Effect.Effect<A, E | TokensElsewhere, R>) =>
  Effect.catchIf(
    work,
    (error): error is Extract<E | TokensElsewhere, TokensElsewhere> =>
      typeof error === "object" && error !== null && "_tag" in error && error._tag === "TokensElsewhere",
    ({ message }) => Effect.fail(new NotAllowed({ reason: message }))
  )

const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const { read, transaction } = database
  const rows = InvitationRows.make(database)
  const tokens = yield* RegistrationTokens
  const signup = yield* Signup
  const address = yield* WebAddress
  const changes = yield* Changes
  /** Being made just now, by this process: every other row in that state was left by an earlier one, or by a failure. */
  const beingMade = new Set<InvitationId>()

  /** What the homeserver knows is taken over, and what it need not know any more is taken from it. */
  const settle: Effect.Effect<void, StoreFailed | MatrixError | TokensElsewhere> = Effect.gen(function*() {
    const open = yield* read(rows.unsettled(undefined))
    if (open.length === 0) return
    const states = new Map((yield* tokens.states).map(({ tokenHash, used }) => [tokenHash, used]))
    const nowMillis = yield* Clock.currentTimeMillis
    for (const row of open) {
      if (row.state === "making") {
        if (beingMade.has(row.invitationId)) continue
        // Read again: it may have been made while the homeserver answered.
        const now = yield* read(rows.find(row.invitationId))
        if (Option.isNone(now) || now.value.state !== "making") continue
        // Never shown to anybody.
        if (states.has(row.tokenHash)) yield* tokens.remove(row.tokenHash)
        yield* transaction(rows.forget(row.invitationId))
        continue
      }
      const isUsed = states.get(row.tokenHash) === true
      if (!isUsed && row.expiresAtMillis + expiredKeptMillis > nowMillis) continue
      yield* transaction(rows.settle(row.invitationId, isUsed ? "used" : "expired", nowMillis))
      if (states.has(row.tokenHash)) yield* tokens.remove(row.tokenHash)
      yield* changes.publish("invitations", row.madeBy)
    }
  })

  const mayMake = (by: Actor) =>
    Effect.flatMap(signup.policy, (policy) =>
      mayInvitePeople(by, policy)
        ? Effect.void
        : Effect.fail(new NotAllowed({ reason: "In this instance only administrators invite people" })))

  /** Counted where it is recorded: two at once cannot both be the last one. */
  const record = (by: Actor, row: Parameters<typeof rows.insert>[0]) =>
    transaction(Effect.gen(function*() {
      const nowMillis = row.createdAtMillis
      const all = yield* Effect.orDie(rows.countOpen({ madeBy: null, nowMillis }))
      if (all.count >= maxOpenInvitations) {
        return yield* new TooMany({ what: "open invitations", max: maxOpenInvitations })
      }
      if (!mayAdminister(by)) {
        const own = yield* Effect.orDie(rows.countOpen({ madeBy: row.madeBy, nowMillis }))
        if (own.count >= maxOpenInvitationsPerMember) {
          return yield* new TooMany({ what: "open invitations of yours", max: maxOpenInvitationsPerMember })
        }
      }
      yield* rows.insert(row)
    }))

  const made: typeof Invitations.Service.make = (by, { lastsMillis, note }) =>
    notHere(Effect.gen(function*() {
      yield* mayMake(by)
      yield* settle
      const token = yield* newSecret()
      const createdAtMillis = yield* Clock.currentTimeMillis
      const row = {
        invitationId: InvitationId.make(yield* Effect.sync(() => randomUUID())),
        tokenHash: hashOf(token),
        madeBy: makerOf(by),
        note,
        createdAtMillis,
        expiresAtMillis: createdAtMillis + lastsMillis
      }
      beingMade.add(row.invitationId)
      yield* Effect.gen(function*() {
        yield* record(by, row)
        // A refusal made none, and what has no answer is found out about later.
        yield* Effect.catchIf(
          tokens.make(token, row.expiresAtMillis),
          ({ _tag }) => _tag === "MatrixRefused" || _tag === "TokensElsewhere",
          (refused) => Effect.zipRight(transaction(rows.forget(row.invitationId)), Effect.fail(refused))
        )
        yield* transaction(rows.opened(row.invitationId))
      }).pipe(Effect.ensuring(Effect.sync(() => beingMade.delete(row.invitationId))))
      yield* changes.publish("invitations", row.madeBy)
      const { tokenHash: _, ...shown } = row
      return {
        invitation: { ...shown, state: "open" as const },
        token: Redacted.value(token),
        homeserverUrl: address.homeserverUrl,
        elementUrl: address.elementUrl
      }
    }))

  const revoke: typeof Invitations.Service.revoke = (by, invitationId) =>
    notHere(Effect.gen(function*() {
      if (by._tag === "Agent") return yield* new NotAllowed({ reason: "An agent has no invitations" })
      const missing = new NotFound({ what: "invitation" })
      const mine = Effect.flatMap(read(rows.find(invitationId)), (row) =>
        Option.isSome(row) && (mayAdminister(by) || row.value.madeBy === makerOf(by))
          ? Effect.succeed(row.value)
          : Effect.fail(missing))
      yield* mine
      yield* settle
      const row = yield* mine
      const nowMillis = yield* Clock.currentTimeMillis
      const now = InvitationRows.viewOf(row, nowMillis)
      if (now === null) {
        return yield* missing
      }
      if (now.state !== "open") {
        return yield* new AlreadySettled({ what: "invitation", state: now.state })
      }
      // First there, where it counts: a row that said "revoked" while the token is good would be a lie.
      yield* tokens.remove(row.tokenHash)
      yield* transaction(rows.settle(invitationId, "revoked", nowMillis))
      yield* changes.publish("invitations", row.madeBy)
      return { ...now, state: "revoked" as const }
    }))

  const list: typeof Invitations.Service.list = (by) =>
    Effect.gen(function*() {
      if (by._tag === "Agent") return yield* new NotAllowed({ reason: "An agent has no invitations" })
      // Without the homeserver the list is as it was last known.
      yield* Effect.catchAll(settle, (error) => error._tag === "StoreFailed" ? Effect.fail(error) : Effect.void)
      const found = yield* read(rows.newest(mayAdminister(by) ? null : makerOf(by)))
      const nowMillis = yield* Clock.currentTimeMillis
      return found.map((row) => InvitationRows.viewOf(row, nowMillis)).filter((view) => view !== null)
    })

  const upkeep = settle.pipe(
    Effect.as(upkeepPeriod),
    Effect.catchTag("TokensElsewhere", () => Effect.never),
    // Not up yet, for example.
    Effect.orElseSucceed(() => upkeepRetry),
    Effect.flatMap(Effect.sleep),
    Effect.forever
  )
  yield* Effect.forkScoped(upkeep)

  return Invitations.of({ list, make: made, revoke })
})

export const layer = Layer.scoped(Invitations, make)
