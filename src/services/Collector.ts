// Reads what waits for an agent: one boundary, dirty rooms from their cursors, fair shares. It moves nothing by itself.
import { Context, type Effect } from "effect"
import type { StaleGeneration } from "../domain/api/CrossfireErrors.ts"
import type { FleetAgent } from "../domain/FleetAgent.ts"
import type { Level, LevelRoom, RoomRecord } from "../domain/Level.ts"
import type { CursorMove } from "../domain/Publication.ts"
import type { CallFailed, LeaseStamp } from "./CrossfireClient.ts"
import type { StoreFailed } from "./Database.ts"

export interface Collected {
  /** In each room's order; own and control events and what was given before are left out. */
  readonly records: ReadonlyArray<RoomRecord>
  readonly rooms: ReadonlyArray<LevelRoom>
  readonly moves: ReadonlyArray<CursorMove>
  /** Rooms whose page could not be taken, with why; nothing of them is moved. */
  readonly failedRooms: ReadonlyArray<{ readonly roomId: string; readonly reason: string }>
}

export class Collector extends Context.Tag("crossfire/services/Collector")<
  Collector,
  {
    readonly collect: (
      stamp: LeaseStamp,
      agent: FleetAgent,
      level: Level
    ) => Effect.Effect<Collected, CallFailed | StaleGeneration | StoreFailed>
  }
>() {}
