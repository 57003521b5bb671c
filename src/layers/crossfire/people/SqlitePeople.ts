// `People` over crossfire's database. Who asks is looked up in the transaction itself: a session that was proven a moment
// ago gives no role that was taken since.
import { Clock, Effect, Layer, Option } from "effect"
import { Actor, mayAdminister } from "../../../domain/Actor.ts"
import { AlreadySettled, LastAdministrator } from "../../../domain/api/AccessErrors.ts"
import { NotAllowed, NotFound } from "../../../domain/api/CrossfireErrors.ts"
import type { UserId } from "../../../domain/Ids.ts"
import { canBePerson, type HomeserverKind, isLastAdministrator, letsIn } from "../../../domain/Person.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Instance } from "../../../services/Instance.ts"
import type { LevelChanges } from "../../../services/LevelChanges.ts"
import { type KnownPerson, People } from "../../../services/People.ts"
import type { Revocations } from "../../../services/Revocations.ts"
import type { Agents } from "../../../services/store/Agents.ts"
import type { WakePolicies } from "../../../services/WakePolicies.ts"
import * as EndedSessions from "./EndedSessions.ts"
import * as PersonRows from "./PersonRows.ts"
import * as SessionRows from "./SessionRows.ts"
import { storedPolicy } from "./SqliteSignup.ts"
import * as WakeRights from "./WakeRights.ts"

const maxPeopleListed = 1_000

export interface PeopleOptions {
  /** Managed: crossfire's own rule let in everybody who has an account there. */
  readonly homeserver: HomeserverKind
}

