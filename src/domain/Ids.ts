// The branded identifiers of the product: what names what, and of which shape. No identifier here is a secret.
import { Schema } from "effect"

/** A full Matrix user ID, `@localpart:server`. The only identity of a person; display names grant nothing. */
export const UserId = Schema.String.pipe(
  Schema.pattern(/^@[!-9;-~]{1,200}:[^\s:]+(:\d+)?$/u, {
    message: () => "a full Matrix user ID looks like @alice:example.org"
  }),
  Schema.maxLength(255),
  Schema.brand("UserId")
)
export type UserId = typeof UserId.Type

/** An immutable Matrix room ID, `!opaque` (room version 12) or `!opaque:server`. Never a title or an alias. */
export const RoomId = Schema.String.pipe(
  Schema.pattern(/^![!-~]{1,254}$/u, { message: () => "a room ID starts with ! (aliases and names are not accepted)" }),
  Schema.brand("RoomId")
)
export type RoomId = typeof RoomId.Type

/** A Matrix event ID, `$opaque`. */
export const EventId = Schema.String.pipe(
  Schema.pattern(/^\$[!-~]{1,254}$/u, { message: () => "an event ID starts with $" }),
  Schema.brand("EventId")
)
export type EventId = typeof EventId.Type

const uuid = <const B extends string>(brand: B) => Schema.UUID.pipe(Schema.brand(brand))

/** Made by crossfire at introduction; never changes, whatever the agent is renamed to. */
export const AgentId = uuid("AgentId")
export type AgentId = typeof AgentId.Type

/** Made by crossfire at the first introduction of (owner, fleet key). */
export const FleetId = uuid("FleetId")
export type FleetId = typeof FleetId.Type

export const EnrollmentId = uuid("EnrollmentId")
export type EnrollmentId = typeof EnrollmentId.Type

/** Names one publication. It stands in the first line of the input and is looked for in the native history. */
export const DeliveryId = uuid("DeliveryId")
export type DeliveryId = typeof DeliveryId.Type

/** One native process's life; the marker in its environment. */
export const RunId = uuid("RunId")
export type RunId = typeof RunId.Type

/** Chosen by whoever asks for something once; repeating it gives the same result. */
export const OperationId = uuid("OperationId")
export type OperationId = typeof OperationId.Type

/** A turn of a native engine. Codex names its own; for Pi the adapter makes one per submitted input. Never empty. */
export const TurnId = Schema.NonEmptyString.pipe(Schema.maxLength(200), Schema.brand("TurnId"))
export type TurnId = typeof TurnId.Type

/** An opaque position of the homeserver's stream (`s…` or `t…`). Its content means nothing to us. */
export const StreamToken = Schema.NonEmptyString.pipe(Schema.maxLength(1000), Schema.brand("StreamToken"))
export type StreamToken = typeof StreamToken.Type

/** One native conversation of an agent: `shared`, or `room:<room ID>` and `control` in per-room mode. */
export const ContextKey = Schema.String.pipe(
  Schema.pattern(/^(shared|control|room:![!-~]+)$/u),
  Schema.brand("ContextKey")
)
export type ContextKey = typeof ContextKey.Type
export const sharedContext: ContextKey = ContextKey.make("shared")

/** The number of a lease: the fencing token of every write from fleetd. */
export const Generation = Schema.Int.pipe(Schema.nonNegative(), Schema.brand("Generation"))
export type Generation = typeof Generation.Type

/** Names one life of crossfire's database: a restore from a backup starts another. */
export const Incarnation = uuid("Incarnation")
export type Incarnation = typeof Incarnation.Type
