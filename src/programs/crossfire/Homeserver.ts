// The homeserver of this installation, managed or of your own: known before anything listens, started or checked when
// crossfire listens.
import { Effect, Layer, Option, type Redacted } from "effect"
import { join } from "node:path"
import type { RegistrationGate } from "../../domain/Signup.ts"
import * as HomeserverTokens from "../../layers/crossfire/HomeserverTokens.ts"
import type { ServerSettings } from "../../layers/crossfire/ServerSettings.ts"
import * as AwaitedProcess from "../../layers/homeserver/AwaitedProcess.ts"
import * as HomeserverRegistration from "../../layers/homeserver/HomeserverRegistration.ts"
import * as ManagedSynapse from "../../layers/homeserver/ManagedSynapse.ts"
import * as PersonAccounts from "../../layers/homeserver/PersonAccounts.ts"
import type { FolderUnusable, Registration } from "../../layers/homeserver/Registration.ts"
import type { ServerNameFixed } from "../../layers/homeserver/SynapseFolder.ts"
import * as SynapseRegistrationTokens from "../../layers/homeserver/SynapseRegistrationTokens.ts"
import type { StartFailed } from "../../layers/homeserver/SynapseStart.ts"
import type { HomeserverAccess } from "../../layers/matrix/Masquerade.ts"
import { HomeserverProcess } from "../../services/HomeserverProcess.ts"
import type { PersonAccounts as Accounts } from "../../services/PersonAccounts.ts"
import type { RegistrationTokens } from "../../services/RegistrationTokens.ts"
import type { Installation } from "./Installation.ts"

/** The application service's ID in its registration. */
export const serviceId = "crossfire"

export const registrationPath = (data: string): string => join(data, "crossfire-registration.yaml")

const localAddress = (port: number): string => `http://127.0.0.1:${port}`

export const registrationOf = (
  settings: ServerSettings,
  pushUrl: string | undefined,
  tokens: HomeserverTokens.HomeserverTokens
): Registration => ({
  serverName: settings.server_name,
  serviceId,
  url: pushUrl ?? localAddress(settings.http.port),
  ...tokens
})

/** One that gives no answer yet may come: the rest of crossfire waits for it, and says so. */
const checked = (access: HomeserverAccess, pushUrl: string) =>
  HomeserverRegistration.check(access, pushUrl).pipe(
    Effect.catchTags({
      HomeserverUnavailable: () => Effect.logWarning("the homeserver does not answer yet and was not checked"),
      HomeserverBusy: () => Effect.logWarning("the homeserver is busy and was not checked")
    })
  )

type NotRunning = StartFailed | Effect.Effect.Error<ReturnType<typeof checked>>

export interface PreparedHomeserver {
  readonly access: HomeserverAccess
  readonly hsToken: Redacted.Redacted
  /** Makes people's accounts; none for a homeserver of your own, where they are made as always. */
  readonly accounts: Option.Option<Layer.Layer<Accounts>>
  readonly tokens: Layer.Layer<RegistrationTokens>
  /** The service, from before it runs. */
  readonly process: Layer.Layer<HomeserverProcess>
  /** Starts it; to be built when crossfire listens. */
  readonly running: Layer.Layer<never, NotRunning>
}

export const prepare = (
  { data, root, settings }: Installation,
  registration: RegistrationGate
): Effect.Effect<PreparedHomeserver, FolderUnusable | ServerNameFixed> =>
  Effect.gen(function*() {
    const { homeserver } = settings
    if (homeserver.mode === "own") {
      const tokens = yield* HomeserverTokens.read(data)
      const { url } = registrationOf(settings, homeserver.push_url, tokens)
      const access: HomeserverAccess = {
        baseUrl: homeserver.url.replace(/\/+$/u, ""),
        serverName: settings.server_name,
        asToken: tokens.asToken,
        serviceId
      }
      const awaited = yield* AwaitedProcess.make(access)
      return {
        access,
        hsToken: tokens.hsToken,
        accounts: Option.none(),
        tokens: SynapseRegistrationTokens.layerElsewhere,
        process: Layer.succeed(HomeserverProcess, awaited.process),
        running: Layer.scopedDiscard(
          Effect.flatMap(HomeserverRegistration.make(access), awaited.started).pipe(
            Effect.zipRight(checked(access, url))
          )
        )
      }
    }
    const prepared = yield* ManagedSynapse.prepare({
      folder: join(data, "homeserver"),
      serverName: settings.server_name,
      port: homeserver.port ?? null,
      publicBaseUrl: homeserver.public_url ?? null,
      registration,
      serviceId,
      pushUrl: localAddress(settings.http.port),
      settings: homeserver.settings,
      python: homeserver.python ?? join(root, ".tools/synapse/bin/python"),
      launcher: join(root, "homeserver/launch.py")
    })
    const awaited = yield* AwaitedProcess.make(prepared.access)
    const secret = {
      baseUrl: prepared.access.baseUrl,
      registrationSharedSecret: prepared.registrationSharedSecret
    }
    return {
      access: prepared.access,
      hsToken: prepared.hsToken,
      accounts: Option.some(PersonAccounts.layer(secret)),
      tokens: SynapseRegistrationTokens.layer({ ...secret, folder: prepared.config.folder }),
      process: Layer.succeed(HomeserverProcess, awaited.process),
      running: Layer.scopedDiscard(Effect.flatMap(ManagedSynapse.start(prepared), awaited.started))
    }
  })
