// Why an enrollment cannot go on from here, and what the person at the terminal can do about it.
import { Schema } from "effect"

/** The folder's claim is for something else. Nothing was sent. */
export class ClaimDiffers extends Schema.TaggedError<ClaimDiffers>()("ClaimDiffers", {
  from: Schema.Literal("roster", "server")
}) {
  override get message(): string {
    const what = this.from === "roster" ? "with another roster" : "at another crossfire"
    return `An enrollment was begun in this folder ${what}. To start a new one with what you gave now, add --again; ` +
      "agents that exist keep their identities"
  }
}

export class EnrollmentEnded extends Schema.TaggedError<EnrollmentEnded>()("EnrollmentEnded", {
  state: Schema.Literal("pending", "approved", "introduced", "rejected", "expired", "unknown")
}) {
  override get message(): string {
    switch (this.state) {
      case "rejected":
        return "The request was rejected, by its owner or an administrator. A new one is started with --again"
      case "expired":
        return "The request has expired. A new one is started with --again"
      case "unknown":
        return "crossfire does not know this request any more. Run the same command again to file it anew"
      default:
        return `The request is ${this.state}. Run the same command again`
    }
  }
}

/** One root folder holds one fleet's histories. */
export class FleetForeign extends Schema.TaggedError<FleetForeign>()("FleetForeign", {
  fleetKey: Schema.String,
  owner: Schema.String,
  reason: Schema.Literal("other-fleet", "other-instance")
}) {
  override get message(): string {
    const why = this.reason === "other-fleet"
      ? "the roster is for another one"
      : "this crossfire knows it under another identity, so its database is not the one that this folder belongs to"
    return `This folder holds the fleet "${this.fleetKey}" of ${this.owner}, and ${why}. Use another root folder`
  }
}
