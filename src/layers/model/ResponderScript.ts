// The script of an agent that answers its room messages, one tool call at a time. All it knows stands in the conversation.
import { Either, Schema } from "effect"
import type { Conversation } from "./Conversation.ts"
import { type DirectMessage, messagesOfInput, type RoomMessage } from "./RoomMessages.ts"
import { resolveTool, type Script, type Step } from "./Script.ts"

export interface ResponderOptions {
  /** Milliseconds before each step. */
  readonly delayMs?: number
  /** Whether the output of the sending tool says that the message was sent; by default, unless it reads as a failure. */
  readonly sent?: (output: string) => boolean
}

const toolName = "room_send"
const quotedCharacters = 80
/** A message whose answer failed so often is given up, or the turn would never end. */
const maxAttempts = 3
/** An answer to an answer to an answer … ends here, or two agents that wake each other would never stop. */
const maxReplyDepth = 3

// The wire has no flag for a failed call. These are the words of Codex, of Pi, and of an ordinary refusal.
const codexPreamble = /^Wall time: [\d.]+ seconds\s+Output:\s*/u
const failure = new RegExp(
  `^(?:${
    [
      "(?:mcp )?tool call (?:error|failed|rejected|requires)",
      "tool \\S+ not found",
      "unsupported call",
      "validation failed",
      "no result",
      "(?:user )?(?:aborted|cancelled|rejected)",
      "error",
      "failed",
      "refused",
      "not sent",
      "\\{\\s*\"(?:error\"|ok\":\\s*false)"
    ].join("|")
  })`,
  "iu"
)
const readsAsSent = (output: string): boolean => !failure.test(output.replace(codexPreamble, "").trimStart())

const decodeReplyTo = Schema.decodeEither(Schema.parseJson(Schema.Struct({ reply_to: Schema.String })))

interface Attempts {
  readonly sent: ReadonlySet<string>
  readonly failed: ReadonlyMap<string, number>
}

/** Which messages have an answer, and how many answers to the others failed. */
const attemptsIn = (conversation: Conversation, isSent: (output: string) => boolean): Attempts => {
  const called = new Map<string, string>()
  const sent = new Set<string>()
  const failed = new Map<string, number>()
  for (const turn of conversation) {
    if (turn._tag === "ToolCall" && (turn.name === toolName || turn.name.endsWith(`__${toolName}`))) {
      const args = decodeReplyTo(turn.argumentsJson)
      if (Either.isRight(args)) called.set(turn.callId, args.right.reply_to)
    } else if (turn._tag === "ToolOutput") {
      const eventId = called.get(turn.callId)
      if (eventId === undefined) continue
      called.delete(turn.callId)
      if (isSent(turn.text)) sent.add(eventId)
      else failed.set(eventId, (failed.get(eventId) ?? 0) + 1)
    }
  }
  return { sent, failed }
}

interface Inbox {
  /** The waking messages of the newest input. */
  readonly newest: ReadonlyArray<RoomMessage>
  /** Those of every input before, oldest first. */
  readonly earlier: ReadonlyArray<RoomMessage>
  readonly direct: ReadonlyArray<DirectMessage>
}

const inboxOf = (conversation: Conversation): Inbox => {
  const inputs = conversation.flatMap((turn) =>
    turn._tag === "UserInput" && !turn.injected ? [messagesOfInput(turn.text)] : []
  )
  const waking = (messages: ReadonlyArray<RoomMessage>) =>
    messages.filter(({ mark }) => mark === "wake" || mark === "mention")
  const newest = inputs.at(-1) ?? { room: [], direct: [] }
  return {
    newest: waking(newest.room),
    earlier: waking(inputs.slice(0, -1).flatMap((input) => input.room)),
    direct: newest.direct
  }
}

const busyMs = (text: string): number => Math.min(Number(/<<busy (\d{1,7})>>/u.exec(text)?.[1] ?? 0), 3_600_000)
const hangs = (text: string): boolean => text.includes("<<hang>>")

const beginning = (text: string): string => [...text].slice(0, quotedCharacters).join("")

// The words that steer this script must not steer the agent that reads the answer.
const reply = (text: string): string => `Re: ${beginning(text).replaceAll("<<", "«").replaceAll(">>", "»")}`
const isDeepReply = (text: string): boolean => text.startsWith("Re: ".repeat(maxReplyDepth))

/**
 * Answers every waking message that has no answer yet: those of the newest input first, then what an earlier turn left.
 * `<<busy N>>` and `<<hang>>` hold in the turn whose input brought them: after an interrupt a busy message is answered at
 * once and a hanging one is passed over.
 */
export const responder = (options: ResponderOptions = {}): Script => (conversation, offered) => {
  const delayMs = options.delayMs ?? 0
  const tool = resolveTool(offered, toolName)
  const { direct, earlier, newest } = inboxOf(conversation)
  const attempts = attemptsIn(conversation, options.sent ?? readsAsSent)
  const isOpen = ({ eventId, text }: RoomMessage) =>
    !attempts.sent.has(eventId) && (attempts.failed.get(eventId) ?? 0) < maxAttempts && !isDeepReply(text)

  const current = newest.find(isOpen)
  const next = current ?? earlier.find((message) => isOpen(message) && !hangs(message.text))
  if (next !== undefined && tool !== null) {
    if (current !== undefined && hangs(current.text)) return { delay: delayMs, hang: true }
    return {
      delay: Math.max(delayMs, current === undefined ? 0 : busyMs(next.text)),
      tool: {
        name: tool.name,
        ...(tool.namespace === null ? {} : { namespace: tool.namespace }),
        args: { room: next.roomId, text: reply(next.text), reply_to: next.eventId }
      }
    }
  }
  return ending(direct, next === undefined ? "" : ` ${toolName} is not offered.`, delayMs)
}

const ending = (direct: ReadonlyArray<DirectMessage>, remark: string, delayMs: number): Step => {
  if (direct.some(({ text }) => hangs(text))) return { delay: delayMs, hang: true }
  const quotes = direct.map(({ text }) => ` You wrote: ${beginning(text)}`)
  return {
    delay: Math.max(delayMs, ...direct.map(({ text }) => busyMs(text))),
    text: `Done.${remark}${quotes.join("")}`
  }
}
