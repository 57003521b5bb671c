// The script of an agent that answers its room messages, one tool call at a time. All it knows stands in the conversation.
import { readFileCall, readInbox, sendToolName } from "./Inbox.ts"
import type { DirectMessage, RoomMessage } from "./RoomMessages.ts"
import { resolveTool, type Script, type Step } from "./Script.ts"

export interface ResponderOptions {
  /** Milliseconds before each step. */
  readonly delayMs?: number
  /** Whether the output of `room_send` says that the message went out; by default, whether it starts with sent or queued. */
  readonly isSent?: (output: string) => boolean
}

const quotedCharacters = 80
/** A message whose answer failed so often is given up, or the turn would never end. */
const maxAttempts = 3
/** An answer to an answer to an answer … ends here, or two agents that wake each other would never stop. */
const maxReplyDepth = 3
const maxBusyMs = 3_600_000

// The wire has no flag for a failed call, and each engine has its own words for one. Success has only the product's.
const codexPreamble = /^Wall time: [\d.]+ seconds\s+Output:\s*/u
const success = /^(?:\{\s*"status":\s*")?(?:sent|queued)\b/iu
const readsAsSent = (output: string): boolean => success.test(output.replace(codexPreamble, "").trimStart())

const busyMs = (text: string): number => Math.min(Number(/<<busy (\d{1,7})>>/u.exec(text)?.[1] ?? 0), maxBusyMs)
const hangs = (text: string): boolean => text.includes("<<hang>>")

const beginning = (text: string): string => [...text].slice(0, quotedCharacters).join("")

// The words that steer this script must not steer the agent that reads the answer.
const reply = (text: string): string => `Re: ${beginning(text).replaceAll("<<", "«").replaceAll(">>", "»")}`
const isDeepReply = (text: string): boolean => text.startsWith("Re: ".repeat(maxReplyDepth))

/**
 * Answers every waking message that has no answer yet: those of the newest input first, then what an earlier turn left.
 * Where an input points to a file, it first reads the messages there. `<<busy N>>` and `<<hang>>` hold in the turn whose
 * input brought them: after an interrupt a busy message is answered at once and a hanging one is passed over.
 */
export const responder = (options: ResponderOptions = {}): Script => (conversation, offered) => {
  const delay = options.delayMs ?? 0
  const inbox = readInbox(conversation, options.isSent ?? readsAsSent)
  const readCall = inbox.unreadFile === null ? null : readFileCall(offered, inbox.unreadFile)
  if (readCall !== null) return { delay, tool: readCall }

  const isOpen = ({ eventId, text }: RoomMessage) =>
    !inbox.answered.has(eventId) && (inbox.failures.get(eventId) ?? 0) < maxAttempts && !isDeepReply(text)
  const current = inbox.newest.find(isOpen)
  const next = current ?? inbox.earlier.find((message) => isOpen(message) && !hangs(message.text))
  if (next === undefined) return ending(inbox.direct, "", delay)
  const tool = resolveTool(offered, sendToolName)
  if (tool === null) return ending(inbox.direct, ` ${sendToolName} is not offered.`, delay)
  if (current !== undefined && hangs(current.text)) return { delay, hang: true }
  return {
    delay: current === undefined ? delay : Math.max(delay, busyMs(current.text)),
    tool: {
      name: tool.name,
      ...(tool.namespace === null ? {} : { namespace: tool.namespace }),
      args: { room: next.roomId, text: reply(next.text), reply_to: next.eventId }
    }
  }
}

const ending = (direct: ReadonlyArray<DirectMessage>, remark: string, delay: number): Step => {
  if (direct.some(({ text }) => hangs(text))) return { delay, hang: true }
  const quotes = direct.map(({ text }) => ` You wrote: ${beginning(text)}`)
  return { delay: Math.max(delay, ...direct.map(({ text }) => busyMs(text))), text: `Done.${remark}${quotes.join("")}` }
}
