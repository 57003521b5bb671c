// How far an agent has read a room: the window being read, the part of it already taken, and what comes next.
// A cursor moves only in the transaction that records a receipt.
import { Schema } from "effect"
import { EventId, StreamToken } from "./Ids.ts"

/**
 * The window is (`from`, `to`], both server-wide tokens; `to` is null while no window is open: `from` is then how far
 * everything was read. `taken` is the end token of the last page wholly delivered inside the window. `last` is the last
 * delivered event's ID: the anchor that shows whether the homeserver went back in time.
 */
export class Cursor extends Schema.Class<Cursor>("Cursor")({
  from: StreamToken,
  to: Schema.NullOr(StreamToken),
  taken: Schema.NullOr(StreamToken),
  last: Schema.NullOr(EventId)
}) {}

/** A cursor at a boundary, with nothing open. */
export const cursorAt = (from: StreamToken, last: EventId | null = null): Cursor =>
  new Cursor({ from, to: null, taken: null, last })

/** The window that a collection at `boundary` reads: the one still partly taken, else everything up to the boundary. */
export const windowOf = (
  cursor: Cursor,
  boundary: StreamToken
): { readonly from: StreamToken; readonly to: StreamToken } =>
  cursor.to === null
    ? { from: cursor.from, to: boundary }
    : { from: cursor.taken ?? cursor.from, to: cursor.to }

/** After a page that left more to read in its window. */
export const advanced = (cursor: Cursor, to: StreamToken, taken: StreamToken, last: EventId | null): Cursor =>
  new Cursor({ from: cursor.from, to, taken, last: last ?? cursor.last })

/** After a window was read to its end. */
export const finished = (cursor: Cursor, to: StreamToken, last: EventId | null): Cursor =>
  cursorAt(to, last ?? cursor.last)

export const sameCursor = Schema.equivalence(Schema.NullOr(Cursor))
