// How many records each room may contribute to one collection: max-min fair, in rounds. Nobody knows beforehand how much
// waits in a room; each round gives every room that is still open the same again. Pure.

/** What one collection aims at, over all rooms. Soft: every room has its floor. */
export const targetRecords = 100
/** What every room with something to read may contribute in any case. */
export const roomFloor = 10
/** The same where somebody asked for a smaller limit. */
export const limitedRoomFloor = 1
/** How many recent records a newly authorized room begins with. */
export const snapshotRecords = 20

export interface QuotaLimits {
  /** Records over all rooms. */
  readonly target: number
  /** Records of each room, even where their sum is above the target. */
  readonly floor: number
}

export const usualLimits: QuotaLimits = { target: targetRecords, floor: roomFloor }

/** The limits of an explicit limit: below the usual target a room's floor is one record. */
export const limitsOf = (limit: number): QuotaLimits => ({
  target: limit,
  floor: limit < targetRecords ? limitedRoomFloor : roomFloor
})

/** The first round: the target divided evenly among all rooms, never below the floor. */
export const firstShare = (rooms: number, { floor, target }: QuotaLimits): number =>
  rooms === 0 ? 0 : Math.max(floor, Math.floor(target / rooms))

/**
 * A later round: what the target has left, divided evenly among the rooms that have more; 0 ends the rounds. What cannot
 * be divided evenly stays for the next collection, so that no room gets less than another that has as much waiting.
 */
export const nextShare = (given: number, openRooms: number, { target }: QuotaLimits): number =>
  openRooms === 0 ? 0 : Math.max(0, Math.floor((target - given) / openRooms))
