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

/** crossfire does not take the credentials of this request; the owner's approval stands until it expires. */
export class IntroductionRefused extends Schema.TaggedError<IntroductionRefused>()("IntroductionRefused", {
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.reason}\nA new request with new credentials, whatever became of the former ones, is made by: ` +
      "fleet enroll ROSTER --again --new-credentials"
  }
}

/** What this folder holds would be refused at the introduction, after the owner's work. Nothing was filed. */
export class CredentialsRevoked extends Schema.TaggedError<CredentialsRevoked>()("CredentialsRevoked", {
  fleet: Schema.Boolean,
  agents: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const what = this.fleet ? "this fleet's credential" : `the credential of ${this.agents.join(", ")}`
    const other = this.fleet ? "" : ". Or, without a new request and with fleetd up: fleet credentials rotate"
    return `crossfire does not accept ${what} any more: it was revoked, or replaced from another folder. Nothing was filed. ` +
      `New ones are made by: fleet enroll ROSTER --again --new-credentials${other}`
  }
}

/** Which credentials are good is not known here, and only fleetd can find out. Nothing was sent. */
export class RotationUnfinished extends Schema.TaggedError<RotationUnfinished>()("RotationUnfinished", {
  root: Schema.String
}) {
  override get message(): string {
    return `The credentials of this fleet are being replaced, and fleetd has not finished it. Let it (fleet up --root ${this.root}), ` +
      "end it (fleet down), and run the same command again; or make new ones with --again --new-credentials"
  }
}
