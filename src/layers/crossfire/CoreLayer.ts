// The layer graph of crossfire's core, without HTTP: what it needs from outside is its database, the homeserver, and what
// the bot says.
import { Layer } from "effect"
import * as Announcements from "./Announcements.ts"
import * as FleetLeases from "./FleetLeases.ts"
import * as HomeserverHealth from "./HomeserverHealth.ts"
import * as Levels from "./Levels.ts"
import * as MemoryMembershipNews from "./MemoryMembershipNews.ts"
import * as NoConversation from "./NoConversation.ts"
import * as Outbound from "./Outbound.ts"
import * as Participation from "./Participation.ts"
import * as Retention from "./Retention.ts"
import * as RoomPages from "./RoomPages.ts"
import * as RoomSweep from "./RoomSweep.ts"
import * as SqliteAcknowledgments from "./sqlite/SqliteAcknowledgments.ts"
import * as SqliteAgents from "./sqlite/SqliteAgents.ts"
import * as SqliteBotRooms from "./sqlite/SqliteBotRooms.ts"
import * as SqliteDecisions from "./sqlite/SqliteDecisions.ts"
import * as SqliteInstance from "./sqlite/SqliteInstance.ts"
import * as SqliteLevelChanges from "./sqlite/SqliteLevelChanges.ts"
import * as SqliteOutboundMessages from "./sqlite/SqliteOutboundMessages.ts"
import * as SqliteParticipations from "./sqlite/SqliteParticipations.ts"
import * as SqliteRooms from "./sqlite/SqliteRooms.ts"
import * as SqliteSweepPositions from "./sqlite/SqliteSweepPositions.ts"
import * as SqliteWakePolicies from "./sqlite/SqliteWakePolicies.ts"
import * as Sweeper from "./Sweeper.ts"
import * as SweepQueue from "./SweepQueue.ts"

const stores = Layer.mergeAll(
  SqliteAgents.layer,
  SqliteBotRooms.layer,
  SqliteDecisions.layer,
  SqliteOutboundMessages.layer,
  SqliteParticipations.layer,
  SqliteRooms.layer,
  SqliteSweepPositions.layer
)

/** Everything that stands without what the bot says: leases, levels, policies, acknowledgments, sending. */
export const foundation = Layer.mergeAll(Levels.layer, Outbound.layer, SqliteAcknowledgments.layer).pipe(
  Layer.provideMerge(SqliteWakePolicies.layer),
  Layer.provideMerge(
    Layer.mergeAll(FleetLeases.layer, MemoryMembershipNews.layer, SqliteLevelChanges.layer, SweepQueue.layer)
  ),
  Layer.provideMerge(Layer.mergeAll(stores, SqliteInstance.layer)),
  Layer.provideMerge(HomeserverHealth.layer)
)

/** Reading rooms and taking part in them. */
export const rooms = Layer.mergeAll(RoomPages.layer, Announcements.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(RoomSweep.layer, Participation.layer))
)

/** What runs by itself. */
export const features = Layer.mergeAll(Sweeper.layer, Retention.layer)

/** The core alone, for tests and simulations: the bot says nothing. */
export const coreLayer = features.pipe(
  Layer.provideMerge(rooms),
  Layer.provide(NoConversation.layer),
  Layer.provideMerge(foundation)
)
