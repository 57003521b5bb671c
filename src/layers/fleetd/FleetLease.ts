// Takes and keeps the fleet's lease. Expiry is judged at the moment of asking by both clocks, so that neither a suspended
// machine nor a moved wall clock makes a dead lease look alive; crossfire's fencing number has the last word anyway.
import { Clock, Duration, Effect, Layer, Queue, Schedule, Stream, SubscriptionRef } from "effect"
import { StaleGeneration } from "../../domain/api/CrossfireErrors.ts"
import { CredentialRefused, CrossfireClient, type LeaseStamp } from "../../services/CrossfireClient.ts"
import { Lease, type LeaseState } from "../../services/Lease.ts"

/** What is kept back from the lease's length, so that this side always ends first. */
const marginMillis = 3_000
const retryAfter = Duration.seconds(2)
/** It is good again by the owner's hand alone. */
const retryRefusedAfter = Duration.seconds(20)
const releaseWithin = Duration.seconds(3)

interface Held {
  readonly stamp: LeaseStamp
  readonly lastsMillis: number
  readonly wallMillis: number
  readonly monotonicNanos: bigint
}

type Inner = { readonly _tag: "Held"; readonly held: Held } | Extract<LeaseState, { readonly _tag: "NotHeld" }>

const credentialRefused: Inner = {
  _tag: "NotHeld",
  reason: "crossfire does not accept this fleet's credential: it was revoked, or replaced from another folder. " +
    "Make new ones: fleet down, then fleet enroll ROSTER --again --new-credentials",
  credentialRefused: true
}

const isSame = (one: LeaseStamp, other: LeaseStamp): boolean =>
  one.generation === other.generation && one.incarnation === other.incarnation

export const make = (config: { readonly rootId: string; readonly holder: string; readonly takeOver: boolean }) =>
  Effect.gen(function*() {
    const client = yield* CrossfireClient
    const inner = yield* SubscriptionRef.make<Inner>({ _tag: "NotHeld", reason: "not connected yet" })
    const losses = yield* Queue.sliding<void>(1)

    const remainingMillis = (held: Held) =>
      Effect.gen(function*() {
        const wall = (yield* Clock.currentTimeMillis) - held.wallMillis
        const monotonic = Number((yield* Clock.currentTimeNanos) - held.monotonicNanos) / 1e6
        return held.lastsMillis - marginMillis - Math.max(wall, monotonic)
      })

    const outward = (state: Inner): Effect.Effect<LeaseState> =>
      state._tag === "NotHeld"
        ? Effect.succeed(state)
        : Effect.map(
          remainingMillis(state.held),
          (left): LeaseState =>
            left > 0
              ? { _tag: "Held", stamp: state.held.stamp }
              : { _tag: "NotHeld", reason: "crossfire was not reached in time to renew the lease" }
        )

    const notHeld = (reason: string) => SubscriptionRef.set(inner, { _tag: "NotHeld", reason })

    /** The clocks are read before the request: the lease may have started at any time since. */
    const granted = <E>(request: Effect.Effect<{ readonly lastsMillis: number } & LeaseStamp, E>) =>
      Effect.gen(function*() {
        const wallMillis = yield* Clock.currentTimeMillis
        const monotonicNanos = yield* Clock.currentTimeNanos
        const grant = yield* request
        const stamp = { generation: grant.generation, incarnation: grant.incarnation }
        const held: Held = { stamp, lastsMillis: grant.lastsMillis, wallMillis, monotonicNanos }
        return held
      })

    const acquire = (takeOver: boolean) =>
      granted(client.acquireLease({ root: config.rootId, holder: config.holder, takeOver })).pipe(
        // A loss that was told of an earlier lease says nothing about this one.
        Effect.tap(() => losses.takeAll),
        Effect.tap((held) => SubscriptionRef.set(inner, { _tag: "Held", held })),
        Effect.tapError((error) =>
          error._tag === "CredentialRefused" ? SubscriptionRef.set(inner, credentialRefused) : notHeld(error.message)
        ),
        Effect.tapErrorTag("LeaseHeld", (error) => Effect.logWarning(error.message)),
        Effect.tapErrorTag(
          "CredentialRefused",
          (error) => Effect.zipRight(Effect.logError(error.message), Effect.sleep(retryRefusedAfter))
        ),
        Effect.retry(Schedule.spaced(retryAfter))
      )

    /** A renewal that is answered after its lease was reported lost brings nothing back. */
    const renewed = (before: Held, held: Held) =>
      SubscriptionRef.modify(
        inner,
        (now): readonly [boolean, Inner] =>
          now._tag === "Held" && isSame(now.held.stamp, before.stamp) ? [true, { _tag: "Held", held }] : [false, now]
      )

    /** Renews until the lease is over: refused as stale, reported lost, or not reached in time. */
    const keep = (first: Held) =>
      Effect.gen(function*() {
        let held = first
        while (true) {
          const left = yield* remainingMillis(held)
          if (left <= 0) return yield* notHeld("crossfire was not reached in time to renew the lease")
          const lost = yield* Effect.timeoutOption(losses.take, Math.min(left, held.lastsMillis / 3))
          if (lost._tag === "Some") return
          const answer = yield* granted(client.renewLease(held.stamp)).pipe(
            Effect.timeoutFail({ duration: Math.max(left, 1), onTimeout: () => "late" as const }),
            Effect.either
          )
          if (answer._tag === "Right") {
            if (!(yield* renewed(held, answer.right))) return
            held = answer.right
          } else if (answer.left instanceof StaleGeneration) return yield* notHeld(answer.left.message)
          else if (answer.left instanceof CredentialRefused) return yield* SubscriptionRef.set(inner, credentialRefused)
          else yield* Effect.sleep("200 millis")
        }
      })

    // Someone may have taken over on purpose: only the first acquisition of this daemon may insist.
    let insist = config.takeOver
    yield* Effect.forever(
      Effect.suspend(() => acquire(insist)).pipe(
        Effect.tap(() =>
          Effect.sync(() => {
            insist = false
          })
        ),
        Effect.flatMap(keep)
      )
    ).pipe(Effect.forkScoped)

    yield* Effect.addFinalizer(() =>
      Effect.gen(function*() {
        const state = yield* SubscriptionRef.get(inner)
        yield* notHeld("this daemon is ending")
        if (state._tag === "NotHeld") return
        yield* Effect.ignore(client.releaseLease(state.held.stamp).pipe(Effect.timeout(releaseWithin)))
      })
    )

    return Lease.of({
      state: Effect.flatMap(SubscriptionRef.get(inner), outward),
      changes: inner.changes.pipe(Stream.mapEffect(outward)),
      lost: (stamp, reason) =>
        Effect.gen(function*() {
          const state = yield* SubscriptionRef.get(inner)
          if (state._tag === "NotHeld" || !isSame(state.held.stamp, stamp)) return
          yield* notHeld(reason)
          yield* losses.offer(undefined)
        })
    })
  })

export const layer = (config: Parameters<typeof make>[0]) => Layer.scoped(Lease, make(config))
