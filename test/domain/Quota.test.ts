import { expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import {
  firstShare,
  limitsOf,
  nextShare,
  type QuotaLimits,
  targetRecords,
  usualLimits
} from "../../src/domain/Quota.ts"

/** What each room gives in the rounds, when so much waits in it. */
const collected = (waiting: ReadonlyArray<number>, limits: QuotaLimits): ReadonlyArray<number> => {
  const given = waiting.map(() => 0)
  let share = firstShare(waiting.length, limits)
  for (let rounds = 0; share > 0; rounds++) {
    expect(rounds).toBeLessThanOrEqual(waiting.length)
    waiting.forEach((available, room) => {
      given[room] = Math.min(available, (given[room] ?? 0) + share)
    })
    const open = waiting.filter((available, room) => available > (given[room] ?? 0)).length
    share = nextShare(sum(given), open, limits)
  }
  return given
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

const rooms = fc.array(fc.oneof(fc.nat(15), fc.nat(300), fc.nat(10_000)), { minLength: 1, maxLength: 300 })
const limits = fc.oneof(fc.constant(usualLimits), fc.integer({ min: 1, max: 400 }).map(limitsOf))

it("[M-02] every room gives its floor, and the target is passed only by the floors", () => {
  fc.assert(fc.property(rooms, limits, (waiting, bounds) => {
    const given = collected(waiting, bounds)
    waiting.forEach((available, room) => {
      expect(given[room]).toBeGreaterThanOrEqual(Math.min(bounds.floor, available))
      expect(given[room]).toBeLessThanOrEqual(available)
    })
    const floors = sum(waiting.map((available) => Math.min(available, bounds.floor)))
    expect(sum(given)).toBeLessThanOrEqual(Math.max(bounds.target, floors))
  }))
})

it("[M-03] no room gets less than another while it has more waiting", () => {
  fc.assert(fc.property(rooms, limits, (waiting, bounds) => {
    const given = collected(waiting, bounds)
    const most = Math.max(...given)
    waiting.forEach((available, room) => {
      if ((given[room] ?? 0) < available) expect(given[room]).toBe(most)
    })
  }))
})

it("[M-02] what quiet rooms leave goes to the others: fewer records stay unused than rooms have more", () => {
  fc.assert(fc.property(rooms, limits, (waiting, bounds) => {
    const given = collected(waiting, bounds)
    const open = waiting.filter((available, room) => available > (given[room] ?? 0)).length
    if (open > 0) expect(bounds.target - sum(given)).toBeLessThan(open)
  }))
})

it("[M-02] one active room beside quiet ones fills the target", () => {
  expect(collected([5_000, 12, 1, 0], usualLimits)).toStrictEqual([87, 12, 1, 0])
  expect(collected([targetRecords * 3], usualLimits)).toStrictEqual([targetRecords])
  expect(sum(collected(Array.from({ length: 50 }, () => 40), usualLimits))).toBe(500)
  expect(collected([9, 9, 9], limitsOf(2))).toStrictEqual([1, 1, 1])
  expect(firstShare(0, usualLimits)).toBe(0)
})
