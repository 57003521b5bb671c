// The bot's side of enrollment: a person sends a code, reads the whole roster, confirms or rejects. Runs in the transaction
// that marks the message as handled; every answer goes out through `Outbound`, once per message.
import { DateTime, Effect, Layer } from "effect"
import { type BotRequest, readBotRequest } from "../../../domain/BotRequest.ts"
import type { EnrollmentState, VerdictOutcome } from "../../../domain/Enrollment.ts"
import { type EnrollmentCode, shownCode } from "../../../domain/EnrollmentCode.ts"
import { renderReview } from "../../../domain/RosterReview.ts"
import { BotConversation, type BotMessage } from "../../../services/BotConversation.ts"
import { Enrollment, type OpenEnrollment } from "../../../services/Enrollment.ts"
import { Outbound } from "../../../services/Outbound.ts"
import * as AttemptWindow from "./AttemptWindow.ts"

/** Codes of one person that led nowhere, within the window; then one more answer, then silence until it ends. */
const maxWrongCodes = 10
const wrongCodesWindowMillis = 10 * 60 * 1000
const maxPeopleCounted = 10_000
const maxNamesListed = 5

const help = [
  "I enroll fleets of agents. Start with `fleet enroll` on the machine where the agents are to run; it prints a code.",
  "",
  "- Send me the code, and I show you everything that it asks for.",
  "- Then answer `confirm CODE` or `reject CODE`.",
  "- `pending` lists the requests that wait; `reject all` rejects every one in your name."
].join("\n")

const unknown = "There is no open request with this code. Codes are valid for 7 days; only the owner named in the " +
  "roster can use one."

const tooMany = "These were too many codes that led nowhere. I take codes from you again in a few minutes."

const standing: Readonly<Record<EnrollmentState, string>> = {
  pending: "waits for its owner's answer",
  approved:
    "is confirmed already; `fleet enroll` makes its agents known, run again without `--again` if it no longer runs",
  introduced: "is confirmed and its agents exist",
  rejected: "was rejected",
  expired: "has expired; run `fleet enroll` again for a new code"
}

type Settled = Exclude<VerdictOutcome, { readonly _tag: "Unknown" } | { readonly _tag: "Untied" }>

const told = (outcome: Settled, code: EnrollmentCode): string => {
  switch (outcome._tag) {
    case "Approve":
      return `Confirmed ${shownCode(code)}. \`fleet enroll\` makes the agents known; if it no longer runs, run it ` +
        "again without `--again`. Agents that are new take part in no room yet: invite each where you want it."
    case "Reject":
      return `Rejected ${shownCode(code)}. Nothing was made.`
    case "Stands":
      return `The request ${shownCode(code)} ${standing[outcome.state]}. Nothing was changed.`
  }
}

/**
 * An owner gets no codes here: whoever typed one read it at their own fleetd. A code that somebody else's request put
 * before the owner's eyes could be confirmed by mistake.
 */
const listed = (open: ReadonlyArray<OpenEnrollment>, reader: string): string => {
  if (open.length === 0) return "No request waits."
  const lines = open.map(({ code, createdAtMillis, fleetKey, names, owner, state }) => {
    const since = DateTime.formatIso(DateTime.unsafeMake(createdAtMillis)).slice(0, 16).replace("T", " ")
    const which = owner === reader ? "" : `\`${shownCode(code)}\`, `
    const more = names.length > maxNamesListed ? ` and ${names.length - maxNamesListed} more` : ""
    const agents = names.slice(0, maxNamesListed).map((name) => `\`${name}\``).join(", ")
    return `- ${which}fleet \`${fleetKey}\` of \`${owner}\` (${agents}${more}), ` +
      `${state}, since ${since} UTC`
  })
  return ["Requests that wait:", "", ...lines].join("\n")
}

export const make = Effect.gen(function*() {
  const enrollment = yield* Enrollment
  const outbound = yield* Outbound
  const wrongCodes = AttemptWindow.make({ maxKeys: maxPeopleCounted, windowMillis: wrongCodesWindowMillis })

  const answer = ({ eventId, roomId }: BotMessage, texts: ReadonlyArray<string>) =>
    Effect.forEach(
      texts,
      (text, index) => outbound.notice({ to: { roomId }, operationId: `enrollment:${eventId}:${index}`, text }),
      { discard: true }
    )

  /** The answers to a message with a code; none where the code leads this person nowhere. */
  const show = (message: BotMessage, code: EnrollmentCode) =>
    Effect.map(enrollment.review(code, message.sender, message.roomId), (outcome): ReadonlyArray<string> => {
      switch (outcome._tag) {
        case "Unknown":
          return []
        case "Stands":
          return [told(outcome, code)]
        case "Review":
          return renderReview(outcome.review)
      }
    })

  const decide = (message: BotMessage, verdict: "confirm" | "reject", code: EnrollmentCode) =>
    Effect.gen(function*() {
      const outcome = yield* enrollment.decide(verdict, message.sender, code, message.roomId)
      if (outcome._tag === "Unknown") return []
      if (outcome._tag !== "Untied") return [told(outcome, code)]
      return ["I have not shown you this request here yet, so nothing was confirmed.", ...(yield* show(message, code))]
    })

  const withCode = (message: BotMessage, request: Extract<BotRequest, { readonly code: EnrollmentCode }>) => {
    switch (request._tag) {
      case "Show":
        return show(message, request.code)
      case "Confirm":
        return decide(message, "confirm", request.code)
      case "Reject":
        return decide(message, "reject", request.code)
    }
  }

  const handle: typeof BotConversation.Service.handle = (message) =>
    Effect.gen(function*() {
      const request = readBotRequest(message.text)
      switch (request._tag) {
        case "Unclear":
          return yield* answer(message, [help])
        case "Pending":
          return yield* answer(message, [listed(yield* enrollment.open(message.sender), message.sender)])
        case "RejectAll": {
          const count = yield* enrollment.rejectAll(message.sender)
          return yield* answer(message, [count === 0 ? "No request in your name waits." : `Rejected ${count}.`])
        }
        case "Show":
        case "Confirm":
        case "Reject": {
          const { count } = yield* wrongCodes.look(message.sender)
          if (count > maxWrongCodes) return
          if (count === maxWrongCodes) {
            yield* wrongCodes.add(message.sender)
            return yield* answer(message, [tooMany])
          }
          const texts = yield* withCode(message, request)
          if (texts.length > 0) return yield* answer(message, texts)
          yield* wrongCodes.add(message.sender)
          return yield* answer(message, [unknown])
        }
      }
    })

  return BotConversation.of({ handle })
})

export const layer: Layer.Layer<BotConversation, never, Enrollment | Outbound> = Layer.effect(BotConversation, make)
