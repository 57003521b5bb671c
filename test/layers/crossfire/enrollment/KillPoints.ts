// Where a crossfire that enrolls is killed, and what it enrolls: known to the killed one and to the test that kills it.
import { Redacted } from "effect"
import { entry, roster, type Tokens } from "./EnrollmentFixture.ts"

export const killPoints = [
  "after the submission",
  "after the approval",
  "inside the introduction",
  "after its commit"
] as const

export const killedRoster = roster([entry("w", "writer"), entry("c", "critic")])

export const killedTokens: Tokens = {
  fleet: Redacted.make(`cff_${"f".repeat(43)}`),
  agents: killedRoster.agents.map(({ key }) => ({ key, token: Redacted.make(`cfa_${key.repeat(43)}`) }))
}
