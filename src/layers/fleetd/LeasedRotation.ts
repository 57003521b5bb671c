// `CredentialRotation` under the lease: new credentials are saved as pending before crossfire is asked to take them. While
// they are pending it is not known which are good; asking under the new one tells. An unfinished one is gone on with until
// it is settled, at every start too.
import { Effect, Layer, Option, Queue, type Redacted } from "effect"
import { RotationFailed } from "../../domain/api/FleetSocket.ts"
import { agentTokenPrefix, fleetTokenPrefix } from "../../domain/Credential.ts"
import { type AgentId, Generation, Incarnation } from "../../domain/Ids.ts"
import { CredentialRotation } from "../../services/CredentialRotation.ts"
import { CrossfireClient, type LeaseStamp } from "../../services/CrossfireClient.ts"
import { FleetRegistry, type PendingCredentials } from "../../services/FleetRegistry.ts"
import { Lease } from "../../services/Lease.ts"
import { Signals } from "../../services/Signals.ts"
import { hashOf, newSecret } from "../crypto/Secret.ts"
import * as AgentIncidents from "./AgentIncidents.ts"

const askAgain = "2 seconds"

/** A lease that no crossfire gave: whatever is asked under it changes nothing, and only the credential is answered for. */
const noLease: LeaseStamp = {
  generation: Generation.make(0),
  incarnation: Incarnation.make("00000000-0000-4000-8000-000000000000")
}

export const newCredentials = "fleet down, then fleet enroll ROSTER --again --new-credentials"

export const make = Effect.gen(function*() {
  const client = yield* CrossfireClient
  const incidents = yield* AgentIncidents.make
  const lease = yield* Lease
  const registry = yield* FleetRegistry
  const signals = yield* Signals
  const oneAtATime = yield* Effect.makeSemaphore(1)
  const unfinished = yield* Queue.sliding<void>(1)

  const ask = (stamp: LeaseStamp, under: Redacted.Redacted | null, { agentTokens, fleetToken }: PendingCredentials) =>
    client.rotateCredentials(stamp, under, {
      fleetToken: hashOf(fleetToken),
      agentTokens: new Map([...agentTokens].map(([agentId, token]) => [agentId, hashOf(token)]))
    })

  /** Any answer but a refused credential proves that crossfire knows the new one: it took all of them, or none. */
  const isTaken = (stamp: LeaseStamp, pending: PendingCredentials) =>
    ask(stamp, pending.fleetToken, pending).pipe(
      Effect.as(true),
      Effect.catchTags({
        CredentialRefused: () => Effect.succeed(false),
        RotationRefused: () => Effect.succeed(true),
        StaleGeneration: () => Effect.succeed(true)
      })
    )

  const unknown = ({ message }: { readonly message: string }) =>
    new RotationFailed({ problem: "unfinished", reason: message })

  const promote = (pending: PendingCredentials) =>
    Effect.gen(function*() {
      // crossfire has them: that nothing was changed, as a full disk says of itself, would be no answer.
      yield* Effect.mapError(registry.promoteCredentials, ({ reason }) =>
        unknown({ message: `its answer could not be kept here (${reason})` }))
      yield* Effect.logInfo("the credentials were replaced")
      for (const agentId of pending.agentTokens.keys()) {
        yield* incidents.credentialTaken(agentId)
      }
      yield* signals.everyAgent
      yield* signals.outbox
      return pending.agentTokens.size
    })

  const settle = (pending: PendingCredentials) =>
    Effect.gen(function*() {
      const held = yield* lease.state
      const stamp = held._tag === "Held" ? held.stamp : noLease
      if (yield* isTaken(stamp, pending)) return yield* promote(pending)
      // Without a lease, too: a fleet that was revoked meanwhile never has one again, and only this tells.
      return yield* ask(stamp, null, pending).pipe(
        Effect.zipRight(promote(pending)),
        Effect.catchTags({
          RotationRefused: ({ reason }) =>
            Effect.zipRight(registry.dropCredentials, new RotationFailed({ problem: "refused", reason })),
          CredentialRefused: () =>
            // An earlier request may have been taken between the two questions: only a third answer is certain.
            Effect.flatMap(isTaken(stamp, pending), (taken) =>
              taken ? promote(pending) : Effect.zipRight(
                registry.dropCredentials,
                new RotationFailed({
                  problem: "credential-refused",
                  reason: `it was revoked, or replaced from another folder. Make new ones: ${newCredentials}`
                })
              )),
          StaleGeneration: (stale) =>
            held._tag === "NotHeld"
              ? unknown({ message: held.reason })
              : Effect.zipRight(lease.lost(stamp, stale.message), unknown(stale))
        })
      )
    }).pipe(
      Effect.catchTag("CrossfireUnavailable", unknown),
      Effect.tapError((failed) =>
        failed._tag === "StoreFailed" || failed.problem === "unfinished" ? unfinished.offer(undefined) : Effect.void
      )
    )

  /** Once it was sent it is seen through to what is known of it, whoever goes away meanwhile. */
  const rotate = Effect.gen(function*() {
    if (Option.isNone(yield* registry.pendingCredentials)) {
      const held = yield* lease.state
      if (held._tag === "NotHeld") return yield* new RotationFailed({ problem: "not-held", reason: held.reason })
    }
    const agents = (yield* registry.agents).filter(({ retired }) => !retired)
    const fleetToken = yield* newSecret(fleetTokenPrefix)
    const agentTokens = new Map<AgentId, Redacted.Redacted>()
    for (const { agentId } of agents) agentTokens.set(agentId, yield* newSecret(agentTokenPrefix))
    return yield* settle(yield* registry.prepareCredentials({ fleetToken, agentTokens }))
  }).pipe(oneAtATime.withPermits(1), Effect.uninterruptible)

  const goOn = oneAtATime.withPermits(1)(
    Effect.flatMap(
      registry.pendingCredentials,
      Option.match({ onNone: () => Effect.void, onSome: (pending) => Effect.asVoid(settle(pending)) })
    )
  ).pipe(
    Effect.catchAll((failed) =>
      Effect.logWarning(failed.message).pipe(
        Effect.zipRight(failed._tag === "StoreFailed" ? unfinished.offer(undefined) : Effect.void),
        Effect.zipRight(Effect.sleep(askAgain))
      )
    )
  )

  yield* unfinished.offer(undefined)
  yield* Effect.forkScoped(Effect.forever(Effect.zipRight(unfinished.take, goOn)))

  return CredentialRotation.of({ rotate })
})

export const layer = Layer.scoped(CredentialRotation, make)
