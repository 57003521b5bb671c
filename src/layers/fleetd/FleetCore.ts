// fleetd's delivery core as one layer: what the daemon, the tests and the simulation run alike. What is outside of it is
// given: the registry's database, crossfire, the engines, the agents' tools, files and processes of the host.
import { Layer } from "effect"
import * as Cleanup from "./Cleanup.ts"
import * as FleetLease from "./FleetLease.ts"
import * as FleetSupervisor from "./FleetSupervisor.ts"
import * as LeasedRotation from "./LeasedRotation.ts"
import * as LevelFeed from "./LevelFeed.ts"
import * as MemoryAgentLevels from "./MemoryAgentLevels.ts"
import * as MemorySignals from "./MemorySignals.ts"
import * as OutboxSender from "./OutboxSender.ts"
import * as RoomCollector from "./RoomCollector.ts"
import * as SqliteCheckpoints from "./sqlite/SqliteCheckpoints.ts"
import * as SqliteDeliveryLog from "./sqlite/SqliteDeliveryLog.ts"
import * as SqliteDirectInputs from "./sqlite/SqliteDirectInputs.ts"
import * as SqliteExpiry from "./sqlite/SqliteExpiry.ts"
import * as SqliteOutbox from "./sqlite/SqliteOutbox.ts"
import * as SqlitePublications from "./sqlite/SqlitePublications.ts"
import * as SqliteReadState from "./sqlite/SqliteReadState.ts"
import * as SqliteRedactions from "./sqlite/SqliteRedactions.ts"
import * as SqliteRegistry from "./sqlite/SqliteRegistry.ts"

/** The registry's ports over its database. */
export const stores = Layer.mergeAll(
  SqliteCheckpoints.layer,
  SqliteDeliveryLog.layer,
  SqliteDirectInputs.layer,
  SqliteExpiry.layer,
  SqliteOutbox.layer,
  SqlitePublications.layer,
  SqliteReadState.layer,
  SqliteRegistry.layer
)

/** In-memory state that every part looks at. */
export const board = MemoryAgentLevels.layer.pipe(Layer.provideMerge(MemorySignals.layer))

/**
 * Closing order follows from what needs what: the features and the supervisor with its engines end first, then the lease,
 * then whatever was given from outside (the database, the root lock).
 */
export const layer = (config: {
  readonly supervisor: FleetSupervisor.SupervisorConfig
}) =>
  Layer.mergeAll(
    Cleanup.layer.pipe(Layer.provideMerge(FleetSupervisor.layer(config.supervisor))),
    LeasedRotation.layer,
    LevelFeed.layer,
    OutboxSender.layer
  ).pipe(
    Layer.provide(RoomCollector.layer),
    Layer.provide(SqliteRedactions.layer)
  )

export const lease = FleetLease.layer
