// The contract of fleetd's own Unix socket, spoken by `fleet` (NDJSON): what the daemon tells of itself and what it can be
// asked. Declarations only.
import * as Rpc from "@effect/rpc/Rpc"
import * as RpcGroup from "@effect/rpc/RpcGroup"
import { Schema } from "effect"
import { EngineKind } from "../Engine.ts"
import { AgentId, ContextKey, DeliveryId, EventId, FleetId, Generation, OperationId, RoomId, UserId } from "../Ids.ts"
import { RoomStop } from "../Level.ts"
import { PublicationKind, PublicationState } from "../Publication.ts"
import { FleetKey, maxRosterAgents, RegisteredName } from "../Roster.ts"
import { AgentRetired } from "./AccessErrors.ts"

/** Two programs of different versions do not guess at each other's messages. */
export const fleetSocketProtocol = 1

export const LeaseStatus = Schema.Union(
  Schema.Struct({ state: Schema.Literal("held"), generation: Generation }),
  /**
   * Nothing is delivered. The reason is for people. `credential-refused`: until the owner makes new credentials.
   */
  Schema.Struct({ state: Schema.Literal("not-held", "credential-refused"), reason: Schema.String })
)

/** An input on its way into a native history. */
export const OpenPublication = Schema.Struct({
  deliveryId: DeliveryId,
  state: Schema.Literal("prepared", "submitted", "unknown")
})

export const LastDelivery = Schema.Struct({
  deliveryId: DeliveryId,
  /** The proof: the native user entry, as its engine names it. */
  entry: Schema.String,
  confirmedAtMillis: Schema.Number
})

export const ContextStatus = Schema.Struct({
  context: ContextKey,
  /** The native history's file; null before the first activation. */
  history: Schema.NullOr(Schema.String),
  open: Schema.NullOr(OpenPublication),
  /** Stored inputs that are not Matrix and not delivered yet. */
  waitingItems: Schema.Int,
  lastDelivery: Schema.NullOr(LastDelivery)
})
export type ContextStatus = typeof ContextStatus.Type

/**
 * `sleeping`: no process; the next message starts one. `held`: nothing starts until the owner acts on the reason.
 * `retired`: nothing starts ever again; its histories stay where they are.
 */
export const SessionStatus = Schema.Struct({
  state: Schema.Literal("stopped", "sleeping", "starting", "idle", "working", "held", "retired"),
  reason: Schema.NullOr(Schema.String)
})
export type SessionStatus = typeof SessionStatus.Type

export const AgentStatus = Schema.Struct({
  agentId: AgentId,
  name: RegisteredName,
  userId: UserId,
  engine: EngineKind,
  model: Schema.String,
  /** What the owner wants, kept over restarts. */
  desired: Schema.Literal("started", "stopped"),
  paused: Schema.Boolean,
  session: SessionStatus,
  /** Open wakes of the newest level; null while there is none. */
  openWakes: Schema.NullOr(Schema.Int),
  /** Rooms that crossfire cannot read on, by the newest level; whatever stands before that place is given. */
  stoppedRooms: Schema.Array(Schema.Struct({
    roomId: RoomId,
    name: Schema.NullOr(Schema.String),
    ...RoomStop.fields
  })),
  contexts: Schema.Array(ContextStatus)
})
export type AgentStatus = typeof AgentStatus.Type

export const FleetStatus = Schema.Struct({
  protocol: Schema.Int,
  processId: Schema.Int,
  root: Schema.String,
  /** Null before enrollment. */
  fleet: Schema.NullOr(Schema.Struct({
    fleetId: FleetId,
    fleetKey: FleetKey,
    owner: UserId,
    serverUrl: Schema.String
  })),
  lease: LeaseStatus,
  /** What crossfire has not accepted yet. */
  outbox: Schema.Struct({ acknowledgments: Schema.Int, messages: Schema.Int, notices: Schema.Int }),
  agents: Schema.Array(AgentStatus)
})
export type FleetStatus = typeof FleetStatus.Type

/** How far a direct input is. `delivered` names the native entry that proves it. */
export const DeliveryState = Schema.Union(
  Schema.Struct({ state: Schema.Literal("waiting") }),
  Schema.Struct({ state: Schema.Literal("open"), publication: OpenPublication }),
  Schema.Struct({
    state: Schema.Literal("delivered"),
    deliveryId: DeliveryId,
    entry: Schema.String,
    history: Schema.NullOr(Schema.String)
  })
)
export type DeliveryState = typeof DeliveryState.Type

/** One input and how far it is; times in milliseconds since 1970. `entry` is the native user entry that proves it. */
export const DeliveryEntry = Schema.Struct({
  deliveryId: DeliveryId,
  agent: RegisteredName,
  context: ContextKey,
  kind: PublicationKind,
  state: PublicationState,
  preparedAtMillis: Schema.Number,
  submittedAtMillis: Schema.NullOr(Schema.Number),
  confirmedAtMillis: Schema.NullOr(Schema.Number),
  entry: Schema.NullOr(Schema.String),
  history: Schema.NullOr(Schema.String),
  events: Schema.Array(EventId),
  operations: Schema.Array(OperationId)
})
export type DeliveryEntry = typeof DeliveryEntry.Type

