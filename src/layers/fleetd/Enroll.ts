// `fleet enroll`: from a roster file to an introduced fleet. Checks what can be checked here, saves the claim, submits,
// waits for the owner, introduces, and hands the result over to be kept. Every step can be repeated after any crash.
import { Clock, Duration, Effect, Option } from "effect"
import type { EnrollmentView, Introduction } from "../../domain/api/Crossfire.ts"
import type { EngineKind } from "../../domain/Engine.ts"
import type { FleetIdentity } from "../../domain/FleetAgent.ts"
import type { UserId } from "../../domain/Ids.ts"
import type { Roster } from "../../domain/Roster.ts"
import { sameRoster } from "../../domain/RosterCheck.ts"
import { checkServerUrl } from "../../domain/ServerUrl.ts"
import { Claim, type ClaimMaterial } from "../../services/Claim.ts"
import type { HeldCredentials, NewFleet } from "../../services/FleetRegistry.ts"
import { hashOf } from "../crypto/Secret.ts"
import * as RosterFile from "../roster/RosterFile.ts"
import * as ClaimMaking from "./ClaimMaking.ts"
import * as EnrollmentClient from "./EnrollmentClient.ts"
import {
  ClaimDiffers,
  CredentialsRevoked,
  EnrollmentEnded,
  FleetForeign,
  IntroductionRefused
} from "./EnrollRefusals.ts"
import type { RefusedCredentials } from "./HeldCredentials.ts"
import * as RosterPreflight from "./RosterPreflight.ts"

export type EnrollProgress =
  /** The roster is in order, here and at crossfire. Nothing was filed. */
  | { readonly _tag: "Checked"; readonly roster: Roster }
  /** `reused`: an enrollment that was begun before goes on. */
  | { readonly _tag: "ClaimSaved"; readonly reused: boolean }
  /** What the owner is to do: decide on the review page, or send this code to the bot. */
  | {
    readonly _tag: "WaitingForOwner"
    readonly owner: UserId
    readonly bot: UserId
    readonly code: string
    readonly reviewUrl: string
    readonly expiresAtMillis: number
  }
  /** Told once per gap; the waiting goes on. */
  | { readonly _tag: "Unreachable"; readonly reason: string }
  | { readonly _tag: "Approved" }

export type Enrolled =
  | { readonly _tag: "Introduced"; readonly introduction: Introduction }
  /** Only when asked not to wait: the same command later goes on. */
  | { readonly _tag: "Waiting"; readonly enrollment: EnrollmentView }

export interface EnrollOptions<E, R> {
  readonly rosterPath: string
  /** What `~` stands for in the roster. */
  readonly home: string
  readonly serverUrl: string
  /** What this root folder's registry holds already. */
  readonly identity: Option.Option<FleetIdentity>
  /** The credentials that it holds, and the claim that brought them. */
  readonly credentials: Option.Option<HeldCredentials>
  /** Which of them crossfire refuses, asked before they are offered again. */
  readonly refused: Effect.Effect<RefusedCredentials, E, R>
  /** A private folder where the engine of that kind can be asked for its models. */
  readonly modelsHome: (engine: EngineKind) => string
  /** Give up the enrollment begun before and start a new one. */
  readonly again: boolean
  /** With `again`: make new credentials for what has some already. */
  readonly newCredentials: boolean
  /** Wait for the owner's answer. */
  readonly wait: boolean
  /** Between two questions for it; 2 s where not given. */
  readonly pollMillis?: number | undefined
  /** Keeps the introduction with its credentials. Called again after a crash, with the same. */
  readonly saveIntroduction: (fleet: NewFleet) => Effect.Effect<void, E, R>
  readonly progress: (progress: EnrollProgress) => Effect.Effect<void>
}

const usualPollMillis = 2_000
const maxPollMillis = 30_000
/** So long without any answer ends the waiting; the request itself stays open. */
const maxSilenceMillis = 3_600_000
const checkIdentity = (roster: Roster, identity: Option.Option<FleetIdentity>) =>
  Option.match(identity, {
    onNone: () => Effect.void,
    onSome: ({ fleetKey, owner }) =>
      fleetKey === roster.fleet && owner === roster.owner
        ? Effect.void
        : Effect.fail(new FleetForeign({ fleetKey, owner, reason: "other-fleet" }))
  })

/** What the registry keeps: identities from crossfire, settings from the roster, credentials from the claim. */
const newFleet = (material: ClaimMaterial, introduction: Introduction): Effect.Effect<NewFleet> =>
  Effect.gen(function*() {
    const { agentTokens, fleetToken, roster, serverUrl } = material
    const agents = yield* Effect.forEach(roster.agents, (agent) => {
      const introduced = introduction.agents.find(({ key }) => key === agent.key)
      const token = agentTokens.find(({ key }) => key === agent.key)?.token
      if (introduced === undefined || token === undefined) {
        return Effect.dieMessage(`the introduction lacks the agent ${agent.key}`)
      }
      return Effect.succeed({
        agent: {
          agentId: introduced.agentId,
          key: agent.key,
          name: introduced.name,
          userId: introduced.userId,
          engine: agent.engine,
          model: agent.model,
          effort: agent.effort,
          workFolder: agent.work_folder,
          historyMode: agent.history_mode,
          instructions: agent.instructions
        },
        token
      })
    })
    const { fleetId } = introduction
    return {
      identity: { fleetId, fleetKey: roster.fleet, owner: roster.owner, serverUrl },
      token: fleetToken,
      agents,
      claim: hashOf(material.claim)
    }
  })

