// What `fleet enroll` says at the terminal while it goes on. Words only.
import { DateTime } from "effect"
import type { EnrollProgress } from "./Enroll.ts"

/** Minutes are what a person can act on. */
const minute = (millis: number): string =>
  `${DateTime.formatIso(DateTime.unsafeMake(millis)).slice(0, 16).replace("T", " ")} UTC`

export const enrollText = (progress: EnrollProgress): string => {
  switch (progress._tag) {
    case "Checked": {
      const names = progress.roster.agents.map(({ name }) => name)
      return `The roster is in order: ${names.length === 1 ? "1 agent" : `${names.length} agents`} (${
        names.join(", ")
      }).`
    }
    case "ClaimSaved":
      return progress.reused
        ? "Going on with the enrollment that was begun in this folder."
        : "The claim is saved in this folder; whatever happens now, the same command goes on."
    case "WaitingForOwner":
      return [
        `Code: ${progress.code}`,
        "",
        `As ${progress.owner}, review the whole roster and decide, in either way:`,
        `  on the web: ${progress.reviewUrl} (sign in, then enter the code)`,
        `  in a chat: send the code to ${progress.bot} in a direct chat without encryption, then: confirm ${progress.code}`,
        `The code is good until ${minute(progress.expiresAtMillis)}.`
      ].join("\n")
    case "Unreachable":
      return `crossfire gives no answer just now: ${progress.reason}. Still waiting.`
    case "Approved":
      return "Approved. Introducing the agents."
  }
}
