import { expect, it } from "@effect/vitest"
import { Option } from "effect"
import * as FastCheck from "effect/FastCheck"
import { readBotRequest } from "../../src/domain/BotRequest.ts"
import { type EnrollmentState, judge, stateAt } from "../../src/domain/Enrollment.ts"
import { codeOf, readCode, shownCode } from "../../src/domain/EnrollmentCode.ts"

const bytes = FastCheck.uint8Array({ minLength: 5, maxLength: 5 })
const states: ReadonlyArray<EnrollmentState> = ["pending", "approved", "introduced", "rejected", "expired"]

it("a code carries all 40 bits, and is read however a person types it", () => {
  expect(codeOf(Uint8Array.of(0, 0, 0, 0, 0))).toBe("00000000")
  expect(codeOf(Uint8Array.of(255, 255, 255, 255, 255))).toBe("ZZZZZZZZ")
  FastCheck.assert(FastCheck.property(bytes, bytes, (one, other) => {
    const code = codeOf(one)
    expect(codeOf(other) === code).toBe(one.join() === other.join())
    const shown = shownCode(code)
    expect(shown).toMatch(/^.{4}-.{4}$/u)
    const typed = [
      shown,
      code,
      shown.toLowerCase(),
      shown.replaceAll("0", "O").replaceAll("1", "l"),
      shown.replace("-", " ")
    ]
    for (const text of typed) {
      expect(readCode(text)).toStrictEqual(Option.some(code))
      expect(readBotRequest(` ${text}\n`)).toStrictEqual({ _tag: "Show", code })
      expect(readBotRequest(`Confirm  ${text}.`)).toStrictEqual({ _tag: "Confirm", code })
      expect(readBotRequest(`\`reject ${text}\``)).toStrictEqual({ _tag: "Reject", code })
    }
  }))
})

it("any text whatever is read as a request or as unclear", () => {
  FastCheck.assert(FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 40 }), (text) => {
    expect(["Show", "Confirm", "Reject", "RejectAll", "Pending", "Unclear"]).toContain(readBotRequest(text)._tag)
  }))
})

it("[I-08] nobody but the owner ever approves, and nothing is approved that is not tied to the request", () => {
  FastCheck.assert(FastCheck.property(
    FastCheck.constantFrom("confirm" as const, "reject" as const),
    FastCheck.boolean(),
    FastCheck.boolean(),
    FastCheck.constantFrom(...states),
    FastCheck.boolean(),
    (verdict, owner, administrator, state, tied) => {
      const outcome = judge(verdict, { owner, administrator }, state, tied)
      if (outcome._tag === "Approve") {
        expect([verdict, owner, state, tied]).toStrictEqual(["confirm", true, "pending", true])
      }
      if (outcome._tag === "Reject") {
        expect(verdict).toBe("reject")
        expect(owner || administrator).toBe(true)
        expect(["pending", "approved"]).toContain(state)
      }
      if (!owner && !administrator) expect(outcome._tag).toBe("Unknown")
    }
  ))
})

it("only what waits can expire", () => {
  for (const state of ["pending", "approved"] as const) {
    expect(stateAt(state, 100, 99)).toBe(state)
    expect(stateAt(state, 100, 100)).toBe("expired")
  }
  for (const state of ["introduced", "rejected"] as const) expect(stateAt(state, 100, 1_000)).toBe(state)
})
