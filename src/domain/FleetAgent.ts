// One agent as its own daemon knows it: identity, settings, desired state. The credential stands apart from it.
import { Schema } from "effect"
import { EngineKind } from "./Engine.ts"
import { AgentId, FleetId, UserId } from "./Ids.ts"
import { FleetKey, HistoryMode, InstanceKey, RegisteredName } from "./Roster.ts"

export class FleetAgent extends Schema.Class<FleetAgent>("FleetAgent")({
  agentId: AgentId,
  key: InstanceKey,
  name: RegisteredName,
  userId: UserId,
  engine: EngineKind,
  model: Schema.String,
  effort: Schema.NullOr(Schema.String),
  workFolder: Schema.String,
  historyMode: HistoryMode,
  instructions: Schema.NullOr(Schema.String),
  /** The desired session state: a stopped agent is started by nobody's message. */
  enabled: Schema.Boolean,
  paused: Schema.Boolean,
  /** Why the agent is held; null while it is not. An activation asked for by the owner tries again. */
  problem: Schema.NullOr(Schema.String),
  /** crossfire retired it: nothing is started or delivered any more. Its histories stay. */
  retired: Schema.Boolean,
  /** crossfire does not accept its credential, while the fleet's own is good: nothing is delivered until it has another. */
  credentialRefused: Schema.Boolean
}) {}

/** What its owner's roster and crossfire say of an agent; the rest is this daemon's own. */
export type IntroducedAgent = Omit<FleetAgent, "enabled" | "paused" | "problem" | "retired" | "credentialRefused">

export class FleetIdentity extends Schema.Class<FleetIdentity>("FleetIdentity")({
  fleetId: FleetId,
  fleetKey: FleetKey,
  owner: UserId,
  serverUrl: Schema.String,
  rootId: Schema.UUID
}) {}
