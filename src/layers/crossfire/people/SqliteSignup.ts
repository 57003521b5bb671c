// `Signup` over crossfire's database and the homeserver's gate. The stored policy is the truth: the homeserver is brought to
// it, here at once and by every start.
import { Effect, Fiber, Layer, Schema } from "effect"
import { mayAdminister } from "../../../domain/Actor.ts"
import { NotAllowed } from "../../../domain/api/CrossfireErrors.ts"
import type { SignupView } from "../../../domain/api/People.ts"
import { mayInvitePeople, registrationGate, SignupPolicy } from "../../../domain/Signup.ts"
import { Changes } from "../../../services/Changes.ts"
import { CrossfireDb, type StoreFailed } from "../../../services/Database.ts"
import { HomeserverProcess } from "../../../services/HomeserverProcess.ts"
import { Instance } from "../../../services/Instance.ts"
import { Signup } from "../../../services/Signup.ts"
import { WebAddress } from "../../../services/WebAddress.ts"
import { signupSteps } from "./SignupSteps.ts"

const decodeRows = Schema.decodeUnknown(Schema.Array(Schema.Struct({ signup: SignupPolicy })))

/** Before anything else runs: a folder that was never served yet is by invitation. */
export const storedPolicy: Effect.Effect<SignupPolicy, StoreFailed, CrossfireDb> = Effect.flatMap(
  CrossfireDb,
  ({ read, sql }) =>
    read(Effect.flatMap(sql`SELECT signup FROM instance`, decodeRows)).pipe(
      Effect.map(([row]) => row?.signup ?? "invite")
    )
)

const make = (homeserver: SignupView["homeserver"]) =>
  Effect.gen(function*() {
    const database = yield* CrossfireDb
    const { sql, transaction } = database
    const process = yield* HomeserverProcess
    const address = yield* WebAddress
    const changes = yield* Changes
    // The row that the policy stands in is its.
    yield* Instance
    const scope = yield* Effect.scope
    const turn = yield* Effect.makeSemaphore(1)
    const policy = Effect.provideService(storedPolicy, CrossfireDb, database)

    const view: typeof Signup.Service.view = (by) =>
      Effect.map(policy, (now) => ({
        policy: now,
        homeserver,
        homeserverUrl: address.homeserverUrl,
        elementUrl: address.elementUrl,
        mayInvite: homeserver === "managed" && mayInvitePeople(by, now),
        mayChange: mayAdminister(by),
        steps: homeserver === "own" ? signupSteps(now) : null
      }))

    const change = (to: SignupPolicy) =>
      Effect.gen(function*() {
        yield* transaction(sql`UPDATE instance SET signup = ${to}`)
        yield* changes.publish("signup", null)
        yield* process.setRegistration(registrationGate(to))
      })

    return Signup.of({
      policy,
      view,
      set: (by, to) =>
        Effect.gen(function*() {
          if (!mayAdminister(by)) {
            return yield* new NotAllowed({ reason: "Who may sign up is decided by the instance's administrators" })
          }
          // One after the other, and to its end though nobody waits for it any more: the gate must not differ from the rule.
          yield* Effect.flatMap(Effect.forkIn(turn.withPermits(1)(change(to)), scope), Fiber.join)
          return yield* view(by)
        })
    })
  })

export const layer = (homeserver: SignupView["homeserver"]) => Layer.scoped(Signup, make(homeserver))
