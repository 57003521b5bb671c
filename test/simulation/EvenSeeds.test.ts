// The even half of the simulation's seeds.
import { it } from "@effect/vitest"
import { campaign, campaignTimeout, claim } from "./Campaign.ts"

it.live(claim, () => campaign(0), campaignTimeout)