export const enroll = <E, R>(options: EnrollOptions<E, R>) =>
  Effect.gen(function*() {
    const { again, identity, progress } = options
    const claims = yield* Claim
    const serverUrl = yield* checkServerUrl(options.serverUrl)
    const file = yield* RosterFile.read(options.rosterPath, options.home)
    const { roster } = file
    yield* checkIdentity(roster, identity)
    yield* RosterPreflight.checkModels(file, options.modelsHome)
    const client = yield* EnrollmentClient.make(serverUrl)

    /** The material of this enrollment: on disk before anything of it is sent. */
    const ready = Effect.gen(function*() {
      const before = yield* claims.load
      if (Option.isSome(before) && !again) {
        if (before.value.serverUrl !== serverUrl) return yield* new ClaimDiffers({ from: "server" })
        if (!sameRoster(before.value.roster, roster)) return yield* new ClaimDiffers({ from: "roster" })
        return { material: before.value, reused: true }
      }
      yield* EnrollmentClient.patiently(client.preflight(roster))
      yield* progress({ _tag: "Checked", roster })
      // A credential is never shown at another address.
      const moved = Option.exists(identity, (known) => known.serverUrl !== serverUrl)
      const renew = options.newCredentials || moved
      if (!renew && Option.isSome(options.credentials)) {
        const refused = yield* options.refused
        const agents = roster.agents.filter(({ key }) => refused.agents.has(key)).map(({ name }) => name)
        if (refused.fleet || agents.length > 0) return yield* new CredentialsRevoked({ fleet: refused.fleet, agents })
      }
      const made = yield* ClaimMaking.newMaterial(roster, serverUrl, {
        before,
        held: options.credentials,
        renew
      })
      if (Option.isSome(before)) {
        yield* claims.replace(made)
        return { material: made, reused: false }
      }
      const material = yield* claims.saveFirst(made)
      if (!sameRoster(material.roster, roster) || material.serverUrl !== serverUrl) {
        return yield* new ClaimDiffers({ from: "roster" })
      }
      return { material, reused: false }
    })

    const untilAnswered = (material: ClaimMaterial, first: EnrollmentView) =>
      Effect.gen(function*() {
        const pollMillis = options.pollMillis ?? usualPollMillis
        let view = first
        let waitMillis = pollMillis
        let heardAtMillis = yield* Clock.currentTimeMillis
        while (view.state === "pending") {
          yield* Effect.sleep(Duration.millis(waitMillis))
          const answer = yield* Effect.either(
            Effect.catchTag(client.state(material), "NotFound", () => new EnrollmentEnded({ state: "unknown" }))
          )
          const nowMillis = yield* Clock.currentTimeMillis
          if (answer._tag === "Right") {
            view = answer.right
            waitMillis = pollMillis
            heardAtMillis = nowMillis
          } else {
            const { left } = answer
            if (left._tag === "EnrollmentEnded") return yield* left
            const { reason } = left.unavailable
            if (left.final || nowMillis - heardAtMillis > maxSilenceMillis) return yield* left.unavailable
            if (waitMillis === pollMillis) yield* progress({ _tag: "Unreachable", reason })
            waitMillis = Math.min(Math.max(waitMillis * 2, left.retryAfterMillis ?? 0), maxPollMillis)
          }
        }
        return view
      })

    /** What is to be introduced: credentials that were replaced while the owner was waited for are not offered again. */
    const refreshed = (material: ClaimMaterial) =>
      Effect.gen(function*() {
        const now = ClaimMaking.current(material, options.credentials)
        if (ClaimMaking.sameCredentials(now, material)) return material
        yield* claims.replace(now)
        return now
      })

    const introduce = (material: ClaimMaterial) =>
      Effect.gen(function*() {
        const introduction = yield* EnrollmentClient.patiently(client.introduce(material)).pipe(
          Effect.catchTags({
            NotAllowed: ({ reason }) => new IntroductionRefused({ reason }),
            EnrollmentNotReady: ({ state }) => new EnrollmentEnded({ state }),
            NotFound: () => new EnrollmentEnded({ state: "unknown" })
          })
        )
        if (Option.isSome(identity) && identity.value.fleetId !== introduction.fleetId) {
          const { fleetKey, owner } = identity.value
          return yield* new FleetForeign({ fleetKey, owner, reason: "other-instance" })
        }
        const kept = ClaimMaking.current(material, options.credentials)
        yield* options.saveIntroduction(yield* newFleet(kept, introduction))
        return introduction
      })

    const { material, reused } = yield* ready
    yield* progress({ _tag: "ClaimSaved", reused })
    const submitted = yield* EnrollmentClient.patiently(client.submit(material))
    if (submitted.state === "pending" && submitted.code !== null) {
      const { bot, code, expiresAtMillis, reviewUrl } = submitted
      yield* progress({ _tag: "WaitingForOwner", owner: roster.owner, bot, code, reviewUrl, expiresAtMillis })
      if (!options.wait) {
        const waiting: Enrolled = { _tag: "Waiting", enrollment: submitted }
        return waiting
      }
    }
    const { state } = yield* untilAnswered(material, submitted)
    if (state !== "approved" && state !== "introduced") return yield* new EnrollmentEnded({ state })
    yield* progress({ _tag: "Approved" })
    // What was introduced already is asked for by the very same request again.
    const introducing = state === "approved" ? yield* refreshed(material) : material
    const done: Enrolled = { _tag: "Introduced", introduction: yield* introduce(introducing) }
    return done
  }).pipe(Effect.scoped, Effect.withSpan("enroll"))
