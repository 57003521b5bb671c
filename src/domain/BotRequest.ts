// What a person asks of the bot in their direct chat, read from the message's text. Pure: who may ask what is decided
// elsewhere.
import { Option } from "effect"
import { type EnrollmentCode, readCode } from "./EnrollmentCode.ts"

export type BotRequest =
  | { readonly _tag: "Show"; readonly code: EnrollmentCode }
  | { readonly _tag: "Confirm"; readonly code: EnrollmentCode }
  | { readonly _tag: "Reject"; readonly code: EnrollmentCode }
  /** Every open request in the asker's own name. */
  | { readonly _tag: "RejectAll" }
  | { readonly _tag: "Pending" }
  | { readonly _tag: "Unclear" }

// Quotes and full stops come along when a person copies the command out of a sentence.
const form = /^["'`]?(?:(confirm|reject)\s+)?["'`]?([0-9a-z]{4}[-\s]?[0-9a-z]{4})["'`]?[.!]?["'`]?$/iu

const tags = { confirm: "Confirm", reject: "Reject" } as const

export const readBotRequest = (text: string): BotRequest => {
  const said = text.trim()
  if (/^pending[.!]?$/iu.test(said)) return { _tag: "Pending" }
  if (/^reject\s+all[.!]?$/iu.test(said)) return { _tag: "RejectAll" }
  const match = form.exec(said)
  const code = readCode(match?.[2] ?? "")
  if (Option.isNone(code)) return { _tag: "Unclear" }
  const verb = match?.[1]?.toLowerCase()
  return { _tag: verb === "confirm" || verb === "reject" ? tags[verb] : "Show", code: code.value }
}
