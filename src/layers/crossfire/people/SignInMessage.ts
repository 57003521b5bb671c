// The bot's message with a sign-in link. Nothing in it comes from whoever asked but the name that was found.
import { Redacted } from "effect"
import type { UserId } from "../../../domain/Ids.ts"
import { controlKey } from "../../../domain/MatrixEvent.ts"
import { linkLifeMillis } from "../../../domain/Session.ts"
import { signInPath } from "../../../services/WebAddress.ts"
import * as MessageContent from "../MessageContent.ts"

const linkMinutes = linkLifeMillis / 60_000

/** Behind the `#`: what fetches the address to preview it sends the secret to nobody. */
export const linkOf = (origin: string, secret: Redacted.Redacted): string =>
  `${origin}${signInPath}#${Redacted.value(secret)}`

/** Counts as a message, so that phones ring; carries the control key, so that no agent ever gets it. */
export const make = (message: {
  readonly userId: UserId
  readonly origin: string
  readonly secret: Redacted.Redacted
}): MessageContent.Content => {
  const written = [
    `Sign in to crossfire at ${message.origin} as \`${message.userId}\`:`,
    "",
    `<${linkOf(message.origin, message.secret)}>`,
    "",
    `The link is good once, for ${linkMinutes} minutes, and only in the browser that asked for it.`,
    "",
    "You did not ask for it? Then ignore this message, and open the link nowhere: nobody gets in without you."
  ].join("\n")
  const { content } = MessageContent.text({ text: written, replyTo: null, mentions: [] })
  return { ...content, [controlKey]: { kind: "sign-in" } }
}