export const make = ({ homeserver }: PeopleOptions) =>
  Effect.gen(function*() {
    const database = yield* CrossfireDb
    const { read, transaction } = database
    const { serverName } = yield* Instance
    const changes = yield* Changes
    const rows = PersonRows.make(database)
    const sessions = SessionRows.make(database)
    const policy = Effect.provideService(storedPolicy, CrossfireDb, database)
    const tell = yield* EndedSessions.make
    const wakeRights = yield* WakeRights.make

    const canBe = (userId: UserId) =>
      canBePerson(userId, serverName) ? Effect.map(rows.isAgent(userId), (agent) => !agent) : Effect.succeed(false)

    const isLetIn = (userId: UserId) =>
      Effect.flatMap(canBe(userId), (can) =>
        can ? Effect.map(policy, (policy) => letsIn(homeserver, policy)) : Effect.succeed(false))

    const administering = (by: Actor) =>
      Effect.gen(function*() {
        const person = by._tag === "Person" ? yield* rows.find(by.userId) : Option.none()
        const now = by._tag !== "Person"
          ? by
          : Actor.Person({
            userId: by.userId,
            role: Option.exists(person, ({ active, role }) =>
                active && role === "administrator")
              ? "administrator"
              : "member"
          })
        if (!mayAdminister(now)) return yield* new NotAllowed({ reason: "Only an administrator may do this" })
      })

    const known = (userId: UserId) =>
      Effect.flatMap(
        rows.find(userId),
        Option.match({ onNone: () => Effect.fail(new NotFound({ what: "person" })), onSome: Effect.succeed })
      )

    /** Fails when nobody would administer without this person. */
    const replaceable = (person: KnownPerson) =>
      Effect.flatMap(rows.otherAdministrators(person.userId), (others) =>
        isLastAdministrator(person, others) ? Effect.fail(new LastAdministrator()) : Effect.void)

    const view = (userId: UserId) =>
      Effect.gen(function*() {
        const nowMillis = yield* Clock.currentTimeMillis
        const [found] = yield* rows.views({ userId, nowMillis, maxRows: 1 })
        return found ?? (yield* Effect.dieMessage("a person that was just found is missing"))
      })

    const endSessions = (userId: UserId) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
        sessions.endAll(userId, null, nowMillis))

    const deactivated = (userId: UserId) =>
      Effect.gen(function*() {
        yield* rows.setDeactivated(userId, yield* Clock.currentTimeMillis)
        yield* wakeRights.ended(userId)
        return yield* endSessions(userId)
      })

    /** One change of one person by an administrator: sessions that it ended are told of when it stands. */
    const change = <E, R>(
      by: Actor,
      userId: UserId,
      apply: (person: KnownPerson) => Effect.Effect<ReadonlyArray<SessionRows.EndedRow>, E, R>
    ) =>
      transaction(Effect.gen(function*() {
        yield* administering(by)
        const ended = yield* apply(yield* known(userId))
        return { ended, person: yield* view(userId) }
      })).pipe(
        Effect.tap(({ ended }) =>
          Effect.zipRight(tell(ended), changes.publish("people", userId))
        ),
        Effect.map(({ person }) => person),
        // Nobody who gives up waiting keeps an open stream from its end.
        Effect.uninterruptible
      )

    return People.of({
      find: (userId) => read(rows.find(userId)),
      admit: (userId) =>
        transaction(Effect.gen(function*() {
          const person = yield* rows.find(userId)
          if (Option.isSome(person)) return { person, added: false }
          if (!(yield* isLetIn(userId))) return { person: Option.none(), added: false }
          // Their own ID stands for: by signing in.
          yield* rows.insert(userId, "member", userId, yield* Clock.currentTimeMillis)
          return { person: Option.some({ userId, role: "member" as const, active: true }), added: true }
        })).pipe(
          Effect.tap(({ added }) => added ? changes.publish("people", userId) : Effect.void),
          Effect.map(({ person }) => person)
        ),
      wouldAdmit: (userId) =>
        read(Effect.flatMap(
          rows.find(userId),
          Option.match({ onSome: ({ active }) => Effect.succeed(active), onNone: () => isLetIn(userId) })
        )),
      list: (by) =>
        read(Effect.gen(function*() {
          yield* administering(by)
          const nowMillis = yield* Clock.currentTimeMillis
          return yield* rows.views({ userId: null, nowMillis, maxRows: maxPeopleListed })
        })),
      add: (by, userId, role) =>
        transaction(Effect.gen(function*() {
          yield* administering(by)
          if (!(yield* canBe(userId))) {
            return yield* new NotAllowed({ reason: "Only a person with an account on this homeserver can be added" })
          }
          const existing = yield* rows.find(userId)
          if (Option.isSome(existing)) {
            const state = existing.value.active ? "known" : "deactivated"
            return yield* new AlreadySettled({ what: "person", state })
          }
          const addedBy = by._tag === "Person" ? by.userId : null
          yield* rows.insert(userId, role, addedBy, yield* Clock.currentTimeMillis)
          return yield* view(userId)
        })).pipe(Effect.tap(() => changes.publish("people", userId))),
      setRole: (by, userId, role) =>
        change(by, userId, (person) =>
          Effect.gen(function*() {
            if (person.role === role) return []
            if (role !== "administrator") yield* replaceable(person)
            yield* rows.setRole(userId, role)
            return yield* endSessions(userId)
          })),
      deactivate: (by, userId) =>
        change(by, userId, (person) =>
          Effect.gen(function*() {
            if (!person.active) return []
            yield* replaceable(person)
            return yield* deactivated(userId)
          })),
      reactivate: (by, userId) =>
        change(by, userId, (person) =>
          Effect.gen(function*() {
            if (person.active) return []
            yield* rows.setDeactivated(userId, null)
            yield* wakeRights.begun(userId)
            return []
          })),
      accountGone: (userId) =>
        transaction(
          Effect.flatMap(rows.find(userId), (person) =>
            Option.exists(person, ({ active }) => active)
              ? Effect.asSome(deactivated(userId))
              : Effect.succeedNone)
        ).pipe(
          Effect.tap(Option.match({
            onNone: () => Effect.void,
            onSome: (ended) => Effect.zipRight(tell(ended), changes.publish("people", userId))
          })),
          Effect.asVoid,
          Effect.uninterruptible
        )
    })
  })

export const layer = (
  options: PeopleOptions
): Layer.Layer<
  People,
  never,
  CrossfireDb | Instance | LevelChanges | WakePolicies | Agents | Revocations | Changes
> => Layer.effect(People, make(options))
