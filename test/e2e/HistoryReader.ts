// Reads our messages and a conversation's own ID off a native history file with nothing of the product's own reading code:
// the proof of the end-to-end tests must not rest on what it proves.
import { readFileSync } from "node:fs"

interface Line {
  readonly type?: unknown
  readonly id?: unknown
  readonly payload?: {
    readonly id?: unknown
    readonly type?: unknown
    readonly role?: unknown
    readonly content?: unknown
  }
  readonly message?: { readonly role?: unknown; readonly content?: unknown }
}

const textOf = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.map((part: { readonly text?: unknown }) => typeof part.text === "string" ? part.text : "").join("\n")
    : ""

/** The text of every user entry, in order. Codex: `response_item` lines; Pi: `message` lines. */
export const userTexts = (path: string): ReadonlyArray<string> =>
  readFileSync(path, "utf8").split("\n").flatMap((line) => {
    if (line === "") return []
    const parsed = JSON.parse(line) as Line
    const said = parsed.type === "message"
      ? parsed.message
      : parsed.type === "response_item" && parsed.payload?.type === "message"
      ? parsed.payload
      : undefined
    return said?.role === "user" ? [textOf(said.content)] : []
  }).filter((text) => text.startsWith("⟦fleet delivery "))

const block = /^── message (\$\S+) in \S+ from \S+ at \S+ \[\w+\]\n\| (.*)$/gmu

/** Which of our messages stand in it, in order, by event ID. */
export const messagesIn = (path: string): ReadonlyArray<{ readonly eventId: string; readonly text: string }> =>
  userTexts(path).flatMap((text) =>
    [...text.matchAll(block)].map((match) => ({ eventId: match[1] ?? "", text: match[2] ?? "" }))
  )

/** What the engine calls this conversation, from the file's first line. Codex: `session_meta`; Pi: `session`. */
export const nativeIdOf = (path: string): string => {
  const first = JSON.parse(readFileSync(path, "utf8").split("\n")[0] ?? "") as Line
  const id = first.type === "session_meta" ? first.payload?.id : first.type === "session" ? first.id : undefined
  return typeof id === "string" ? id : ""
}
