// Reads back the messages of a rendered input, or where they are instead. It mirrors the form that the input renderer
// writes, and nothing of its meaning.

export interface RoomMessage {
  readonly eventId: string
  readonly roomId: string
  readonly sender: string
  readonly mark: "wake" | "mention" | "context" | "own"
  readonly text: string
}

export interface DirectMessage {
  readonly operationId: string
  readonly text: string
}

export interface InputMessages {
  readonly room: ReadonlyArray<RoomMessage>
  readonly direct: ReadonlyArray<DirectMessage>
}

const roomHead = /^── message (?<eventId>\$\S+) in (?<roomId>!\S+) from (?<sender>@\S+) at [^[]+ \[(?<mark>\w+)\]/u
const directHead = /^── direct message (?<operationId>\S+)/u

const isMark = (mark: string | undefined): mark is RoomMessage["mark"] =>
  mark === "wake" || mark === "mention" || mark === "context" || mark === "own"

/**
 * A block is its head line and the lines that start with `|` right below. Only a head at the start of a line counts, so
 * that a quoted head (its line starts with `|`) is text.
 */
export const messagesOfInput = (input: string): InputMessages => {
  const room: Array<RoomMessage> = []
  const direct: Array<DirectMessage> = []
  const lines = input.split("\n")
  for (let at = 0; at < lines.length; at++) {
    const head = lines[at] ?? ""
    if (!head.startsWith("── ")) continue
    const body: Array<string> = []
    for (let line = lines[at + 1]; line?.startsWith("|"); line = lines[at + 1]) {
      body.push(line.slice(line.startsWith("| ") ? 2 : 1))
      at++
    }
    const text = body.join("\n")
    const { eventId = "", mark, roomId = "", sender = "" } = roomHead.exec(head)?.groups ?? {}
    if (isMark(mark)) room.push({ eventId, roomId, sender, mark, text })
    const operationId = directHead.exec(head)?.groups?.["operationId"]
    if (operationId !== undefined) direct.push({ operationId, text })
  }
  return { room, direct }
}

// At the start of a line no text of a room can stand: the renderer prefixes it.
const fileLine = /^(?:file|manifest|Its complete text is in) (?:"(?<quoted>[^"\n]+)"|(?<plain>[^"\s]+))/mu
const escaped = /\\u\{([0-9a-f]{1,6})\}/gu

/** The file that holds the messages in place of a large input, or of one whose receipt is unknown; `null` without one. */
export const fileOfInput = (input: string): string | null => {
  const { plain, quoted } = fileLine.exec(input)?.groups ?? {}
  return quoted?.replace(escaped, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16))) ?? plain ?? null
}
