// The first line of every input: it names the delivery, so that the engine's own history can prove receipt.
// It owns the line's form alone; which fields stand in it and what follows is the renderer's.
import { Option, Schema } from "effect"
import { DeliveryId } from "./Ids.ts"

/** `⟦fleet delivery <uuid>⟧` at the very start, and nothing but a space or the end of the line right behind it. */
const firstLine = /^⟦fleet delivery ([0-9a-fA-F-]{36})⟧(?=[ \n]|$)/u

const decodeId = Schema.decodeUnknownOption(DeliveryId)

/**
 * The delivery that this input names in its header, `null` where it starts with anything else. Only the very first
 * characters count: a quoted, indented or later header is text about a delivery, never its receipt.
 */
export const deliveryIdOfFirstLine = (text: string): DeliveryId | null =>
  Option.getOrNull(decodeId(firstLine.exec(text)?.[1]))

const plain = /^[\w@!$#:.,~/+-]+$/u

// Whatever ends a line somewhere, cannot be seen, or could close the bracket, together with what quoting itself needs.
const risky = /["\\⟦⟧\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** A value on one line: as it is where it is plain, else quoted with everything risky escaped. */
export const quoted = (value: string): string =>
  plain.test(value)
    ? value
    : `"${value.replace(risky, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)}"`

/**
 * The header line without its line feed: `⟦fleet delivery <uuid>⟧ key=value …`, in the order of the fields. A value with
 * anything but letters, digits and `_@!$#:.,~/+-` is quoted, and what could break out of the line is written `\u{…}`.
 */
export const renderDeliveryHeader = (deliveryId: DeliveryId, fields: Readonly<Record<string, string>>): string =>
  [`⟦fleet delivery ${deliveryId}⟧`, ...Object.entries(fields).map(([key, value]) => `${quoted(key)}=${quoted(value)}`)]
    .join(" ")
