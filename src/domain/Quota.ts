// How many records each room may contribute to one collection. Pure.

/** What one collection aims at, over all rooms. Soft: every room has its floor. */
export const targetRecords = 100
/** What every room with something to read may contribute in any case. */
export const roomFloor = 10
/** How many recent records a newly authorized room begins with. */
export const snapshotRecords = 20

/** The share of each of `rooms` dirty rooms: the target divided evenly, never below the floor. */
export const roomQuota = (rooms: number): number =>
  rooms === 0 ? 0 : Math.max(roomFloor, Math.floor(targetRecords / rooms))
