// Private files of an agent that an input points to: complete, never truncated, pinned until their input is settled.
import { Context, type Effect, Schema } from "effect"
import type { AgentId, DeliveryId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

/** The file could not be written whole (full disk, permissions); nothing refers to it. */
export class ArtifactFailed extends Schema.TaggedError<ArtifactFailed>()("ArtifactFailed", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `The file ${this.path} could not be written: ${this.reason}`
  }
}

export interface Artifact {
  /** Absolute. */
  readonly path: string
  readonly bytes: number
  /** Hex. */
  readonly sha256: string
}

export class Artifacts extends Context.Tag("crossfire/services/Artifacts")<
  Artifacts,
  {
    /** Written to a temporary name, synced, renamed, its folder synced: whole or absent. */
    readonly write: (file: {
      readonly agentId: AgentId
      readonly deliveryId: DeliveryId
      readonly name: string
      readonly text: string
    }) => Effect.Effect<Artifact, ArtifactFailed | StoreFailed>
  }
>() {}
