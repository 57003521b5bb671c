// What was removed from an agent's rooms: noted durably, wiped from what is on its way, then acknowledged to crossfire.
import { Context, type Effect } from "effect"
import type { AgentId } from "../domain/Ids.ts"
import type { Level } from "../domain/Level.ts"
import type { ArtifactFailed } from "./Artifacts.ts"
import type { StoreFailed } from "./Database.ts"

export interface KnownRedactions {
  /** Whatever is collected from now on has the events up to here as removed ones. */
  readonly noted: number
  /** Up to here they are wiped from all texts and files that are stored. */
  readonly wiped: number
}

export class Redactions extends Context.Tag("crossfire/services/Redactions")<
  Redactions,
  {
    readonly known: (agentId: AgentId) => Effect.Effect<KnownRedactions, StoreFailed>
    /**
     * A prepared input with one of them is discarded; in a submitted or unknown one the event's text is wiped, from the
     * stored text and from the files. Their number counts as taken, and an acknowledgment is queued, only after that. Cut
     * off anywhere, the same level does the rest. True: there was something new.
     */
    readonly take: (level: Level) => Effect.Effect<boolean, StoreFailed | ArtifactFailed>
  }
>() {}
