// Private files of an agent that an input points to: complete, never truncated, pinned while their input is prepared,
// submitted or unknown, and kept for a while after it was settled.
import { Context, type Effect, Schema } from "effect"
import type { AgentId, DeliveryId } from "../domain/Ids.ts"
import type { StoreFailed } from "./Database.ts"

/** The file could not be written whole, or not be removed (full disk, permissions). */
export class ArtifactFailed extends Schema.TaggedError<ArtifactFailed>()("ArtifactFailed", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `The file ${this.path} could not be written or removed: ${this.reason}`
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
    /** All files of an input that are there. */
    readonly contents: (
      deliveryId: DeliveryId
    ) => Effect.Effect<
      ReadonlyArray<{ readonly path: string; readonly content: string }>,
      ArtifactFailed | StoreFailed
    >
    /** Another content in place of one that `write` made, in one step; the same one changes nothing. */
    readonly rewrite: (path: string, content: string) => Effect.Effect<Artifact, ArtifactFailed | StoreFailed>
    /**
     * Removes the files of the agent's inputs that were settled before this time, and of those that were never stored
     * although their files were written before it. A pinned one stays. At most `limit` inputs; answers how many.
     */
    readonly expire: (
      agentId: AgentId,
      beforeMillis: number,
      limit: number
    ) => Effect.Effect<number, ArtifactFailed | StoreFailed>
  }
>() {}
