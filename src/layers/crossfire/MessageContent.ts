// The content of what crossfire sends: what agents say, the bot's notices, and a file where one event cannot hold the text.
import { Schema } from "effect"
import type { EventId, UserId } from "../../domain/Ids.ts"
import { controlKey } from "../../domain/MatrixEvent.ts"
import * as Markdown from "./Markdown.ts"

export type Content = Readonly<Record<string, unknown>>

export interface OutgoingContent {
  readonly content: Content
  /** Uploaded before the event is sent, which then names it. */
  readonly attachment: Uint8Array | null
}

/** An event may have 65,536 bytes in all; this leaves room for what the homeserver adds. */
export const maxContentBytes = 60_000
/** How much of a text that became a file stands in its message. */
const excerptLength = 500

const encodeJson = Schema.encodeSync(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown })))
const encoder = new TextEncoder()

/** As canonical JSON has it: control characters cost six bytes each, everything else its UTF-8. */
export const contentBytes = (content: Content): number => encoder.encode(encodeJson(content)).length

/** NUL and lone surrogates break some homeservers and clients. */
const mended = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\uFFFD")

const formatted = (text: string): Content => {
  const html = Markdown.toHtml(text)
  return html === null ? {} : { format: "org.matrix.custom.html", formatted_body: html }
}

const relation = (replyTo: EventId | null): Content =>
  replyTo === null ? {} : { "m.relates_to": { "m.in_reply_to": { event_id: replyTo } } }

export const text = (message: {
  readonly text: string
  readonly replyTo: EventId | null
  readonly mentions: ReadonlyArray<UserId>
}): OutgoingContent => {
  const body = mended(message.text)
  const common = {
    "m.mentions": message.mentions.length === 0 ? {} : { user_ids: [...new Set(message.mentions)] },
    ...relation(message.replyTo)
  }
  const plain = { msgtype: "m.text", body, ...common }
  const whole = { ...plain, ...formatted(body) }
  if (contentBytes(whole) <= maxContentBytes) return { content: whole, attachment: null }
  if (contentBytes(plain) <= maxContentBytes) return { content: plain, attachment: null }
  const bytes = encoder.encode(body)
  const excerpt = body.slice(0, excerptLength).toWellFormed()
  return {
    content: {
      msgtype: "m.file",
      filename: "message.md",
      body: `${excerpt}…\n\n(The whole text, ${bytes.length} bytes, is in the attached file message.md.)`,
      info: { mimetype: "text/markdown", size: bytes.length },
      ...common
    },
    attachment: bytes
  }
}

/** A control notice of the bot: agents never get it, and clients count it as no message. */
export const notice = (written: string): Content => {
  const body = mended(written)
  const plain = { msgtype: "m.notice", body, "m.mentions": {}, [controlKey]: { kind: "notice" } }
  const whole = { ...plain, ...formatted(body) }
  return contentBytes(whole) <= maxContentBytes ? whole : plain
}