/** How many one question may ask for. */
export const maxDeliveries = 1_000

/** Which agents a command is for. */
export const AgentSelection = Schema.Union(
  Schema.Literal("all"),
  Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(maxRosterAgents))
)
export type AgentSelection = typeof AgentSelection.Type

/** The desired state that now stands for an agent. */
export const AgentChange = Schema.Struct({
  name: RegisteredName,
  desired: Schema.Literal("started", "stopped"),
  changed: Schema.Boolean
})
export type AgentChange = typeof AgentChange.Type

export class AgentUnknown extends Schema.TaggedError<AgentUnknown>()("AgentUnknown", {
  name: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const known = this.known.length === 0
      ? "The fleet has no agents yet: enroll a roster with `fleet enroll`"
      : `Its agents are: ${this.known.join(", ")}`
    return `This fleet has no agent "${this.name}". ${known}`
  }
}

export class NotEnrolled extends Schema.TaggedError<NotEnrolled>()("NotEnrolled", { root: Schema.String }) {
  override get message(): string {
    return `No fleet is enrolled in ${this.root} yet. Enroll one with: fleet enroll ROSTER --server URL --root ${this.root}`
  }
}

/** The daemon's own files refused; nothing was changed. */
export class FleetStoreFailed extends Schema.TaggedError<FleetStoreFailed>()("FleetStoreFailed", {
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}

export class InputRejected extends Schema.TaggedError<InputRejected>()("InputRejected", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** The longest direct input in UTF-8 bytes. */
export const maxDirectBytes = 1_000_000
/** How long one call may wait for a delivery; a longer wait is several calls. */
export const maxDeliveryWaitMillis = 30_000

/** Two agents exchange their names, and only one of the two changes has arrived. */
export class AgentAmbiguous extends Schema.TaggedError<AgentAmbiguous>()("AgentAmbiguous", { name: Schema.String }) {
  override get message(): string {
    return `Two agents of this fleet are called "${this.name}" just now: their names are being changed. Nothing was done; ` +
      "try again in a moment"
  }
}

export class RotationFailed extends Schema.TaggedError<RotationFailed>()("RotationFailed", {
  /** `unfinished`: crossfire may have taken the new ones; it is asked again until that is known. */
  problem: Schema.Literal("not-held", "unfinished", "refused", "credential-refused"),
  reason: Schema.String
}) {
  override get message(): string {
    const told = {
      "not-held": "Nothing was changed: this fleetd does not hold the fleet's lease",
      unfinished: "It is not known yet whether crossfire took the new credentials; fleetd asks until it is",
      refused: "crossfire did not take the new credentials, and the former ones stand",
      "credential-refused": "Nothing was changed: crossfire does not accept this fleet's credential"
    }
    return `${told[this.problem]}: ${this.reason}`
  }
}

const Wait = Schema.Int.pipe(Schema.between(0, maxDeliveryWaitMillis))
const Change = Schema.Union(AgentUnknown, AgentAmbiguous, AgentRetired, NotEnrolled, FleetStoreFailed)

export class FleetSocketRpcs extends RpcGroup.make(
  Rpc.make("status", { success: FleetStatus, error: FleetStoreFailed }),
  /** Wanted from now on, over restarts too; also tries again what was held. */
  Rpc.make("start", {
    payload: { selection: AgentSelection },
    success: Schema.Array(AgentChange),
    error: Change
  }),
  /** Answers when the native processes are gone. Messages do not start a stopped agent. */
  Rpc.make("stop", {
    payload: { selection: AgentSelection },
    success: Schema.Array(AgentChange),
    error: Change
  }),
  /** Stored before it is answered; the same operation again changes nothing and tells how far it is. */
  Rpc.make("send", {
    payload: { agent: Schema.String, text: Schema.String, operationId: OperationId, waitMillis: Wait },
    success: DeliveryState,
    error: Schema.Union(AgentUnknown, AgentAmbiguous, AgentRetired, NotEnrolled, InputRejected, FleetStoreFailed)
  }),
  /** The newest inputs, newest first. */
  Rpc.make("deliveries", {
    payload: { limit: Schema.Int.pipe(Schema.between(1, maxDeliveries)) },
    success: Schema.Array(DeliveryEntry),
    error: FleetStoreFailed
  }),
  /** New credentials for the fleet and every agent that is not retired; running turns go on. Answers how many agents. */
  Rpc.make("rotateCredentials", {
    success: Schema.Struct({ agents: Schema.Int }),
    error: Schema.Union(RotationFailed, NotEnrolled, FleetStoreFailed)
  }),
  /** The daemon closes its gate, engines and lease, and ends. */
  Rpc.make("shutdown", { success: Schema.Struct({ processId: Schema.Int }) })
) {}
