// The bounds of one receiver's waits, and what it shows of itself.
import type { Duration } from "effect"

export interface ReceiverLimits {
  /** How long a live engine may take to answer to an input, and then to write its user entry, before it is ended. */
  readonly receiptWithin: Duration.DurationInput
  readonly idleSleepAfter: Duration.DurationInput
  /** Starts without a confirmed delivery in between before the agent is held. */
  readonly startsWithoutDelivery: number
}

export const defaultLimits: ReceiverLimits = {
  receiptWithin: "60 seconds",
  idleSleepAfter: "30 minutes",
  startsWithoutDelivery: 5
}

export interface ReceiverView {
  readonly state: "sleeping" | "starting" | "idle" | "working"
  readonly processId: number | null
}
