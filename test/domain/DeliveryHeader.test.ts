import { expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { deliveryIdOfFirstLine, renderDeliveryHeader } from "../../src/domain/DeliveryHeader.ts"
import { DeliveryId } from "../../src/domain/Ids.ts"

const id = DeliveryId.make("0b0e7c1e-6c3b-4f0e-9a51-3f1f2f3d4c5b")
const other = DeliveryId.make("11111111-2222-4333-8444-555555555555")

it("[D-01] the header names its delivery, its fields follow on the same line", () => {
  const line = renderDeliveryHeader(id, { room: "!abc:example.org", title: "Night desk", records: "3" })
  expect(line).toBe(`⟦fleet delivery ${id}⟧ room=!abc:example.org title="Night desk" records=3`)
  expect(deliveryIdOfFirstLine(`${line}\nHello`)).toBe(id)
  expect(deliveryIdOfFirstLine(renderDeliveryHeader(id, {}))).toBe(id)
})

it("[D-01] a header anywhere but at the very start names nothing", () => {
  const header = renderDeliveryHeader(other, { kind: "message" })
  for (
    const text of [
      "",
      "no header",
      ` ${header}`,
      `\n${header}`,
      `> ${header}`,
      `\uFEFF${header}`,
      `Look: ${header}`,
      `⟦fleet delivery ${other}`,
      `⟦fleet delivery ${other}⟧x`,
      `⟦fleet delivery not-a-uuid⟧ `,
      `⟦fleet delivery ${"-".repeat(36)}⟧ `,
      `⟦fleet  delivery ${other}⟧ `
    ]
  ) expect(deliveryIdOfFirstLine(text)).toBeNull()
  expect(deliveryIdOfFirstLine(`${renderDeliveryHeader(id, {})}\n${header}\n`)).toBe(id)
})

it("[D-01] no value breaks out of the line or closes the bracket", () => {
  const text = FastCheck.oneof(
    FastCheck.fullUnicodeString(),
    FastCheck.constantFrom(
      "a\nb",
      "\r",
      "\u2028",
      "\u2029",
      "\u0085",
      "\v\f",
      "⟧ x",
      `"\\`,
      "\ud800",
      "\u202e",
      `⟧\n⟦fleet delivery ${other}⟧ `
    )
  )
  FastCheck.assert(FastCheck.property(FastCheck.dictionary(text, text), (fields) => {
    const line = renderDeliveryHeader(id, fields)
    expect(line).not.toMatch(/[\n\r\u2028\u2029\u0085\v\f]/u)
    expect(line.split("⟧")).toHaveLength(2)
    expect(line.split("⟦")).toHaveLength(2)
    expect(line.isWellFormed()).toBe(true)
    expect(deliveryIdOfFirstLine(`${line}\n${line}`)).toBe(id)
  }))
})
