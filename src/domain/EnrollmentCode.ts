// The one-time code that ties the owner's approval to one request: fleetd's user reads it, the owner sends it to the bot.
// 40 random bits in Crockford's alphabet. It is no secret that grants anything: only the request's owner can use it.
import { Option, Schema } from "effect"

export const EnrollmentCode = Schema.String.pipe(
  Schema.pattern(/^[0-9A-HJKMNP-TV-Z]{8}$/u),
  Schema.brand("EnrollmentCode")
)
export type EnrollmentCode = typeof EnrollmentCode.Type

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
export const codeBytes = 5

/** The code of five random bytes. */
export const codeOf = (bytes: Uint8Array): EnrollmentCode => {
  const bits = Array.from(bytes.subarray(0, codeBytes), (byte) => byte.toString(2).padStart(8, "0")).join("")
  const letters = bits.match(/.{5}/gu) ?? []
  return EnrollmentCode.make(letters.map((five) => alphabet.charAt(Number.parseInt(five, 2))).join(""))
}

/** As people see it, in two groups. */
export const shownCode = (code: EnrollmentCode): string => `${code.slice(0, 4)}-${code.slice(4)}`

const decode = Schema.decodeOption(EnrollmentCode)

/** What a person typed: lower case, other separators and look-alike letters are understood. */
export const readCode = (text: string): Option.Option<EnrollmentCode> =>
  decode(text.toUpperCase().replaceAll(/[-\s]/gu, "").replaceAll("O", "0").replaceAll(/[IL]/gu, "1"))
