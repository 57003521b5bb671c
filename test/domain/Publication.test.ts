import { expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { advanced, cursorAt, finished, windowOf } from "../../src/domain/Cursor.ts"
import { EventId, StreamToken } from "../../src/domain/Ids.ts"
import { nextInput, verdict } from "../../src/domain/Publication.ts"

const evidence = fc.record({
  receipt: fc.boolean(),
  writerDead: fc.boolean(),
  turnEnded: fc.boolean(),
  uncleanBoot: fc.boolean()
})

it("[D-01] [D-03] a receipt alone confirms; a live writer without an ended turn proves nothing", () => {
  fc.assert(fc.property(evidence, (known) => {
    const decided = verdict(known)
    expect(decided === "confirmed").toBe(known.receipt)
    if (!known.receipt && !known.writerDead && !known.turnEnded) expect(decided).toBe("wait")
  }))
})

it("[D-04] after the machine went down absence is never claimed", () => {
  fc.assert(fc.property(evidence, (known) => {
    if (known.uncleanBoot) expect(verdict(known)).not.toBe("absent")
  }))
})

it("[D-03] [C-12] an unknown input comes before the reminder, both before anything else, and continue only when nothing waits", () => {
  const situation = { unknown: true, reminderDue: true, continueDue: true, inputWaits: true }
  expect(nextInput(situation)).toBe("notice")
  expect(nextInput({ ...situation, unknown: false })).toBe("reminder")
  expect(nextInput({ ...situation, unknown: false, reminderDue: false })).toBe("batch")
  expect(nextInput({ unknown: false, reminderDue: false, continueDue: true, inputWaits: false })).toBe("continue")
  expect(nextInput({ unknown: false, reminderDue: false, continueDue: false, inputWaits: false })).toBe("none")
})

it("[M-01] a window that was taken in part is finished at its own end before a new one opens", () => {
  const token = StreamToken.make
  const start = cursorAt(token("s1"))
  expect(windowOf(start, token("s9"))).toStrictEqual({ from: "s1", to: "s9" })
  const part = advanced(start, token("s9"), token("t4"), EventId.make("$four"))
  expect(windowOf(part, token("s20"))).toStrictEqual({ from: "t4", to: "s9" })
  const done = finished(part, token("s9"), null)
  expect(done).toStrictEqual(cursorAt(token("s9"), EventId.make("$four")))
  expect(windowOf(done, token("s20"))).toStrictEqual({ from: "s9", to: "s20" })
})
