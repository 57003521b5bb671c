// fleetd's layer graph, top to bottom: whoever starts it holds the root's lock. Closing goes the other way: the socket, the
// receivers with their engines, the lease, the database, and the lock last.
import { Effect, Layer, Option } from "effect"
import { hostname } from "node:os"
import { fleetdMigrations } from "../../../migrations/fleetd/all.ts"
import { NotEnrolled } from "../../domain/api/FleetSocket.ts"
import type { FleetIdentity } from "../../domain/FleetAgent.ts"
import { standingInstructions } from "../../domain/StandingInstructions.ts"
import * as FileArtifacts from "../../layers/fleetd/FileArtifacts.ts"
import * as FleetCore from "../../layers/fleetd/FleetCore.ts"
import type { FleetSettings } from "../../layers/fleetd/FleetSettings.ts"
import * as FleetSocketServer from "../../layers/fleetd/FleetSocketServer.ts"
import * as HostEngines from "../../layers/fleetd/HostEngines.ts"
import * as HostProcesses from "../../layers/fleetd/HostProcesses.ts"
import * as HttpCrossfireClient from "../../layers/fleetd/HttpCrossfireClient.ts"
import * as LocalToolAccess from "../../layers/fleetd/LocalToolAccess.ts"
import * as OutboxAgentTools from "../../layers/fleetd/OutboxAgentTools.ts"
import { defaultLimits } from "../../layers/fleetd/ReceiverLimits.ts"
import { databasePath, homePath } from "../../layers/fleetd/RootFolder.ts"
import { claimRoot } from "../../layers/fleetd/sqlite/SqliteRoot.ts"
import * as StartSweep from "../../layers/fleetd/StartSweep.ts"
import { migrate } from "../../layers/sqlite/Migrations.ts"
import { open } from "../../layers/sqlite/SqliteDatabase.ts"
import { FleetDb } from "../../services/Database.ts"
import { FleetRegistry } from "../../services/FleetRegistry.ts"

export interface DaemonConfig {
  /** The root's real path; its lock is held. */
  readonly root: string
  readonly settings: FleetSettings
  /** Take the lease from another controller that holds it now. */
  readonly takeOver: boolean
  /** Asks the daemon to end. */
  readonly shutdown: Effect.Effect<void>
}

/** The registry: migrated before anything opens it, and made in this very folder. */
export const registry = (root: string) =>
  FleetCore.stores.pipe(
    Layer.provideMerge(
      Layer.effectDiscard(claimRoot(root)).pipe(
        Layer.provideMerge(
          Layer.scoped(FleetDb, Effect.flatMap(migrate("fleetd", databasePath(root), fleetdMigrations), open))
        )
      )
    )
  )

const identityOf = (root: string) =>
  Effect.flatMap(
    Effect.flatMap(FleetRegistry, (fleet) => fleet.identity),
    Option.match({ onNone: () => Effect.fail(new NotEnrolled({ root })), onSome: Effect.succeed<FleetIdentity> })
  )

const enrolled = ({ root, settings, shutdown, takeOver }: DaemonConfig, identity: FleetIdentity) =>
  FleetSocketServer.layer({ root, shutdown }).pipe(
    // Receivers, levels, outbox: the delivery itself.
    Layer.provide(FleetCore.layer({
      supervisor: {
        homeOf: ({ agentId }) => homePath(root, agentId),
        instructions: standingInstructions,
        maxInputBytes: settings.maxInputBytes,
        limits: {
          ...defaultLimits,
          receiptWithin: settings.receiptMillis,
          idleSleepAfter: settings.idleSleepMillis
        }
      }
    })),
    // What an activation is given: its tools' socket and token.
    Layer.provide(LocalToolAccess.layer(root)),
    Layer.provide(OutboxAgentTools.layer),
    // The lease, held over everything that delivers.
    Layer.provide(FleetCore.lease({
      rootId: identity.rootId,
      holder: `${hostname()}, process ${process.pid}`,
      takeOver
    })),
    Layer.provide(HttpCrossfireClient.layer(identity.serverUrl)),
    // Nothing of an earlier daemon's engines runs on when the first receiver looks into a history.
    Layer.provide(StartSweep.layer),
    Layer.provide(FileArtifacts.layer(root)),
    Layer.provide(HostEngines.layer(settings)),
    Layer.provide(HostProcesses.layer),
    Layer.provide(FleetCore.board)
  )

export const daemon = (config: DaemonConfig) =>
  Layer.unwrapEffect(Effect.map(identityOf(config.root), (identity) => enrolled(config, identity))).pipe(
    Layer.provide(registry(config.root))
  )
