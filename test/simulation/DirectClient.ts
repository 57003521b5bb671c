// fleetd's client without a network: calls crossfire's services of the present life directly, with the faults of a network.
import { Effect, Layer, Option, Ref, Stream } from "effect"
import type { SendAnswer } from "../../src/domain/api/Crossfire.ts"
import type { FleetId, UserId } from "../../src/domain/Ids.ts"
import { Acknowledgments } from "../../src/services/Acknowledgments.ts"
import {
  CrossfireClient,
  CrossfireUnavailable,
  type LeaseStamp,
  ReadRefused,
  RoomPageFailed
} from "../../src/services/CrossfireClient.ts"
import { FleetLeases } from "../../src/services/FleetLeases.ts"
import { SendRefused } from "../../src/services/FleetOutbox.ts"
import { Levels } from "../../src/services/Levels.ts"
import { Matrix } from "../../src/services/Matrix.ts"
import { Outbound } from "../../src/services/Outbound.ts"
import { RoomPages } from "../../src/services/RoomPages.ts"

/** crossfire as it can be reached: its services, while it lives. */
export type CrossfireServices =
  | Acknowledgments
  | FleetLeases
  | Levels
  | Matrix
  | Outbound
  | RoomPages

export interface Life {
  readonly run: <A, E>(effect: Effect.Effect<A, E, CrossfireServices>) => Effect.Effect<A, E>
  /** Waits until this life is over. */
  readonly ended: Effect.Effect<void>
  readonly over: () => boolean
}

export interface NetworkFaults {
  /** Decides, per call, whether the request or its answer is lost. */
  readonly plan: Effect.Effect<"ok" | "lost-request" | "lost-answer">
  readonly latency: Effect.Effect<void>
}

export const make = <L extends Life>(
  life: Ref.Ref<Option.Option<L>>,
  fleetId: FleetId,
  owner: UserId,
  faults: NetworkFaults
) => {
  const unavailable = (operation: string, reason: string) => new CrossfireUnavailable({ operation, reason })

  const call = <A, E>(operation: string, effect: Effect.Effect<A, E, CrossfireServices>) =>
    Effect.gen(function*() {
      const plan = yield* faults.plan
      yield* faults.latency
      if (plan === "lost-request") return yield* unavailable(operation, "lost request")
      const present = yield* Ref.get(life)
      if (Option.isNone(present)) return yield* unavailable(operation, "down")
      // A server that is killed meanwhile answers nothing; what its last moments threw is not the client's to see.
      const answer = yield* present.value.run(effect).pipe(
        Effect.catchAllDefect((defect) =>
          present.value.over() ? Effect.fail(unavailable(operation, "killed")) : Effect.die(defect)
        ),
        Effect.raceFirst(Effect.zipRight(present.value.ended, Effect.fail(unavailable(operation, "killed"))))
      )
      yield* faults.latency
      if (plan === "lost-answer") return yield* unavailable(operation, "lost answer")
      return answer
    })

  const stored = (operation: string) => (failed: { readonly message: string }) =>
    Effect.fail(unavailable(operation, failed.message))

  const from = (stamp: LeaseStamp, agentId: Parameters<CrossfireClient["Type"]["page"]>[1]) => ({
    agentId,
    fleetId,
    stamp
  })

  const client = CrossfireClient.of({
    acquireLease: (request) =>
      call("lease", Effect.flatMap(FleetLeases, (leases) => leases.acquire({ fleetId, ...request }))).pipe(
        Effect.catchTag("StoreFailed", stored("lease"))
      ),
    renewLease: (stamp) =>
      call("renew", Effect.flatMap(FleetLeases, (leases) => leases.renew(fleetId, stamp))).pipe(
        Effect.catchTag("StoreFailed", stored("renew"))
      ),
    releaseLease: (stamp) =>
      call("release", Effect.flatMap(FleetLeases, (leases) => leases.release(fleetId, stamp))).pipe(
        Effect.catchTag("StoreFailed", stored("release")),
        Effect.asVoid
      ),
    levels: (stamp) =>
      Stream.unwrap(Effect.gen(function*() {
        const present = yield* Ref.get(life)
        if (Option.isNone(present)) return yield* unavailable("levels", "down")
        const followed = yield* present.value.run(Effect.gen(function*() {
          const leases = yield* FleetLeases
          yield* leases.require(fleetId, stamp)
          const levels = yield* Levels
          return levels.follow(fleetId).pipe(
            Stream.interruptWhen(Effect.raceFirst(leases.over(fleetId, stamp), present.value.ended))
          )
        }))
        return Stream.catchTag(followed, "StoreFailed", (failed) => Stream.fail(unavailable("levels", failed.message)))
      })).pipe(
        Stream.catchTag("StoreFailed", (failed) => Stream.fail(unavailable("levels", failed.message)))
      ),
    boundary: (stamp) =>
      call(
        "boundary",
        Effect.gen(function*() {
          const leases = yield* FleetLeases
          yield* leases.require(fleetId, stamp)
          return yield* (yield* Matrix).boundary
        })
      ).pipe(
        Effect.catchTag("StoreFailed", "HomeserverBusy", "HomeserverUnavailable", "MatrixRefused", stored("boundary"))
      ),
    page: (stamp, agentId, request) =>
      call(
        "page",
        Effect.gen(function*() {
          const leases = yield* FleetLeases
          yield* leases.require(fleetId, stamp)
          return yield* (yield* RoomPages).read({ agentId, ...request })
        })
      ).pipe(
        Effect.catchTags({
          StoreFailed: stored("page"),
          HomeserverDown: stored("page"),
          ServerBusy: stored("page"),
          NotAllowed: (refused) => Effect.fail(new ReadRefused({ reason: refused.message })),
          PageUnusable: (failed) => Effect.fail(new RoomPageFailed({ reason: failed.reason }))
        })
      ),
    acknowledge: (stamp, agentId, acknowledgment) =>
      call(
        "acknowledge",
        Effect.flatMap(Acknowledgments, (accepting) => accepting.accept(from(stamp, agentId), acknowledgment))
      ).pipe(Effect.catchTag("StoreFailed", stored("acknowledge"))),
    send: (stamp, agentId, message) =>
      call("send", Effect.flatMap(Outbound, (outbound) => outbound.say(from(stamp, agentId), message))).pipe(
        Effect.catchTags({
          StoreFailed: stored("send"),
          NotAllowed: (refused) => Effect.fail(new SendRefused({ reason: refused.message })),
          MessageRefused: (refused) => Effect.fail(new SendRefused({ reason: refused.message }))
        }),
        Effect.flatMap((state): Effect.Effect<SendAnswer, SendRefused> => {
          switch (state._tag) {
            case "Sent":
              return Effect.succeed({ status: "sent", eventId: state.eventId })
            case "Waiting":
              return Effect.succeed({ status: "queued" })
            case "Refused":
              return Effect.fail(new SendRefused({ reason: state.errcode }))
          }
        })
      ),
    // Nothing here carries a credential.
    rotateCredentials: () => Effect.dieMessage("nobody rotates here"),
    notice: (stamp, operationId, text) =>
      call(
        "notice",
        Effect.gen(function*() {
          const leases = yield* FleetLeases
          yield* leases.require(fleetId, stamp)
          yield* (yield* Outbound).notice({ to: { recipient: owner }, operationId, text })
        })
      ).pipe(Effect.catchTag("StoreFailed", stored("notice")))
  })
  return Layer.succeed(CrossfireClient, client)
}
