// How the pages say when something was or will be.
import { expect, it } from "@effect/vitest"
import { distance } from "../../src/web/Distance.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

it("rounds to the nearest: what has just begun its 7 days ends in 7", () => {
  for (
    const [millis, said] of [
      [7 * day - 3_000, "in 7 days"],
      [14 * day - hour, "in 14 days"],
      [day - 3_000, "tomorrow"],
      [hour - 1, "in 1 hour"],
      [90_000, "in 2 minutes"],
      [20_000, "just now"],
      [-20_000, "just now"],
      [-59 * minute, "59 minutes ago"],
      [-23 * hour, "23 hours ago"],
      [-40 * hour, "2 days ago"]
    ] as const
  ) expect([millis, distance(millis)]).toEqual([millis, said])
})
